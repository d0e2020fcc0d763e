"""Amending a frozen registration: an entry below the block, sealed with what could have been seen.

The seal is written first and keeps the text. Killed between the two writes, the same command puts the text in place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ledger.book import read_ledger
from ledger.lock import locked
from manifests.documents import parse_toml
from manifests.errors import BeforehandError, FindingsError, NotInOrderError
from manifests.files import read_bytes, write_atomically
from manifests.study import Study
from prereg.access import LEVELS, Access, access, concerning
from prereg.amendment import Amendment, render
from prereg.block import DESIGN_INFO, find_block
from prereg.decisions import parse_decisions
from prereg.design import Design
from prereg.effective import changed_endpoints, effective_design, replaced, tables_of
from prereg.entries import entries_of, with_entry
from prereg.fences import Markdown
from prereg.freeze import clock
from prereg.git import GitError, Repository
from prereg.looking import HubListing, look
from prereg.registration import read_registration
from prereg.seals import FILE_NAME, Chain, Evidence, Seal, dumps, parse_chain
from prereg.search import Limits
from prereg.verify import verify
from prereg.witness import Witness


@dataclass(frozen=True, slots=True, kw_only=True)
class Amending:
    """What amend did. finished_interrupted: the seal was there already, only the text was missing."""

    seal: Seal
    finished_interrupted: bool


def amend(
    study: Path,
    amendment: Amendment,
    *,
    now: Callable[[], datetime] = clock,
    limits: Limits | None = None,
    hub: HubListing | None = None,
) -> Amending:
    """The amendment stands below the block and is sealed. Raises BeforehandError, and then nothing is written.

    One process amends at a time. What an earlier one left half done is finished first.
    """
    opened = Study.open(study)
    with locked(study / FILE_NAME):
        return _amend(opened, amendment, now=now, limits=limits, hub=hub)


def _amend(
    opened: Study,
    amendment: Amendment,
    *,
    now: Callable[[], datetime],
    limits: Limits | None,
    hub: HubListing | None,
) -> Amending:
    study = opened.root
    chain = _chain_in_order(study)
    if chain.seals and chain.seals[-1].id not in _written(opened):
        finished = _finish(opened, chain.seals[-1])
        if finished.seal.id == amendment.id:
            return finished
    registration = read_registration(opened.freeze_record_path)
    block = find_block(read_bytes(opened.registration_path), where=opened.registration_path.name)
    effective = effective_design(block, chain.seals)
    _check_names(amendment, chain, effective.in_force)
    moment = now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    latest = max((registration.frozen_at, *(seal.sealed_at for seal in chain.seals)))
    if moment < latest:
        what = f"the clock says {moment}, and the registration was last touched at {latest}"
        raise BeforehandError(what, where=str(study), mend="set the clock right")
    after = _design_after(amendment, chain, effective.in_force, block.design.content)
    touches = tuple(sorted({*amendment.touches, *changed_endpoints(effective.in_force, after)}))
    witness = look(opened, effective.in_force, limits=limits, hub=hub)
    seen = _seen(opened, after, touches, chain, (witness, *_frozen_witness(registration.witness)))
    stated = amendment.level or seen.level
    if LEVELS.index(stated) < LEVELS.index(seen.level):
        what = f"says that {stated} had been seen; the data say {seen.level}: {seen.reason}"
        raise BeforehandError(
            what, where=f"{amendment.id} level", mend="the level may be raised, never lowered"
        )
    text = render(
        amendment, day=moment[:10], touches=touches, seen=seen.level, stated=stated, why=seen.reason
    )
    seal = Seal(
        n=len(chain.seals) + 1,
        id=amendment.id,
        kind=amendment.kind,
        sealed_at=moment,
        touches=touches,
        confirms=amendment.confirms,
        text=text,
        evidence=_evidence(opened, after, touches, witness, seen=seen.level, stated=stated),
        prev=chain.seals[-1].hash if chain.seals else registration.record_sha256,
    )
    data = _document_with(opened, seal)
    write_atomically(study / FILE_NAME, dumps((*chain.seals, seal)))
    write_atomically(opened.registration_path, data)
    return Amending(seal=seal, finished_interrupted=False)


def seals_of(study: Path) -> Chain:
    """The seals of a frozen study, with what is wrong with them."""
    path = study / FILE_NAME
    registration = read_registration(Study.open(study).freeze_record_path)
    return parse_chain(read_bytes(path) if path.exists() else b"", root=registration.record_sha256)


def _chain_in_order(study: Path) -> Chain:
    """The seals of a study whose registration is unchanged and whose seals hold; a text still to be put back is no obstacle."""
    result = verify(study)
    if result.status != "unchanged":
        what = f"is {result.status.replace('_', ' ')}: only an unchanged registration is amended"
        raise NotInOrderError(what, where=str(study), mend="run beforehand prereg verify")
    chain = seals_of(study)
    written = _written(Study.open(study))
    amended = [one for one in result.findings if one.where.startswith(FILE_NAME) or "amendment" in one.what]
    unfinished = bool(chain.seals) and chain.seals[-1].id not in written and len(amended) == 1
    if chain.findings or (amended and not unfinished):
        raise FindingsError("has amendments that do not hold", tuple(amended), where=str(study))
    return chain


def _written(study: Study) -> tuple[str, ...]:
    entries, _ = entries_of(read_bytes(study.registration_path), where=study.registration_path.name)
    return tuple(entry.id for entry in entries)


def _finish(study: Study, seal: Seal) -> Amending:
    write_atomically(study.registration_path, _document_with(study, seal))
    return Amending(seal=seal, finished_interrupted=True)


def _check_names(amendment: Amendment, chain: Chain, design: Design) -> None:
    known = {seal.id: seal for seal in chain.seals}
    if amendment.id in known:
        mend = "give it a new id: what is sealed stays"
        raise BeforehandError(f"the id {amendment.id} is taken", where=amendment.id, mend=mend)
    missing = [
        name for name in amendment.touches if name not in design.endpoints and name not in _own(amendment)
    ]
    if missing:
        mend = f"endpoints: {', '.join(sorted(design.endpoints))}"
        raise BeforehandError(
            f"touches {missing[0]!r}, which is no endpoint", where=f"{amendment.id} touches", mend=mend
        )
    if any(seal.kind == "withdrawal" for seal in chain.seals):
        mend = "register anew: beforehand prereg freeze NEW_STUDY --succeeds THIS_STUDY"
        raise BeforehandError("comes after the registration was withdrawn", where=amendment.id, mend=mend)
    if amendment.confirms is not None:
        target = known.get(amendment.confirms)
        if target is None or target.kind != "proposal":
            what = f"confirms {amendment.confirms!r}, which is no sealed proposal"
            raise BeforehandError(what, where=f"{amendment.id} confirms", mend="name a proposal")
        if any(seal.confirms == target.id for seal in chain.seals):
            raise BeforehandError(f"{target.id} is in force already", where=f"{amendment.id} confirms")


def _own(amendment: Amendment) -> tuple[str, ...]:
    endpoints = amendment.tables().get("endpoints", {})
    return tuple(endpoints) if isinstance(endpoints, dict) else ()


def _design_after(amendment: Amendment, chain: Chain, design: Design, registered: bytes) -> Design:
    """The design that the amendment would put in force; a proposal's is checked as if it were."""
    tables = amendment.tables()
    if amendment.confirms is not None:
        tables = next(
            tables_of(one.text, where=one.id) for one in chain.seals if one.id == amendment.confirms
        )
    if not tables:
        return design
    raw = parse_toml(registered, where="design")
    for seal in chain.seals:
        if seal.kind != "proposal":
            source = next((one for one in chain.seals if one.id == seal.confirms), seal)
            raw = replaced(raw, tables_of(source.text, where=source.id), where=seal.id)
    return Design.from_mapping(replaced(raw, tables, where=amendment.id), where=f"amendment {amendment.id}")


