"""The command that holds the ledger against what the platform says."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import click

from ledger.appending import moment
from ledger.book import Book, Ledger
from ledger.counters import counter_findings, read_counter, read_counter_values
from ledger.entries import Entry
from ledger.jobs import JobFile, JobRecord, read_jobs
from ledger.money import stored
from ledger.place import find_ledger
from ledger.prices import parse_day, priced, rate_tables
from ledger.reading_cli import STUDY, read_study
from ledger.reconcile import Reconciliation, reconcile
from ledger.render import entry_document, entry_sentence
from ledger.writing_cli import PHASE
from manifests.console import Outcome, reporting
from manifests.errors import BeforehandError, Finding

EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("reconcile")
@STUDY
@click.option(
    "--jobs",
    "jobs_path",
    type=EXISTING_FILE,
    help="`hf jobs ps -a --json --limit 0`, `hf jobs inspect --json`, or CSV.",
)
@click.option(
    "--append", "do_append", is_flag=True, help="Book the ended jobs that are missing, at the dated rates."
)
@PHASE
@click.option("--rates", "rates_path", type=EXISTING_FILE, help="A file of rates of your own.")
@click.option("--rate-date", metavar="DATE", help="Take the rates of this day for every appended row.")
@click.option(
    "--counter",
    "counter_path",
    type=EXISTING_FILE,
    help="A log with a cumulative counter, JSON or JSON lines.",
)
@click.option(
    "--field", default="cost", show_default=True, help="The counter's field, dots inwards: usage_so_far.cost."
)
@reporting
def reconcile_command(
    *,
    study: Path,
    jobs_path: Path | None,
    do_append: bool,
    phase: str,
    rates_path: Path | None,
    rate_date: str | None,
    counter_path: Path | None,
    field: str,
) -> Outcome:
    """Jobs missing from the ledger, rows without a job, differing durations, units without a row, counters that restart."""
    ledger = read_study(study)
    if jobs_path is None and counter_path is None:
        raise BeforehandError(
            "nothing to hold the ledger against", where="ledger reconcile", mend="give --jobs or --counter"
        )
    counted = (
        ()
        if counter_path is None
        else counter_findings(read_counter(read_counter_values(counter_path, field)), where=counter_path.name)
    )
    if jobs_path is None:
        return Outcome(
            text=f"the counter of {counter_path}", document={}, findings=(*ledger.findings, *counted)
        )
    told = read_jobs(jobs_path)
    if do_append:
        day = None if rate_date is None else parse_day(rate_date)
        return _append(study, told, phase=phase, rates_path=rates_path, rate_day=day)
    held = reconcile(ledger.entries, told.jobs, units=_units(study))
    return Outcome(
        text=str(held),
        document=_document(held),
        findings=(*ledger.findings, *told.findings, *held.findings, *counted),
    )


def _append(
    study: Path, told: JobFile, *, phase: str, rates_path: Path | None, rate_day: date | None
) -> Outcome:
    """Book what is missing, then say what is still found."""
    place = find_ledger(study)
    unpriced: list[Finding] = []
    now = moment(None)

    def plan(ledger: Ledger) -> Sequence[Entry]:
        rows: list[Entry] = []
        for job in reconcile(ledger.entries, told.jobs).missing:
            try:
                row = _booking(
                    job, ledger.entries, phase=phase, rates_path=rates_path, rate_day=rate_day, now=now
                )
            except BeforehandError as err:
                unpriced.append(Finding(where=f"job {job.job_id}", what=str(err)))
                continue
            rows += [row] if row is not None else []
        return rows

    rows = Book(place.path, study_name=place.study_name).append_planned(plan)
    held = reconcile(read_study(study).entries, told.jobs, units=_units(study))
    return Outcome(
        text="\n".join([*(entry_sentence(row) for row in rows), f"{len(rows)} rows appended", str(held)]),
        document={**_document(held), "appended": [entry_document(row) for row in rows]},
        findings=(*told.findings, *held.findings, *unpriced),
    )


def _booking(
    job: JobRecord,
    entries: Sequence[Entry],
    *,
    phase: str,
    rates_path: Path | None,
    rate_day: date | None,
    now: datetime,
) -> Entry | None:
    """The row for a job that ended, or None where no duration is known: that cost is unknown, not zero."""
    from ledger.rates import find_rate  # noqa: PLC0415 - its models cost 100 ms that a mere comparison saves

    if not job.status:
        what = f"ended as {job.stage!r}, which is not completed, failed or canceled"
        raise BeforehandError(what, mend="book it by hand: `ledger book --outcome`")
    seconds = job.running_s if job.running_s is not None else job.wall_clock_s
    if seconds is None:
        return None
    when = min(job.finished or now, now).replace(microsecond=0)
    rate = find_rate(
        rate_tables(rates_path), job.flavor, day=rate_day or when.date(), exposed_ports=job.exposed_ports
    )
    price = priced(seconds, rate.usd_per_h, rate_date=rate.date, billing=rate.billing)
    reserved = next(
        (entry for entry in entries if entry.kind == "reserve" and entry.job_id == job.job_id), None
    )
    return Entry(
        seq=1,
        time_utc=when,
        kind="book",
        phase=phase or (reserved.phase if reserved else ""),
        job_id=job.job_id,
        attempt=1,
        unit=reserved.unit if reserved else "",
        flavor=job.flavor,
        seconds=price.seconds,
        rate_usd_per_h=price.rate_usd_per_h,
        rate_date=price.rate_date,
        billing=price.billing,
        basis="running" if job.running_s is not None else "occupancy",
        amount_usd=price.amount_usd,
        outcome=job.status,
        note=f"appended by reconcile, stage {job.stage}",
    )


def _units(study: Path) -> tuple[str, ...] | None:
    """Ids of the unit records that the study holds; None where it has none yet."""
    folder = study / "manifests"
    return tuple(sorted(path.stem for path in folder.glob("*.json"))) if folder.is_dir() else None


def _document(held: Reconciliation) -> dict[str, object]:
    return {
        "jobs": held.jobs,
        "missing": [job.job_id for job in held.missing],
        "live": [job.job_id for job in held.live],
        "platform_usd": stored(held.platform_usd),
        "wall_clock_usd": stored(held.wall_clock_usd),
        "unlisted_usd": stored(held.unlisted_usd),
        "ledger_usd": stored(held.ledger_usd or Decimal(0)),
    }
