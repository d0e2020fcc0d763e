"""What the design plans for one unit, in the words of a unit record: written at import, held against at build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from manifests.digests import sha256_bytes
from manifests.documents import validate_mapping
from manifests.errors import BeforehandError, Finding, FindingsError, NotInOrderError
from manifests.files import decode_utf8, inside, read_bytes
from manifests.names import UnitId
from manifests.problems import ProblemSet, read_problems
from manifests.records import BenchmarkIdentity, SystemIdentity, UnitRecord, VerifierIdentity
from prereg.block import BEGIN, END, find_block
from prereg.consistency import contradictions
from prereg.design import Design
from prereg.protocols import ResolvedProtocol, ResolvedSampling, Subset
from prereg.systems import HubModel, LocalModel, UnrecordedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitPlan:
    """The identity that a unit of this name has under the design."""

    unit: UnitId
    system: SystemIdentity
    benchmark: BenchmarkIdentity
    protocol: ResolvedProtocol
    protocol_document: dict[str, JsonValue]
    verifier: VerifierIdentity
    n_problems: int


def load_design(registration: Path) -> Design:
    """The design inside the block of a PREREGISTRATION.md, frozen or not."""
    return parse_design(read_bytes(registration, mend="`beforehand new` writes one"), where=str(registration))


def parse_design(data: bytes, *, where: str) -> Design:
    """The design inside the block of these bytes."""
    fence = find_block(data, where=where).design
    return Design.from_toml(fence.content, where=where, first_line=fence.first_line)


def parse_block_design(block_text: str, *, where: str) -> Design:
    """The design inside a block's text, as a record keeps it."""
    return parse_design(f"{BEGIN}\n{block_text}{END}\n".encode(), where=where)


def exploratory_design(design: Design, comparisons: Mapping[str, JsonValue]) -> Design:
    """The design with the comparisons of study.toml beside its endpoints, which validity rules name, checked like any other."""
    clashes = sorted(set(comparisons) & set(design.endpoints))
    if clashes:
        raise BeforehandError(
            f"{clashes[0]} is an endpoint of the design too",
            where="study.toml exploratory",
            mend="give it another id",
        )
    if not comparisons:
        return design
    explored_endpoints = {
        name: {"role": "diagnostic", **comparison} if isinstance(comparison, dict) else comparison
        for name, comparison in comparisons.items()
    }
    raw = design.model_dump(mode="json", exclude_none=True)
    raw["endpoints"] = {**raw["endpoints"], **explored_endpoints}
    explored = validate_mapping(Design, raw, where="study.toml exploratory")
    findings = contradictions(explored)
    if findings:
        raise FindingsError("cannot be computed as written", findings, where="study.toml exploratory")
    return explored


def plan_unit(design: Design, unit: UnitId) -> UnitPlan:
    """The plan of one unit; a unit that the design does not plan is refused."""
    planned = {entry.unit: entry for entry in design.planned_units()}
    if unit not in planned:
        names = ", ".join(str(name) for name in planned)
        raise BeforehandError(
            f"the design plans no unit {unit}",
            where="PREREGISTRATION.md",
            mend=f"planned are {names}; list a further one under `units` before the freeze",
        )
    benchmark = design.benchmarks[unit.benchmark]
    protocol = design.resolve_protocol(unit.protocol)
    return UnitPlan(
        unit=unit,
        system=_system_identity(design, unit.system),
        benchmark=BenchmarkIdentity(name=unit.benchmark, sha256=benchmark.sha256, n=benchmark.n),
        protocol=protocol,
        protocol_document=_protocol_document(protocol),
        verifier=_verifier_identity(protocol),
        n_problems=planned[unit].n_problems,
    )


def plan_problems(
    design: Design,
    benchmark_name: str,
    root: Path,
    *,
    strata_field: str | None = None,
    protocol: ResolvedProtocol | None = None,
) -> ProblemSet:
    """The benchmark's problem file, held against the design: digest and number of problems.

    protocol: only the problems that it chooses are given, sorted; without it, all of the benchmark.
    """
    benchmark = design.benchmarks[benchmark_name]
    problems = read_problems(inside(root, benchmark.problems, where="design"), strata_field=strata_field)
    where = benchmark.problems
    mend = "restore the file, or mend the design before the freeze"
    if problems.sha256 != benchmark.sha256:
        what = f"has sha256 {problems.sha256}, the design says {benchmark.sha256}"
        raise BeforehandError(what, where=where, mend=mend)
    if len(problems.ids) != benchmark.n:
        what = f"holds {len(problems.ids)} problems, the design says n = {benchmark.n}"
        raise BeforehandError(what, where=where, mend=mend)
    if protocol is None or protocol.problems is None:
        return problems
    chosen = _chosen(protocol.problems, problems.ids, root)
    labels = None if problems.strata is None else dict(zip(problems.ids, problems.strata, strict=True))
    strata = None if labels is None else tuple(labels[problem_id] for problem_id in chosen)
    return replace(problems, ids=chosen, strata=strata)


