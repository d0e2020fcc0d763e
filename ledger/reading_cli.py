"""Commands that read the ledger and write nothing."""

from __future__ import annotations

from pathlib import Path

import click

from ledger import budget
from ledger import gate as gates
from ledger.book import BrokenLedgerError, Ledger, read_ledger
from ledger.cells import KINDS, STATUSES
from ledger.chain import Head, check_head
from ledger.export import to_beancount, to_csv
from ledger.money import ZERO, parse_usd, shown, stored
from ledger.place import find_ledger
from ledger.render import balance_document, balance_findings, balance_text, entry_document
from ledger.reservations import open_reservations, reservation_findings
from ledger.show import COLUMNS, NUMERIC, Filter, cells, select
from manifests.console import Outcome, reporting, table
from manifests.errors import BeforehandError
from manifests.files import write_atomically

STUDY = click.argument("study", type=click.Path(exists=True, file_okay=False, path_type=Path))


def read_study(study: Path) -> Ledger:
    """The ledger of the study folder, with its findings."""
    place = find_ledger(study)
    return read_ledger(place.path, study_name=place.study_name)


@click.command("balance")
@STUDY
@reporting
def balance(study: Path) -> Outcome:
    """Spent, reserved and left, cap by cap; exit code 1 when a cap is passed or the ledger is not whole."""
    ledger = read_study(study)
    standing = budget.balance(ledger.entries)
    return Outcome(
        text=balance_text(standing, ledger.head, open_reservations(ledger.entries)),
        document=balance_document(standing, ledger.head),
        findings=(
            *ledger.findings,
            *balance_findings(standing),
            *reservation_findings(ledger.entries),
        ),
    )


@click.command("gate")
@STUDY
@click.option(
    "--high", required=True, metavar="USD", help="The high estimate of what is about to be launched."
)
@click.option("--phase", default="", help="Its phase.")
@click.option("--job", "job_id", default="", help="Its job id, for a further attempt.")
@reporting
def gate(study: Path, high: str, phase: str, job_id: str) -> Outcome:
    """May this be launched? Spent + reserved + high against every cap that applies; exit code 0 or 1."""
    ledger = read_study(study)
    held = gates.gate(ledger.entries, high_usd=parse_usd(high, where="--high"), phase=phase, job_id=job_id)
    findings = (*ledger.findings, *held.findings)
    verdict = "the gate is closed" if findings else "the gate is open"
    lines = [
        {
            "cap": line.cap_name,
            "cap_usd": stored(line.cap_usd),
            "spent_usd": stored(line.spent_usd),
            "reserved_usd": stored(line.reserved_usd),
            "high_usd": stored(line.high_usd),
            "left_usd": stored(line.left_usd),
        }
        for line in held.lines
    ]
    return Outcome(
        text="\n".join([*(str(line) for line in held.lines), verdict]),
        document={"open": not findings, "caps": lines},
        findings=findings,
    )


@click.command("verify")
@STUDY
@click.option(
    "--head", "heads", multiple=True, metavar="SEQ:HASH", help="A head noted elsewhere; finds a cut tail."
)
@reporting
def verify(study: Path, heads: tuple[str, ...]) -> Outcome:
    """Find every edited, missing, re-ordered or torn row; with --head, a cut tail too."""
    place = find_ledger(study)
    ledger = read_ledger(place.path, study_name=place.study_name)
    cut = [
        finding
        for text in heads
        for finding in check_head(ledger.entries, Head.parse(text), study_name=place.study_name)
    ]
    findings = (*ledger.findings, *cut)
    count = f"{len(ledger.entries)} row{'' if len(ledger.entries) == 1 else 's'}"
    verdict = (
        f"{count}, the chain holds"
        if not findings
        else f"{count}, {len(findings)} finding{'' if len(findings) == 1 else 's'}"
    )
    return Outcome(
        text=f"{verdict}; head {ledger.head}",
        document={"rows": len(ledger.entries), "head": str(ledger.head), "whole": not findings},
        findings=findings,
    )


@click.command("show")
@STUDY
@click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True)
@click.option("--phase", "phases", multiple=True)
@click.option("--flavor", "flavors", multiple=True)
@click.option("--job", "jobs", multiple=True, help="Its first characters are enough.")
@click.option("--unit", "units", multiple=True)
@click.option("--outcome", "statuses", type=click.Choice(STATUSES), multiple=True)
@reporting
def show(*, study: Path, **conditions: tuple[str, ...]) -> Outcome:
    """The rows as a table, with a running total of those shown."""
    ledger = read_study(study)
    rows = select(ledger.entries, Filter(**conditions))
    spent = rows[-1].running_usd if rows else ZERO
    summary = f"{len(rows)} of {len(ledger.entries)} rows, {shown(spent)} USD spent in them"
    drawn = table(COLUMNS, [cells(row) for row in rows], numeric=NUMERIC)
    return Outcome(
        text=f"{drawn}\n\n{summary}" if rows else summary,
        document={
            "rows": [entry_document(row.entry) | {"running_usd": stored(row.running_usd)} for row in rows],
            "spent_usd": stored(spent),
        },
        findings=ledger.findings,
    )


@click.command("export")
@STUDY
@click.option("--csv", "form", flag_value="csv", help="For a spreadsheet.")
@click.option("--beancount", "form", flag_value="beancount", help="For beancount 2 or 3.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="The file to write; default: the terminal."
)
@reporting
def export(*, study: Path, form: str | None, out: Path | None) -> Outcome:
    """Write the ledger for accountants. A ledger that is not whole is not exported."""
    if form is None:
        raise BeforehandError("no form is named", where="ledger export", mend="add --csv or --beancount")
    place = find_ledger(study)
    ledger = read_ledger(place.path, study_name=place.study_name)
    if ledger.findings:
        mend = "see `beforehand ledger verify`"
        raise BrokenLedgerError(
            "is not whole, so it is not exported", ledger.findings, where=str(place.path), mend=mend
        )
    text = (
        to_csv(ledger.entries) if form == "csv" else to_beancount(ledger.entries, study_name=place.study_name)
    )
    if out is None:
        return Outcome(text=text.rstrip("\n"), document={"form": form, "text": text})
    write_atomically(out, text.encode())
    said = f"wrote {out}: {len(ledger.entries)} rows, head {ledger.head}"
    return Outcome(text=said, document={"form": form, "path": str(out), "head": str(ledger.head)})
