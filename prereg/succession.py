"""Succession: a registration that replaces a withdrawn one names it, and the withdrawn one is kept. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from manifests.errors import BeforehandError, Finding, NotInOrderError
from manifests.files import read_bytes
from prereg.registration import FILE_NAME, Registration, read_registration
from prereg.seals import FILE_NAME as SEALS_NAME
from prereg.seals import Chain, Seal, parse_chain
from prereg.strict import DamagedRecordError, Fields
from prereg.verify import verify


@dataclass(frozen=True, slots=True, kw_only=True)
class Succession:
    """The predecessor. path: from the successor's folder to it, POSIX; withdrawn_by: the amendment that withdrew it."""

    study: str
    path: str
    block_sha256: str
    record_sha256: str
    withdrawn_by: str

    def document(self) -> dict[str, object]:
        """The succession as it stands in registration.json."""
        return {
            "study": self.study,
            "path": self.path,
            "block_sha256": self.block_sha256,
            "record_sha256": self.record_sha256,
            "withdrawn_by": self.withdrawn_by,
        }

    @classmethod
    def read(cls, document: Mapping[str, object], *, where: str) -> Succession:
        """The succession of a record; raises DamagedRecordError."""
        fields = Fields(document, "succeeds")
        succession = cls(
            study=fields.text("study"),
            path=fields.text("path"),
            block_sha256=fields.sha256("block_sha256"),
            record_sha256=fields.sha256("record_sha256"),
            withdrawn_by=fields.text("withdrawn_by"),
        )
        fields.finish()
        if fields.findings:
            raise DamagedRecordError(tuple(fields.findings), where=where)
        return succession


def withdrawal(seals: tuple[Seal, ...]) -> Seal | None:
    """The seal that withdraws the registration, or None."""
    return next((seal for seal in seals if seal.kind == "withdrawal"), None)


def succession(study: Path, predecessor: Path) -> Succession:
    """What the successor records. Refuses a predecessor that does not verify, or that nobody withdrew."""
    result = verify(predecessor)
    if result.exit_code != 0:
        mend = "run beforehand prereg verify on it; it must hold as it was frozen"
        raise NotInOrderError(
            f"is {result.status.replace('_', ' ')}, with {len(result.findings)} findings",
            where=str(predecessor),
            mend=mend,
        )
    seal = withdrawal(result.seals)
    if seal is None:
        mend = 'withdraw it first: an amendment of kind = "withdrawal"'
        raise BeforehandError("is not withdrawn", where=str(predecessor), mend=mend)
    record = read_registration(predecessor / FILE_NAME)
    path = Path(*[".."] * len(study.resolve().relative_to(_common(study, predecessor)).parts))
    return Succession(
        study=record.study,
        path=(path / predecessor.resolve().relative_to(_common(study, predecessor))).as_posix(),
        block_sha256=record.block_sha256,
        record_sha256=record.record_sha256,
        withdrawn_by=seal.id,
    )


def _common(one: Path, other: Path) -> Path:
    mine = (one.resolve(), *one.resolve().parents)
    return next(folder for folder in mine if other.resolve().is_relative_to(folder))


def check_succession(study: Path, record: Registration) -> tuple[Finding, ...]:
    """The predecessor must still lie where the record says, with the record and the withdrawal that it names."""
    if record.succeeds is None:
        return ()
    try:
        named = Succession.read(record.succeeds, where=FILE_NAME)
        old = read_registration(study / named.path / FILE_NAME)
        chain = _chain(study / named.path, old)
    except DamagedRecordError as err:
        return err.findings
    except BeforehandError as err:
        mend = "a withdrawn registration is kept: restore it"
        return (
            Finding(
                where=f"{FILE_NAME} succeeds", what=f"the predecessor {err.what}: {err.where}", mend=mend
            ),
        )
    findings = []
    if old.record_sha256 != named.record_sha256:
        what = f"{named.path} holds another registration than the one that is succeeded"
        findings.append(Finding(where=f"{FILE_NAME} succeeds", what=what, mend="restore it"))
    elif (seal := withdrawal(chain.seals)) is None or seal.id != named.withdrawn_by:
        what = f"the withdrawal {named.withdrawn_by} of {named.study} is gone"
        findings.append(Finding(where=f"{FILE_NAME} succeeds", what=what, mend="restore it"))
    return tuple(findings)


def _chain(study: Path, record: Registration) -> Chain:
    path = study / SEALS_NAME
    return parse_chain(read_bytes(path) if path.exists() else b"", root=record.record_sha256)