def _chosen(subset: Subset, ids: tuple[str, ...], root: Path) -> tuple[str, ...]:
    """The ids of the protocol's problems, sorted. even = m: the problems at floor(i n / m), i = 0 … m - 1."""
    if subset.even is not None:
        return tuple(ids[index * len(ids) // subset.even] for index in range(subset.even))
    path = inside(root, subset.ids or "", where="design")
    data = read_bytes(path)
    if sha256_bytes(data) != subset.sha256:
        raise NotInOrderError("is not what the design pins", where=str(path), mend="restore it")
    listed = tuple(decode_utf8(data, where=str(path)).split())
    foreign = sorted(set(listed) - set(ids))
    if foreign or len(set(listed)) != len(listed):
        raise BeforehandError(
            f"names {foreign[:1] or 'a problem twice'}",
            where=str(path),
            mend="list ids of the benchmark, each once",
        )
    return tuple(sorted(listed))


def differences_from_plan(design: Design, record: UnitRecord) -> tuple[Finding, ...]:
    """Where the record's identity is not the one that the design plans for a unit of this name.

    What the plan leaves open (a tokenizer's digest, say) the record may add.
    """
    try:
        plan = plan_unit(design, record.unit_id)
    except BeforehandError as err:
        return (Finding(where=record.unit, what=err.what, mend=err.mend),)
    pairs: tuple[tuple[str, JsonValue, JsonValue], ...] = (
        (
            "system",
            record.system.model_dump(mode="json"),
            plan.system.model_dump(mode="json", exclude_none=True),
        ),
        ("benchmark", record.benchmark.model_dump(mode="json"), plan.benchmark.model_dump(mode="json")),
        ("protocol", record.protocol, plan.protocol_document),
        (
            "verifier",
            record.verifier.model_dump(mode="json"),
            plan.verifier.model_dump(mode="json", exclude_none=True),
        ),
    )
    return tuple(
        Finding(
            where=f"{record.unit} {name}.{key}",
            what=f"is {stated.get(key)!r}, the design plans {value!r}",
            mend="a unit made in another way needs another name",
        )
        for name, stated, planned in pairs
        if isinstance(stated, dict) and isinstance(planned, dict)
        for key, value in planned.items()
        if stated.get(key) != value
    )


def _system_identity(design: Design, name: str) -> SystemIdentity:
    system = design.systems_expanded[name]
    model = system.model
    return SystemIdentity(
        name=name,
        repo=model.repo if isinstance(model, HubModel) else None,
        revision=model.revision if isinstance(model, HubModel) else None,
        tree_sha256=model.tree_sha256 if isinstance(model, LocalModel) else None,
        unrecorded=model.unrecorded if isinstance(model, UnrecordedModel) else None,
        trained_from=system.trained_from,
        config_sha256=system.config.sha256 if system.config else None,
        checkpoint=None if system.checkpoint is None else str(system.checkpoint),
    )


def _verifier_identity(protocol: ResolvedProtocol) -> VerifierIdentity:
    if protocol.verifier is None:
        return VerifierIdentity(kind="unstated")
    return VerifierIdentity(kind=protocol.verifier.kind, pins=dict(protocol.verifier.pins))


def _protocol_document(protocol: ResolvedProtocol) -> dict[str, JsonValue]:
    verifier = protocol.verifier
    subset = protocol.problems
    return {
        "cap_tokens": protocol.cap_tokens,
        "verifier": None if verifier is None else verifier.model_dump(mode="json", exclude_none=True),
        "problems": None if subset is None else subset.model_dump(mode="json", exclude_none=True),
        "sampling": {sampling.name: _sampling_document(sampling) for sampling in protocol.samplings},
    }


def _sampling_document(sampling: ResolvedSampling) -> dict[str, JsonValue]:
    return {
        "samples": sampling.samples,
        "seeds": None if sampling.seeds is None else list(sampling.seeds),
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "prompt": sampling.prompt,
    }
