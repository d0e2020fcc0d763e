"""Pull: units of the study's repository are in the cache, verified byte by byte; record and pin are written last.

A unit is resolved to a full commit once. From then on its pin says where it lies: a pull that finds all of it in the
cache makes no request, and does not even load the client.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from manifests.errors import BeforehandError, Finding
from manifests.files import write_atomically
from manifests.hub.cache import cached_path, discard
from manifests.hub.failures import UnreachableError
from manifests.hub.layout import Place, record_path, unit_path
from manifests.hub.pulled import Damage, Pulled, PulledUnit
from manifests.hub.store import HubStore
from manifests.names import UnitId
from manifests.pins import write_pins
from manifests.records import UnitRecord, read_record, record_bytes, record_sha256
from manifests.study import Study

if TYPE_CHECKING:
    from manifests.hub.client import Hub

FETCHES_MAX = 2
WATCH_S = 0.05


def pull_units(study: Study, units: Sequence[UnitId]) -> Pulled:
    """Every given unit that exists is at hand. Raises UnreachableError where the Hub is needed and does not answer."""
    repo = study.require_hub_repo()
    store = HubStore.of(study)
    pinned = [unit for unit in units if unit in store.pins]
    unpinned = [unit for unit in units if unit not in store.pins and not store.record_path(unit).exists()]
    lacking = [unit for unit in pinned if store.missing(unit) is not None]
    new: dict[UnitId, Place] = {}
    not_asked = ""
    if unpinned or lacking:
        try:
            new = _look_for(repo, unpinned)
        except UnreachableError as err:
            if lacking:
                raise
            not_asked = err.what
    places = {**{unit: store.pins[unit].place for unit in pinned}, **new}
    found, without_record = _with_records(store, places)
    there, without_files = _with_files(store, found)
    for one in there:
        if not store.record_path(one.unit).exists():
            write_atomically(store.record_path(one.unit), record_bytes(one.record))
    write_pins(study.root, {one.unit: one.pin for one in there if one.new})
    return Pulled(
        units=there,
        absent=tuple(unit for unit in unpinned if unit not in new),
        findings=(*without_record, *without_files),
        not_asked=not_asked,
    )


def _look_for(repo: str, unpinned: Sequence[UnitId]) -> dict[UnitId, Place]:
    """Those units that lie at the head of the repository. The one request also tells whether the Hub is there."""
    head = _hub().head(repo)
    files = set(head.files)
    return {unit: Place(repo, head.sha) for unit in unpinned if record_path(unit) in files}


def _with_records(
    store: HubStore, places: Mapping[UnitId, Place]
) -> tuple[tuple[PulledUnit, ...], tuple[Finding, ...]]:
    """The units with the records that they must have; a record that the study lacks is fetched, a damaged one twice."""
    found: dict[UnitId, PulledUnit] = {}
    findings: list[Finding] = []
    remote: dict[UnitId, Place] = {}
    for unit, place in places.items():
        if store.record_path(unit).exists():
            found[unit] = PulledUnit(unit=unit, place=place, record=read_record(store.record_path(unit)))
        else:
            remote[unit] = place
    for last in (False, True):
        failed = _fetch((place, (record_path(unit),)) for unit, place in remote.items())
        again: dict[UnitId, Place] = {}
        for unit, place in remote.items():
            path = cached_path(place, record_path(unit))
            try:
                record = _own_record(store, unit, place)
            except BeforehandError as err:
                if last or place in failed:
                    findings.append(_finding(unit, failed.get(place, err)))
                else:
                    discard(path)
                    again[unit] = place
            else:
                new = unit not in store.pins
                found[unit] = PulledUnit(unit=unit, place=place, record=record, fetched=True, new=new)
        remote = again
    return tuple(found[unit] for unit in places if unit in found), tuple(findings)


def _own_record(store: HubStore, unit: UnitId, place: Place) -> UnitRecord:
    """The cached record, where it is this unit's, is the pinned one, and names no path outside the unit."""
    record = read_record(cached_path(place, record_path(unit)))
    for file in record.files:
        unit_path(unit, file.path)
    pin = store.pins.get(unit)
    if record.unit_id != unit:
        raise BeforehandError(f"the record at its place is that of {record.unit}", where=str(unit))
    if pin is not None and record_sha256(record) != pin.record_sha256:
        raise BeforehandError(
            f"its record has the digest {record_sha256(record)}, the pin says {pin.record_sha256}",
            where=str(unit),
        )
    return record


