"""`amendments.jsonl`: one seal an amendment, chained to the freeze. Standard library only.

A seal keeps the text that it seals, so that an edited entry can be shown and a lost one put back. The first `prev` is the
digest of the freeze record.
"""

from __future__ import annotations

from dataclasses import dataclass

from manifests.canonical import canonical_json
from manifests.digests import sha256_bytes, sha256_document
from manifests.errors import BeforehandError, Finding
from manifests.jsonfile import parse_json
from prereg.registration import is_moment
from prereg.strict import Fields

FORMAT = "seal/1"
FILE_NAME = "amendments.jsonl"
MEND = "restore it from version control: seals are added, never changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What existed when the amendment was sealed.

    seen: the access level that the data show, or what an earlier seal or the log said; stated: the level that the author gives,
    never below it. Counts are of files that touch the design. ledger_head: `SEQ:HASH`; commit: HEAD.
    """

    seen: str
    stated: str
    generations: int
    verdicts: int
    bundles: int
    ledger_head: str | None
    commit: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """One line of the file. n counts from 1; text: the entry, between its markers; touches: endpoint ids."""

    n: int
    id: str
    kind: str
    sealed_at: str
    touches: tuple[str, ...]
    confirms: str | None
    text: str
    evidence: Evidence
    prev: str

    @property
    def sha256(self) -> str:
        """Digest of the text."""
        return sha256_bytes(self.text.encode("utf-8"))

    @property
    def hash(self) -> str:
        """Digest over RFC 8785 of the seal without this key."""
        return sha256_document(self.document())

    def document(self) -> dict[str, object]:
        """The seal, key for key, without its hash."""
        evidence = self.evidence
        return {
            "format": FORMAT,
            "n": self.n,
            "id": self.id,
            "kind": self.kind,
            "sealed_at": self.sealed_at,
            "touches": list(self.touches),
            "confirms": self.confirms,
            "text": self.text,
            "sha256": self.sha256,
            "evidence": {
                "seen": evidence.seen,
                "stated": evidence.stated,
                "generations": evidence.generations,
                "verdicts": evidence.verdicts,
                "bundles": evidence.bundles,
                "ledger_head": evidence.ledger_head,
                "commit": evidence.commit,
            },
            "prev": self.prev,
        }

    def line(self) -> bytes:
        """The line of the file."""
        return canonical_json({**self.document(), "hash": self.hash}) + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The seals in order and all that is wrong with them."""

    seals: tuple[Seal, ...]
    findings: tuple[Finding, ...]

    @property
    def head(self) -> str:
        """`N:HASH` of the last seal, `0` without one: what a bundle shows so that a cut tail is found."""
        return f"{self.seals[-1].n}:{self.seals[-1].hash}" if self.seals else "0"


def parse_chain(data: bytes, *, root: str) -> Chain:
    """The seals in `data`. root: record_sha256 of the registration, where the chain begins."""
    seals: list[Seal] = []
    findings: list[Finding] = []
    if data and not data.endswith(b"\n"):
        findings.append(Finding(where=FILE_NAME, what="does not end with a line feed: it was cut", mend=MEND))
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else [], start=1):
        place = f"{FILE_NAME}:{number}"
        seal, wrong = _parse(line, place)
        findings += wrong
        if seal is None:
            continue
        prev = seals[-1].hash if seals else root
        if seal.n != number or seal.prev != prev:
            what = f"{seal.id} does not follow the seal before it: a seal was removed, added or moved"
            findings.append(Finding(where=place, what=what, mend=MEND))
        if any(seal.id == other.id for other in seals):
            findings.append(Finding(where=place, what=f"the id {seal.id} is sealed already", mend=MEND))
        seals.append(seal)
    return Chain(seals=tuple(seals), findings=tuple(findings))


def _parse(line: bytes, place: str) -> tuple[Seal | None, list[Finding]]:
    try:
        fields = Fields(parse_json(line, where=place), place)
    except (BeforehandError, RecursionError) as err:
        what = err.what if isinstance(err, BeforehandError) else "is nested too deeply"
        return None, [Finding(where=place, what=what, mend=MEND)]
    evidence = Fields(fields.value("evidence"), f"{place} evidence", fields.findings)
    seal = Seal(
        n=fields.whole("n"),
        id=fields.text("id"),
        kind=fields.text("kind"),
        sealed_at=fields.text("sealed_at"),
        touches=fields.texts("touches"),
        confirms=fields.optional_text("confirms"),
        text=fields.text("text"),
        evidence=_evidence(evidence),
        prev=fields.sha256("prev"),
    )
    if not is_moment(seal.sealed_at):
        fields.wrong("sealed_at", "is no time in UTC")
    for key in ("format", "sha256", "hash"):
        fields.text(key)
    fields.finish()
    if fields.findings:
        return None, fields.findings
    try:
        if seal.line() != line + b"\n":
            return seal, [Finding(where=place, what=f"the seal of {seal.id} was changed", mend=MEND)]
    except ValueError as err:
        return None, [Finding(where=place, what=f"holds text that cannot have been sealed: {err}", mend=MEND)]
    return seal, []


def _evidence(fields: Fields) -> Evidence:
    evidence = Evidence(
        seen=fields.text("seen"),
        stated=fields.text("stated"),
        generations=fields.whole("generations"),
        verdicts=fields.whole("verdicts"),
        bundles=fields.whole("bundles"),
        ledger_head=fields.optional_text("ledger_head"),
        commit=fields.optional_text("commit"),
    )
    fields.finish()
    return evidence


def dumps(seals: tuple[Seal, ...]) -> bytes:
    """The file's bytes."""
    return b"".join(seal.line() for seal in seals)