def _seen(
    study: Study, design: Design, touches: tuple[str, ...], chain: Chain, witnesses: tuple[Witness, ...]
) -> Access:
    path = study.decisions_path
    log = parse_decisions(read_bytes(path), where=path.name).entries if path.exists() else ()
    names = touches or tuple(design.endpoints)
    return access(design, names, witnesses=witnesses, decisions=log, seals=chain.seals)


def _frozen_witness(document: object) -> tuple[Witness, ...]:
    return (Witness.read(document, where="registration.json"),) if isinstance(document, dict) else ()


def _evidence(
    study: Study, design: Design, touches: tuple[str, ...], witness: Witness, *, seen: str, stated: str
) -> Evidence:
    found = [one.kind for one in concerning(design, witness, touches or tuple(design.endpoints))]
    try:
        head: str | None = str(read_ledger(study.ledger_path, study_name=study.config.name).head)
    except BeforehandError:
        head = None
    try:
        commit = Repository.of(study.root).head()
    except GitError:
        commit = None
    return Evidence(
        seen=seen,
        stated=stated,
        generations=found.count("generations"),
        verdicts=found.count("verdicts") + found.count("rows"),
        bundles=found.count("bundle"),
        ledger_head=head,
        commit=commit,
    )


def _document_with(study: Study, seal: Seal) -> bytes:
    """The registration with the entry, held to be readable in the one intended way before it is written."""
    path = study.registration_path
    before = read_bytes(path)
    data = with_entry(before, seal.id, seal.text)
    if not _reads_the_same(before, data, seal, where=path.name):
        mend = "take marker lines, PREREG_SHA256 lines and unclosed code fences out of its text"
        raise BeforehandError("would change how the registration is read", where=seal.id, mend=mend)
    return data


def _reads_the_same(before: bytes, data: bytes, seal: Seal, *, where: str) -> bool:
    try:
        was, block = find_block(before, where=where), find_block(data, where=where)
    except FindingsError:
        return False
    entries, findings = entries_of(data, where=where)
    return (
        block.raw == was.raw
        and block.hash_lines == was.hash_lines
        and not findings
        and [(one.id, one.text) for one in entries[-1:]] == [(seal.id, seal.text)]
        and not Markdown.scan(data).lines[-1].fence
        and all(block.holds(fence) for fence in block.fences if fence.info.split() == DESIGN_INFO.split())
    )