def _with_files(
    store: HubStore, units: Sequence[PulledUnit]
) -> tuple[tuple[PulledUnit, ...], tuple[Finding, ...]]:
    """The units whose files are, byte for byte, what the record says. What is not is fetched; a damaged file twice."""
    there = [one for one in units if store.is_local(one.unit) and not one.new]
    cached = [one for one in units if not store.is_local(one.unit) or one.new]
    damage_of = _damaged(cached)
    there += [one for one in cached if not damage_of[one.unit]]
    wrong = [replace(one, fetched=True) for one in cached if damage_of[one.unit]]
    findings: list[Finding] = []
    for _ in range(FETCHES_MAX):
        for one in wrong:
            for path, _ in damage_of[one.unit]:
                discard(path)
        failed, damage_of = _fetch_and_verify(wrong)
        findings += [_finding(one.unit, failed[one.place]) for one in wrong if one.place in failed]
        arrived = [one for one in wrong if one.place not in failed]
        there += [one for one in arrived if not damage_of[one.unit]]
        wrong = [one for one in arrived if damage_of[one.unit]]
    findings += [_served_wrong(one, path, what) for one in wrong for path, what in damage_of[one.unit]]
    return tuple(sorted(there, key=lambda one: one.unit)), tuple(findings)


def _fetch_and_verify(
    units: Sequence[PulledUnit],
) -> tuple[dict[Place, BeforehandError], dict[UnitId, Damage]]:
    """Fetched, each unit is verified as soon as it is there, beside the rest of the download; what failed, and what is damaged."""
    verified: dict[UnitId, Damage] = {}
    over = threading.Event()

    def watch() -> None:
        waiting = list(units)
        while waiting and not over.wait(WATCH_S):
            for one in [one for one in waiting if one.is_cached()]:
                if over.is_set():
                    return
                verified[one.unit] = one.damaged()
                waiting.remove(one)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        failed = _fetch((one.place, one.paths) for one in units)
    finally:
        over.set()
        watcher.join()
    return failed, verified | _damaged([one for one in units if one.unit not in verified])


def _damaged(units: Sequence[PulledUnit]) -> dict[UnitId, Damage]:
    """What is wrong with the cached files of each unit. Hashing leaves the interpreter free: each processor takes a unit."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return dict(zip([one.unit for one in units], pool.map(PulledUnit.damaged, units), strict=True))


def _fetch(wanted: Iterable[tuple[Place, Sequence[str]]]) -> dict[Place, BeforehandError]:
    """The paths of each commit are in the cache; what failed, by place."""
    paths: dict[Place, list[str]] = {}
    for place, names in wanted:
        paths.setdefault(place, []).extend(names)
    return _hub().fetch_all(paths) if paths else {}


def _hub() -> Hub:
    from manifests.hub.client import Hub  # noqa: PLC0415 - a pull that needs no network does not load the client

    return Hub()


def _served_wrong(one: PulledUnit, path: Path, what: str) -> Finding:
    return Finding(
        where=str(one.unit),
        what=f"{path.name} {what}; it was fetched twice",
        mend="the Hub serves other bytes than were pushed: look at its page, then pull again",
    )


def _finding(unit: UnitId, err: BeforehandError) -> Finding:
    where = f"{unit} ({err.where})" if err.where else str(unit)
    return Finding(where=where, what=err.what, mend=err.mend)
