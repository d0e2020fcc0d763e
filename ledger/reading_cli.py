"""Commands that read the ledger and write nothing."""

from __future__ import annotations

from pathlib import Path

import click

from ledger import budget
from ledger import gate as gates
from ledger.book import Ledger, read_ledger
from ledger.chain import Head, check_head
from ledger.money import parse_usd, stored
from ledger.place import find_ledger
from ledger.render import balance_document, balance_findings, balance_text
from manifests.console import Outcome, reporting

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
        text=balance_text(standing, ledger.head),
        document=balance_document(standing, ledger.head),
        findings=(*ledger.findings, *balance_findings(standing)),
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
