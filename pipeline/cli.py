"""`beforehand units`: import, list and check; its other commands are added from their own modules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from manifests.console import Outcome, note, reporting, table
from manifests.documents import read_toml_document
from manifests.errors import BeforehandError, Finding, FindingsError
from manifests.importers.mapping import RowMap, describe
from manifests.names import UnitId
from manifests.records import UnitRecord
from manifests.roster import RosterEntry, roster
from manifests.stores import Store, load_record, open_store
from manifests.study import Study
from pipeline.checking import GROUPS, audit_units
from pipeline.hub_cli import PINS, TOKENIZERS, check_against_hub, pull, push
from pipeline.importing import Source, import_unit
from pipeline.regrading_cli import regrade_command
from prereg.planned import design_in_force

STUDY = click.argument("study", type=click.Path(path_type=Path))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def units() -> None:
    """Import, list, check, regrade, push and pull evaluation units."""


@units.command("import")
@STUDY
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--unit",
    "unit_text",
    required=True,
    metavar="ID",
    help="system.benchmark.protocol, as the design plans it.",
)
@click.option(
    "--map",
    "map_path",
    type=click.Path(path_type=Path),
    help="A map/1 file; without it common names are tried.",
)
@reporting
def import_command(study: Path, files: tuple[str, ...], unit_text: str, map_path: Path | None) -> Outcome:
    """Turn logs (JSONL, lm-eval, Inspect) into rows and a unit record.

    A FILE may be written SAMPLING=FILE, where the protocol has several samplings and the log does not name its own.
    """
    row_map = None if map_path is None else read_toml_document(RowMap, map_path)
    sources = [Source.parse(text) for text in files]
    done = import_unit(Study.open(study), UnitId.parse(unit_text, where="--unit"), sources, row_map=row_map)
    for part in done.sources:
        note(f"{part.name}: read by {part.importer}")
        if part.guessed and part.row_map is not None:
            note(f"{part.name}: guessed from its field names: {describe(part.row_map)}")
        if part.tally.n_left_out:
            note(f"{part.name}: {part.tally.n_read} rows read, {part.tally.n_left_out} left out")
        for sentence in part.facts.notes:
            note(f"{part.name}: {sentence}")
    for sentence in done.record.deviations:
        note(f"deviation: {sentence}")
    lines = [f"{done.record.unit}: {'written' if done.written else 'was there already, unchanged'}"]
    lines += [
        f"  {name}: {counts.got} of {counts.planned} planned rows, {counts.judged} judged, {counts.correct} correct"
        for name, counts in done.record.counts.items()
    ]
    lines += [
        f"  incomplete: {name} lacks {counts.planned - counts.got} rows"
        for name, counts in done.record.counts.items()
        if counts.got < counts.planned
    ]
    return Outcome(
        text="\n".join(lines),
        document={
            "unit": done.record.unit,
            "written": done.written,
            "record": done.record.model_dump(mode="json"),
        },
    )


@units.command("list")
@STUDY
@reporting
def list_command(study: Path) -> Outcome:
    """Show every planned unit: found, pending, skipped, canceled or substituted."""
    opened = Study.open(study)
    store = open_store(opened, offline=True)
    planned = [entry.unit for entry in design_in_force(opened.root).planned_units()]
    entries = roster(planned, store.unit_ids(), opened.config.roster)
    loaded = {entry.unit: _loaded(store, entry.unit) for entry in entries if entry.status == "found"}
    rows = [
        [str(entry.unit), entry.status, *cells]
        for entry in entries
        for cells in _cells(entry, loaded.get(entry.unit))
    ]
    numbers = ["Rows planned", "Got", "Judged", "Correct"]
    return Outcome(
        text=table(["Unit", "Status", "Sampling", *numbers, "Verdicts", "Why"], rows, numeric=numbers)
        if rows
        else "the design plans no unit",
        document={"units": [_entry_document(entry, loaded.get(entry.unit)) for entry in entries]},
    )


@units.command("check")
@STUDY
@PINS
@TOKENIZERS
@reporting
def check_command(study: Path, tokenizers: tuple[tuple[str, str], ...], *, pins: bool) -> Outcome:
    """Audit every unit: bytes, plan, keys, coverage, tokens, samples, and what its siblings say.

    With --pins or --tokenizers, ask the Hub instead: does every pinned revision exist, and are two tokenizers compatible?
    """
    opened = Study.open(study)
    if pins or tokenizers:
        return check_against_hub(opened, tokenizers)
    found = audit_units(opened)
    units_there = open_store(opened, offline=True).unit_ids()
    totals = Counter(one.group for one in found)
    told = ", ".join(f"{group} {totals[group]}" for group in GROUPS if totals[group])
    return Outcome(
        text=f"{len(units_there)} units checked, "
        + (f"{len(found)} findings: {told}" if found else "no findings"),
        document={
            "units": [str(unit) for unit in units_there],
            "groups": [one.group for one in found],
        },
        findings=tuple(
            Finding(where=f"[{one.group}] {one.finding.where}", what=one.finding.what, mend=one.finding.mend)
            for one in found
        ),
    )


units.add_command(regrade_command)
units.add_command(push)
units.add_command(pull)


Loaded = tuple[UnitRecord, str] | BeforehandError
"""A record and its digest, or why it cannot be read."""


def _loaded(store: Store, unit: UnitId) -> Loaded:
    try:
        return load_record(store, unit)
    except BeforehandError as err:
        return err


def _why(err: BeforehandError) -> str:
    """The error in one line; its first finding says more than its head."""
    return (
        f"{err.what}: {err.findings[0].what}" if isinstance(err, FindingsError) and err.findings else err.what
    )


def _cells(entry: RosterEntry, loaded: Loaded | None) -> list[list[str]]:
    """One line a sampling; a unit that is not there, or cannot be read, has one, with the reason."""
    if loaded is None:
        return [["", "", "", "", "", "", f"{entry.reason} ({entry.decision})" if entry.reason else ""]]
    if isinstance(loaded, BeforehandError):
        return [["", "", "", "", "", "", f"cannot be read: {_why(loaded)}"]]
    record, _ = loaded
    taken = record.origin.kind == "import" and not record.origin.regraded
    verdicts = "the log's, not regraded" if taken else ""
    return [
        [name, str(counts.planned), str(counts.got), str(counts.judged), str(counts.correct), verdicts, ""]
        for name, counts in record.counts.items()
    ]


def _entry_document(entry: RosterEntry, loaded: Loaded | None) -> dict[str, object]:
    document: dict[str, object] = {
        "unit": str(entry.unit), "status": entry.status, "reason": entry.reason, "decision": entry.decision
    }  # fmt: skip
    if isinstance(loaded, BeforehandError):
        document["error"] = {"where": loaded.where, "what": _why(loaded), "mend": loaded.mend}
    elif loaded is not None:
        record, sha256 = loaded
        document["record_sha256"] = sha256
        document["counts"] = {name: counts.model_dump(mode="json") for name, counts in record.counts.items()}
    return document
