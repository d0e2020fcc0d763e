"""Looking for data that exist before the freeze: in the study, its data roots, git history, the ledger, the Hub."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ledger.book import read_ledger
from manifests.digests import sha256_bytes
from manifests.errors import BeforehandError
from manifests.jsonlines import parse_json_lines
from manifests.names import UnitId
from manifests.study import Study
from prereg.contents import Contents, looks_like_data, recognise
from prereg.design import Design
from prereg.git import GitError, Repository
from prereg.search import Limits, Search, Sighting, few, search_folder
from prereg.systems import HubModel, LocalModel
from prereg.witness import UNKNOWN_SYSTEM, Found, Place, Witness

LISTED_KINDS = frozenset({"checkpoint", "log", "unit record", "bundle"})
"""Kinds that are listed even when they touch nothing; other JSON that touches nothing needs two ids to be taken for data."""
MOST_LISTED = 1000
SNIPPETS_SEARCHED = 60
SNIPPET_BYTES = 8 * 2**20


class HubListing(Protocol):
    """What the witness needs of a Hub: a repository's data files, with their content."""

    def data_files(self) -> tuple[tuple[str, bytes], ...]:
        """Path and bytes of each file that may hold data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkTraces:
    """By what a benchmark's data are known: its problem ids, and stretches of its problems' text."""

    ids: frozenset[str]
    snippets: tuple[bytes, ...]


def look(
    study: Study,
    design: Design,
    *,
    limits: Limits | None = None,
    hub: HubListing | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Witness:
    """Every place looked at and everything found there, by content."""
    limits = limits or Limits()
    traces = {name: _traces(study.root / one.problems) for name, one in design.benchmarks.items()}
    # What `pinned` lists is looked at like any other file: nothing keeps rows with verdicts out of it.
    inputs = frozenset(
        (study.root / file.path).resolve()
        for file in design.named_files()
        if not file.place.startswith("pinned.")
    )
    searches = [search_folder(study.root, name="study", limits=limits, skip=inputs, clock=clock)]
    searches += [
        search_folder(study.root / root, name=f"data root {root}", limits=limits, skip=inputs, clock=clock)
        for root in study.config.data_roots
    ]
    seen = {sighting.sha256 for search in searches for sighting in search.sightings}
    problem_sets = {one.sha256 for one in design.benchmarks.values()}
    searches.append(_search_history(study.root, limits, seen | problem_sets, clock))
    searches.append(_search_hub(hub, study))
    found = [
        one
        for search in searches
        for sighting in search.sightings
        if (one := _found(search.place.name, sighting, design, traces)).touches
        or one.kind in LISTED_KINDS
        or len(sighting.contents.ids) > 1
    ]
    ledger_place, booked = _look_into_ledger(study, design)
    places = (*(search.place for search in searches), ledger_place)
    return _listed(places, [*found, *booked])


def _listed(places: tuple[Place, ...], found: list[Found]) -> Witness:
    """The witness with at most MOST_LISTED findings, those that touch the design first; the rest is counted and hashed."""
    ordered = sorted(found, key=lambda one: (not one.touches, one.place, one.path))
    kept, rest = ordered[:MOST_LISTED], ordered[MOST_LISTED:]
    if rest:
        digest = sha256_bytes("".join(f"{one.sha256}  {one.place}/{one.path}\n" for one in rest).encode())
        note = f"data files beyond the {MOST_LISTED} listed; sha256 of their list {digest}"
        places = (*places, Place(name="not listed", state="read", files=len(rest), note=note))
    return Witness(places=places, found=tuple(sorted(kept, key=lambda one: (one.place, one.path))))


def _traces(path: Path) -> BenchmarkTraces:
    try:
        records = parse_json_lines(path.read_bytes(), where=path.name).records
    except OSError:
        return BenchmarkTraces(ids=frozenset(), snippets=())
    ids = {
        str(record.value[key]) for record in records for key in ("problem_id", "name") if key in record.value
    }
    step = max(1, len(records) // SNIPPETS_SEARCHED)
    snippets = [_snippet(record.value) for record in records[::step]]
    return BenchmarkTraces(ids=frozenset(ids), snippets=tuple(one for one in snippets if one))


def _snippet(problem: Mapping[str, object]) -> bytes:
    """The longest stretch of a problem that every way of writing JSON leaves as it is; empty below 24 characters."""
    stretches = [
        stretch
        for key, value in problem.items()
        if isinstance(value, str) and key not in {"problem_id", "name", "header"}
        for stretch in re.findall(r"[A-Za-z0-9 ,.+*=?-]{24,}", value)
    ]
    return max(stretches, key=len, default="").encode("ascii")[:120]


def _found(place: str, sighting: Sighting, design: Design, traces: Mapping[str, BenchmarkTraces]) -> Found:
    benchmarks = [name for name in sorted(traces) if _touches_benchmark(sighting.contents, traces[name])]
    systems = _systems_named(sighting, design) or (UNKNOWN_SYSTEM,)
    named_units = {key for text in sighting.contents.units if (key := _registered(text, design)) is not None}
    return Found(
        place=place,
        path=sighting.path,
        kind=sighting.contents.kind,
        bytes=sighting.bytes,
        sha256=sighting.sha256,
        n_records=sighting.contents.n_records,
        touches=tuple(
            sorted(
                {*named_units, *(f"{system}.{benchmark}" for benchmark in benchmarks for system in systems)}
            )
        ),
    )


def _touches_benchmark(contents: Contents, traces: BenchmarkTraces) -> bool:
    if contents.kind in {"checkpoint", "log"}:
        return False
    shared = traces.ids & contents.ids
    if any(not one.isdecimal() for one in shared):
        return True
    # Bare numbers name problems of every benchmark: they count when most of the file's ids are such numbers.
    if len(shared) >= min(3, len(traces.ids)) and 2 * len(shared) >= len(contents.ids):
        return True
    return any(snippet in contents.text[:SNIPPET_BYTES] for snippet in traces.snippets)


def _systems_named(sighting: Sighting, design: Design) -> tuple[str, ...]:
    """The design's systems that the data name in a model field, or that the path names; empty when none."""
    stated = " ".join(sighting.contents.models)
    named = []
    for name, system in design.systems_expanded.items():
        word = re.compile(rf"(?<![A-Za-z0-9-]){re.escape(name)}(?![A-Za-z0-9-])")
        marks = []
        if isinstance(system.model, HubModel):
            marks = [system.model.repo, system.model.revision[:12]]
        elif isinstance(system.model, LocalModel):
            marks = [system.model.tree_sha256[:12]]
        if any(mark in stated for mark in marks) or word.search(stated) or word.search(sighting.path):
            named.append(name)
    return tuple(named)


