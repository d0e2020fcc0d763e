"""Refresh: what the repository holds now, against the pins. Pins of other content never move by themselves."""

from __future__ import annotations

from dataclasses import dataclass

from manifests.errors import Finding
from manifests.hub.client import Hub
from manifests.hub.commit import is_same, record_addition
from manifests.hub.failures import VanishedError
from manifests.hub.layout import Place, record_path
from manifests.hub.store import HubStore
from manifests.names import UnitId
from manifests.pins import Pin, write_pins
from manifests.records import read_record
from manifests.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """head: the newest commit; moved: a sentence a unit whose pin moved; findings: what is not as it was pinned."""

    head: Place
    moved: tuple[str, ...]
    findings: tuple[Finding, ...]


def refresh(study: Study) -> Refreshed:
    """Each pinned unit is held against the head. A pin moves only from a commit that vanished to one with the same content."""
    hub = Hub()
    head = hub.head(study.require_hub_repo())
    place = Place(head.repo, head.sha)
    store = HubStore.of(study)
    pinned = {unit: pin for unit, pin in store.pins.items() if pin.place != place}
    vanished = _vanished(hub, {pin.place for pin in pinned.values()})
    records = {
        unit: record_addition(read_record(store.record_path(unit)))
        for unit in pinned
        if store.record_path(unit).exists()
    }
    there = hub.files(head.repo, [record.path for record in records.values()], revision=head.sha)
    moved: dict[UnitId, Pin] = {}
    findings: list[Finding] = []
    for unit, pin in pinned.items():
        remote = there.get(record_path(unit))
        same = unit in records and is_same(records[unit], remote)
        if pin.place in vanished:
            findings.append(_vanished_finding(unit, pin, place if same else None))
            if same:
                moved[unit] = pin.model_copy(update={"repo": head.repo, "revision": head.sha})
        elif unit in records and not same:
            findings.append(_changed_finding(unit, pin, place, gone=remote is None))
    write_pins(study.root, moved)
    lines = tuple(f"{unit}: {store.pins[unit].revision} -> {head.sha}, same content" for unit in moved)
    return Refreshed(head=place, moved=lines, findings=tuple(findings))


def _vanished(hub: Hub, places: set[Place]) -> set[Place]:
    gone = set()
    for place in sorted(places):
        try:
            hub.head(place.repo, revision=place.revision)
        except VanishedError:
            gone.add(place)
    return gone


def _vanished_finding(unit: UnitId, pin: Pin, now: Place | None) -> Finding:
    what = f"its pinned commit {pin.revision} vanished from {pin.repo}: the history was rewritten"
    if now is not None:
        return Finding(
            where=str(unit),
            what=f"{what}; the same content lies in {now}, where it is pinned now",
            mend="write down in DECISIONS.md that the history was rewritten, and commit pins.json",
        )
    mend = "ask who rewrote the history; a copy in a cache or in the study folder can be pushed again"
    return Finding(where=str(unit), what=f"{what}, and the head does not hold this content", mend=mend)


def _changed_finding(unit: UnitId, pin: Pin, now: Place, *, gone: bool) -> Finding:
    change = "was removed from" if gone else "has other content in"
    return Finding(
        where=str(unit),
        what=f"{change} {now}; it stays pinned at {pin.revision}",
        mend="the pinned content is what the study uses; new rows need another unit id",
    )
