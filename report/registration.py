"""What the report says of the registration: status, witness, amendments, and when anyone could have looked."""

from __future__ import annotations

from collections.abc import Iterator

from ledger.entries import format_time
from prereg.seals import Chain
from report.aggregate import AmendmentNode, EventNode, RegistrationNode, WitnessFind, WitnessPlace
from report.evidence import Evidence

NO_WITNESS = "no witness recorded: the freeze does not say where data were looked for"
LEDGER_CLOCK = "ledger.csv, by the clock of the machine that booked"


def summarise_registration(evidence: Evidence) -> RegistrationNode:
    """The node; a chain of amendments has a head, so that a cut tail is found against this bundle."""
    verification, witness = evidence.verification, evidence.witness
    seals = evidence.effective.seals
    return RegistrationNode(
        status=verification.status,
        block_sha256=verification.expected,
        frozen_at=verification.frozen_at,
        witness=witness.sentence if witness else NO_WITNESS,
        acknowledged=evidence.registration.acknowledged if evidence.registration else None,
        places=tuple(
            WitnessPlace(name=place.name, state=place.state, files=place.files, note=place.note)
            for place in (witness.places if witness else ())
        ),
        found=tuple(
            WitnessFind(
                place=one.place,
                path=one.path,
                kind=one.kind,
                n_records=one.n_records,
                sha256=one.sha256,
                touches=one.touches,
            )
            for one in (witness.found if witness else ())
        ),
        amendments=tuple(
            AmendmentNode(
                id=seal.id,
                kind=seal.kind,
                sealed_at=seal.sealed_at,
                touches=seal.touches,
                seen=seal.evidence.stated,
                text=seal.text,
            )
            for seal in seals
        ),
        amendments_head=Chain(seals=seals, findings=()).head if seals else None,
        events=tuple(_events(evidence)),
    )


def _events(evidence: Evidence) -> Iterator[EventNode]:
    """Moments in the order of their times; what has no recorded time comes last and says so."""
    dated = sorted(_dated(evidence), key=lambda event: (event.at or "", event.kind, event.what))
    yield from dated
    if evidence.units:
        yield EventNode(
            at=None,
            kind="rows",
            what="first row, first verdict",
            source="unit records hold no time; a record names the block that was frozen when its rows came",
        )


def _dated(evidence: Evidence) -> Iterator[EventNode]:
    if evidence.verification.frozen_at is not None:
        yield EventNode(
            at=evidence.verification.frozen_at,
            kind="freeze",
            what="registration frozen",
            source="registration.json, by the clock of the machine that froze",
        )
    entries = evidence.ledger.entries
    if entries:
        yield EventNode(
            at=format_time(entries[0].time_utc),
            kind="ledger",
            what="first row of the ledger",
            source=LEDGER_CLOCK,
        )
    with_unit = next((entry for entry in entries if entry.units and entry.kind in ("book", "import")), None)
    if with_unit is not None:
        yield EventNode(
            at=format_time(with_unit.time_utc),
            kind="booking",
            what="first booking for a unit",
            source=LEDGER_CLOCK,
        )
    for seal in evidence.effective.seals:
        yield EventNode(
            at=seal.sealed_at,
            kind="amendment",
            what=f"amendment {seal.id}, {seal.kind}",
            source="amendments.jsonl, by the clock of the machine that sealed",
        )
    result = next((entry for entry in evidence.decisions.entries if entry.kind == "RESULT"), None)
    if result is not None:
        yield EventNode(
            at=result.day.isoformat(), kind="result", what=f"first RESULT in the log, {result.id}", source="DECISIONS.md, stated"
        )  # fmt: skip