def _search_history(root: Path, limits: Limits, known: set[str], clock: Callable[[], float]) -> Search:
    """Contents that were ever committed and are not in the places searched already."""
    deadline = clock() + limits.seconds
    try:
        repository = Repository.of(root)
        shallow = repository.is_shallow()
        blobs = repository.blobs()
        small = tuple(blob for blob in blobs if blob.bytes <= limits.bytes_per_file)
        notes = ["a shallow clone: older commits are not here"] if shallow else []
        if len(small) < len(blobs):
            notes.append(f"{len(blobs) - len(small)} files over {limits.bytes_per_file} bytes were not read")
        sightings = []
        unread: list[str] = []
        count = 0
        for blob, data in repository.contents(small[: limits.files]):
            if clock() > deadline:
                break
            count += 1
            contents = recognise(data) if looks_like_data(data) else None
            if contents is None:
                continue
            if contents.unread:
                unread.append(f"not read to the end: {blob.path} ({contents.unread})")
            if (digest := sha256_bytes(data)) not in known:
                sightings.append(Sighting(path=blob.path, bytes=blob.bytes, sha256=digest, contents=contents))
    except GitError as err:
        return Search(
            place=Place(name="git history", state="not looked at", files=0, note=str(err)), sightings=()
        )
    if count < len(small):
        notes.append(
            f"{len(small) - count} files were not read: stopped after {count} files or {limits.seconds:.0f} s"
        )
    notes += unread
    state = "read in part" if notes else "read"
    place = Place(name="git history", state=state, files=count, note="; ".join(few(notes)))
    return Search(place=place, sightings=tuple(sightings))


def _search_hub(hub: HubListing | None, study: Study) -> Search:
    if hub is None:
        store = study.hub_repo
        note = (
            "no Hub store is configured" if store is None else f"the store {store} is not read at the freeze"
        )
        place = Place(name="Hub", state="not looked at", files=0, note=note)
        return Search(place=place, sightings=())
    files = hub.data_files()
    sightings = [
        Sighting(path=path, bytes=len(data), sha256=sha256_bytes(data), contents=contents)
        for path, data in files
        if (contents := recognise(data)) is not None
    ]
    unread = [
        f"not read to the end: {one.path} ({one.contents.unread})" for one in sightings if one.contents.unread
    ]
    state = "read in part" if unread else "read"
    place = Place(name="Hub", state=state, files=len(files), note="; ".join(few(unread)))
    return Search(place=place, sightings=tuple(sightings))


def _look_into_ledger(study: Study, design: Design) -> tuple[Place, tuple[Found, ...]]:
    """Money booked for a registered system on a registered benchmark: a run was paid for, whatever became of it."""
    try:
        ledger = read_ledger(study.ledger_path, study_name=study.config.name)
    except BeforehandError as err:
        return Place(name="ledger", state="absent", files=0, note=err.what), ()
    touched: dict[str, int] = {}
    for entry in ledger.entries:
        for text in entry.units if entry.kind in {"book", "reserve"} else ():
            key = _registered(text, design)
            if key is not None:
                touched[key] = touched.get(key, 0) + 1
    note = f"{len(ledger.findings)} findings: see `beforehand ledger verify`" if ledger.findings else ""
    place = Place(name="ledger", state="read in part" if note else "read", files=1, note=note)
    data = study.ledger_path.read_bytes()
    return place, tuple(
        Found(
            place="ledger",
            path=study.ledger_path.name,
            kind="ledger",
            bytes=len(data),
            sha256=sha256_bytes(data),
            n_records=count,
            touches=(key,),
        )
        for key, count in sorted(touched.items())
    )


def _registered(text: str, design: Design) -> str | None:
    """`system.benchmark` of a unit id whose system and benchmark the design declares, under whatever protocol."""
    try:
        unit = UnitId.parse(text)
    except BeforehandError:
        return None
    known = unit.system in design.systems_expanded and unit.benchmark in design.benchmarks
    return f"{unit.system}.{unit.benchmark}" if known else None
