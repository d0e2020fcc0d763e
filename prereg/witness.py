"""The witness: where freeze looked for data that exist already, and what it found there. Standard library only.

"Nothing found" is a statement about the places looked at, never about the world; the record therefore names each place,
what was read of it and what was not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prereg.strict import DamagedRecordError, Fields

UNKNOWN_SYSTEM = "?"
JUDGED = ("rows", "verdicts", "unit record", "bundle")
"""Kinds that hold or report verdicts: whoever has them may know how a system did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place looked at. state: read, read in part, absent, or not looked at; note: what was left out and why."""

    name: str
    state: str
    files: int
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One thing found, by content. touches: `system.benchmark` of the design; the system is `?` where the data do not say.

    kind: rows (samples with verdicts), generations, verdicts, checkpoint, log, unit record, bundle, ledger.
    n_records: samples or entries in it, as far as they can be counted.
    """

    place: str
    path: str
    kind: str
    bytes: int
    sha256: str
    n_records: int
    touches: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """All places, and all that was found in them, sorted."""

    places: tuple[Place, ...]
    found: tuple[Found, ...]

    @property
    def touching(self) -> tuple[Found, ...]:
        """What concerns a registered system on a registered benchmark."""
        return tuple(one for one in self.found if one.touches)

    def touching_side(self, system: str, benchmark: str) -> tuple[Found, ...]:
        """What exists of one side of an endpoint; data that do not name their system count for every system."""
        keys = {f"{system}.{benchmark}", f"{UNKNOWN_SYSTEM}.{benchmark}"}
        return tuple(one for one in self.found if keys & set(one.touches))

    @property
    def sentence(self) -> str:
        """One line for people: what was found, or where nothing was."""
        looked = ", ".join(f"{place.name} ({place.state})" for place in self.places)
        if not self.found:
            return f"nothing found in the places looked at: {looked}"
        return f"found {len(self.found)} files or entries, {len(self.touching)} touching the design; looked at: {looked}"

    def document(self) -> dict[str, object]:
        """The witness as it stands in registration.json."""
        return {
            "places": [
                {"name": one.name, "state": one.state, "files": one.files, "note": one.note}
                for one in self.places
            ],
            "found": [
                {
                    "place": one.place,
                    "path": one.path,
                    "kind": one.kind,
                    "bytes": one.bytes,
                    "sha256": one.sha256,
                    "n_records": one.n_records,
                    "touches": list(one.touches),
                }
                for one in self.found
            ],
        }

    @classmethod
    def read(cls, document: Mapping[str, object], *, where: str) -> Witness:
        """The witness of a record; raises DamagedRecordError."""
        fields = Fields(document, "witness")
        witness = cls(
            places=tuple(_place(one) for one in fields.objects("places")),
            found=tuple(_found(one) for one in fields.objects("found")),
        )
        fields.finish()
        if fields.findings:
            raise DamagedRecordError(tuple(fields.findings), where=where)
        return witness


def _place(fields: Fields) -> Place:
    place = Place(
        name=fields.text("name"),
        state=fields.text("state"),
        files=fields.whole("files"),
        note=fields.text("note"),
    )
    fields.finish()
    return place


def _found(fields: Fields) -> Found:
    found = Found(
        place=fields.text("place"),
        path=fields.text("path"),
        kind=fields.text("kind"),
        bytes=fields.whole("bytes"),
        sha256=fields.sha256("sha256"),
        n_records=fields.whole("n_records"),
        touches=fields.texts("touches"),
    )
    fields.finish()
    return found
