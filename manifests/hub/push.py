"""Push: each unit is one commit in the study's repository, whole or not at all; its pin is written after it.

A push that is killed anywhere is started again with the same command: what has landed is found there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from manifests.errors import FindingsError, NotInOrderError
from manifests.hub.client import Addition, Hub
from manifests.hub.commit import is_same, land, record_addition
from manifests.hub.failures import VanishedError
from manifests.hub.layout import RECORD_FILE, unit_path
from manifests.names import UnitId
from manifests.pins import Pin, read_pins, write_pins
from manifests.records import UnitRecord
from manifests.stores import LocalStore, check_files, load_record
from manifests.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedUnit:
    """A unit in the repository. commit: where it lies; new: False where the very same unit lay there already."""

    unit: UnitId
    record: UnitRecord
    commit: str
    new: bool
    pin: Pin


def push_units(study: Study, units: Sequence[UnitId]) -> tuple[PushedUnit, ...]:
    """Every given unit lies in the repository and is pinned. What landed before an error stays, pinned."""
    repo = study.require_hub_repo()
    hub = Hub()
    store = LocalStore(study.root)
    pins = read_pins(study.root).by_unit()
    pushed: list[PushedUnit] = []
    for unit in units:
        record, digest = load_record(store, unit)
        pin = pins.get(unit)
        if pin is not None and pin.record_sha256 != digest:
            raise NotInOrderError(
                f"its record has the digest {digest}, another one is pinned: {pin.record_sha256}",
                where=str(unit),
                mend="units are immutable: restore the record, or give the new rows another unit id",
            )
        if pin is not None and not store.folder(unit).is_dir():
            continue  # pinned before, and its files were given up here: the pin says where they are
        landed = land(hub, repo, _additions(store, record), message=f"Add unit {unit}")
        kept = None if landed.new or (pin and pin.revision == landed.sha) else _still_there(hub, repo, pin)
        commit = kept.revision if kept else landed.sha
        pushed.append(
            PushedUnit(
                unit=unit,
                record=record,
                commit=commit,
                new=landed.new,
                pin=Pin(repo=repo, revision=commit, record_sha256=digest),
            )
        )
        write_pins(study.root, {unit: pushed[-1].pin})
    return _on_one_commit(study, hub, repo, pushed)


def _additions(store: LocalStore, record: UnitRecord) -> tuple[Addition, ...]:
    """The unit's files, then its record."""
    unit = record.unit_id
    damage = check_files(store, record)
    if damage:
        raise DamagedUnitError(
            "the unit is not what its record says; it was not pushed",
            damage,
            where=str(unit),
            mend=store.restore,
        )
    if RECORD_FILE in {file.path for file in record.files}:
        raise NotInOrderError(
            f"a file of the unit is called {RECORD_FILE}, as its record is on the Hub",
            where=str(unit),
            mend="give it another name and import the unit again",
        )
    files = [
        Addition(
            path=unit_path(unit, file.path), content=store.file_path(unit, file.path), sha256=file.sha256
        )
        for file in record.files
    ]
    return (*files, record_addition(record))


def _still_there(hub: Hub, repo: str, pin: Pin | None) -> Pin | None:
    """The old pin, where its commit still is in this repository."""
    if pin is None or pin.repo != repo:
        return None
    try:
        hub.head(repo, revision=pin.revision)
    except VanishedError:
        return None
    return pin


def _on_one_commit(study: Study, hub: Hub, repo: str, pushed: Sequence[PushedUnit]) -> tuple[PushedUnit, ...]:
    """Units that this call committed are pinned at its last commit, which holds them all: a pull then lists one tree, not one a unit."""
    new = [one for one in pushed if one.new]
    if len(new) < 2:
        return tuple(pushed)
    last = new[-1].commit
    records = {one.unit: record_addition(one.record) for one in new}
    there = hub.files(repo, [record.path for record in records.values()], revision=last)
    held = {unit for unit, record in records.items() if is_same(record, there.get(record.path))}
    moved = [
        replace(one, pin=one.pin.model_copy(update={"revision": last}))
        if one.new and one.unit in held
        else one
        for one in pushed
    ]
    write_pins(study.root, {one.unit: one.pin for one in moved})
    return tuple(moved)


class DamagedUnitError(NotInOrderError, FindingsError):
    """A unit in the study folder is damaged: exit code 1."""
