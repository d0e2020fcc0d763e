"""Everything that stands between a registration and its freeze, found at once."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from manifests.digests import sha256_file
from manifests.errors import BeforehandError, Finding, FindingsError
from manifests.files import inside, read_bytes
from manifests.problems import ProblemSet, read_problems
from manifests.study import Study
from prereg.block import Block, find_block
from prereg.design import Design, NamedFile
from prereg.places import Places
from prereg.registration import PinnedFile

PLACEHOLDER = re.compile(r"\bFILL: ?[^\"'`<>|]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What a check read, and all that it found. block and design are None where they could not be read."""

    findings: tuple[Finding, ...]
    data: bytes
    block: Block | None
    design: Design | None
    pinned: tuple[PinnedFile, ...]


def check_registration(study: Path) -> tuple[Finding, ...]:
    """Every finding, each at `FILE:LINE place`; an empty tuple means that freeze would accept the registration."""
    return examine(study).findings


def examine(study: Path) -> Examination:
    """Read registration, design and pinned files. Raises only where the study itself cannot be opened."""
    path = Study.open(study).registration_path
    data = read_bytes(path, mend="beforehand new writes one to start from")
    try:
        block = find_block(data, where=path.name)
    except FindingsError as err:
        return Examination(findings=err.findings, data=data, block=None, design=None, pinned=())
    unfilled = _unfilled(block)
    design, findings = _design(block)
    gaps = {finding.where.partition(" ")[0] for finding in unfilled}
    findings = tuple(one for one in findings if one.where.partition(" ")[0] not in gaps)
    pinned: tuple[PinnedFile, ...] = ()
    if design is not None:
        pinned, drift = _pinned(study, design)
        read = (*_roles(design), *drift, *_problem_sets(study, design))
        findings = (*findings, *_with_lines(read, block))
    return Examination(findings=(*unfilled, *findings), data=data, block=block, design=design, pinned=pinned)


def _with_lines(findings: tuple[Finding, ...], block: Block) -> tuple[Finding, ...]:
    """The same findings, each at the line of its key."""
    fence = block.design
    places = Places.of(fence.content.decode("utf-8"), first_line=fence.first_line)
    parted = [(finding, *finding.where.partition(" ")[::2]) for finding in findings]
    return tuple(
        replace(finding, where=f"{file}:{places.line(key)} {key}") if file == block.where else finding
        for finding, file, key in parted
    )


def _unfilled(block: Block) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            where=f"{block.where}:{number}",
            what=f"is not filled in: {match[0].strip()}",
            mend="write what is asked for in place of the whole FILL token",
        )
        for number, line in enumerate(block.raw.decode("utf-8").split("\n"), start=block.begin_line + 1)
        for match in PLACEHOLDER.finditer(line)
    )


def _design(block: Block) -> tuple[Design | None, tuple[Finding, ...]]:
    try:
        fence = block.design
        return Design.from_toml(fence.content, where=block.where, first_line=fence.first_line), ()
    except FindingsError as err:
        return None, err.findings
    except BeforehandError as err:  # not TOML at all
        return None, (Finding(where=f"{block.where}:{block.begin_line}", what=err.what, mend=err.mend),)


def _roles(design: Design) -> list[Finding]:
    if any(endpoint.role == "primary" for endpoint in design.endpoints.values()):
        return []
    return [
        Finding(
            where="PREREGISTRATION.md endpoints",
            what="no endpoint is primary: nothing would confirm or refute the study's question",
            mend='give one endpoint role = "primary"',
        )
    ]


def _pinned(study: Path, design: Design) -> tuple[tuple[PinnedFile, ...], list[Finding]]:
    """Digests of all named files, and where they differ from what the design says."""
    digests: dict[str, str] = {}
    findings = []
    for file in design.named_files():
        where = f"PREREGISTRATION.md {file.place}"
        try:
            actual = digests.get(file.path) or sha256_file(inside(study, file.path, where=where))
        except BeforehandError as err:
            findings.append(
                Finding(where=where, what=f"{file.path} {err.what}", mend=err.mend or _mend_missing(file))
            )
            continue
        digests[file.path] = actual
        if file.sha256 is not None and file.sha256 != actual:
            what = f"{file.path} has the sha256 {actual}, the design says {file.sha256}"
            findings.append(
                Finding(where=where, what=what, mend="restore the file, or register the one you mean")
            )
    return tuple(PinnedFile(path=path, sha256=digests[path]) for path in sorted(digests)), findings


def _mend_missing(file: NamedFile) -> str:
    return f"put {file.path} into the study folder, or mend the path"


def _problem_sets(study: Path, design: Design) -> list[Finding]:
    """What can only be seen inside the problem files: their number, their strata, the ids of a subset."""
    findings: list[Finding] = []
    sets: dict[str, ProblemSet] = {}
    for name, benchmark in design.benchmarks.items():
        where = f"PREREGISTRATION.md benchmarks.{name}"
        try:
            sets[name] = read_problems(inside(study, benchmark.problems, where=where))
        except FindingsError as err:
            findings.extend(err.findings)
        except BeforehandError as err:
            if (study / benchmark.problems).exists():  # a missing file is reported with the pinned ones
                findings.append(Finding(where=where, what=f"{err.where} {err.what}", mend=err.mend))
        else:
            count = len(sets[name].ids)
            if count != benchmark.n:
                what = f"is {benchmark.n}, and {benchmark.problems} holds {count} problems"
                findings.append(
                    Finding(where=f"{where}.n", what=what, mend=f"write n = {count}, or mend the file")
                )
    return [*findings, *_strata(study, design, sets), *_subsets(study, design, sets)]


def _strata(study: Path, design: Design, sets: dict[str, ProblemSet]) -> list[Finding]:
    findings = []
    for name, endpoint in design.endpoints.items():
        field = endpoint.test.problem_field
        if field is not None and endpoint.benchmark in sets:
            path = study / design.benchmarks[endpoint.benchmark].problems
            try:
                read_problems(path, strata_field=field)
            except BeforehandError as err:
                place = f"PREREGISTRATION.md endpoints.{name}.test"
                findings.append(
                    Finding(where=place, what=err.what, mend="name a field that every problem has")
                )
    return findings


def _subsets(study: Path, design: Design, sets: dict[str, ProblemSet]) -> list[Finding]:
    findings = []
    for planned in design.planned_units():
        subset = design.resolve_protocol(planned.unit.protocol).problems
        if subset is None or subset.ids is None or planned.unit.benchmark not in sets:
            continue
        where = f"PREREGISTRATION.md protocols.{planned.unit.protocol}.problems"
        try:
            ids = read_bytes(inside(study, subset.ids, where=where)).decode("utf-8").split()
        except (BeforehandError, UnicodeDecodeError):  # a missing or damaged list is reported by its digest
            continue
        unknown = sorted(set(ids) - set(sets[planned.unit.benchmark].ids))
        if len(set(ids)) != subset.n or len(ids) != subset.n:
            what = (
                f"n is {subset.n}, and {subset.ids} holds {len(set(ids))} different ids on {len(ids)} lines"
            )
            findings.append(Finding(where=where, what=what))
        if unknown:
            what = f"{subset.ids} names {unknown[0]!r}, which is no problem of {planned.unit.benchmark}"
            findings.append(Finding(where=where, what=what))
    return findings
