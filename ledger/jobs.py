"""What the platform says of its jobs: `hf jobs ps -a --json`, `hf jobs inspect --json`, or a CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from ledger.money import NUMBER
from manifests.errors import BeforehandError, Finding
from manifests.files import decode_utf8, read_bytes
from manifests.jsonfile import parse_json

TERMINAL = ("COMPLETED", "ERROR", "CANCELED", "DELETED")
LIVE = ("SCHEDULING", "RUNNING")
PS_LIMIT = 100
"""`hf jobs ps -a --json` prints this many rows at most and says so only on stderr."""
_STATUS_OF_WORD = {
    "completed": "completed",
    "error": "failed",
    "failed": "failed",
    "canceled": "canceled",
    "cancelled": "canceled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One job as the platform, or a table of charges, tells it; None where it says nothing."""

    job_id: str
    stage: str
    flavor: str = ""
    running_s: Decimal | None = None
    billed_minutes: int | None = None
    started: datetime | None = None
    finished: datetime | None = None
    exposed_ports: bool = False
    stated_usd: Decimal | None = None
    stated_total_usd: Decimal | None = None
    note: str = ""

    @property
    def is_terminal(self) -> bool:
        """The job will not run on. A stage that nobody defined counts as ended: it came from a table of charges."""
        return self.stage not in LIVE

    @property
    def status(self) -> str:
        """The ledger's word for how it ended, "" where the stage does not say."""
        return _STATUS_OF_WORD.get(self.stage.partition(" ")[0].lower(), "")

    @property
    def wall_clock_s(self) -> Decimal | None:
        """From start to finish, where the platform gives both times."""
        if self.started is None or self.finished is None or self.finished < self.started:
            return None
        return Decimal((self.finished - self.started).total_seconds()).quantize(Decimal("0.001"))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFile:
    """The jobs of a file and what is wrong with it."""

    jobs: tuple[JobRecord, ...]
    findings: tuple[Finding, ...]


def read_jobs(path: Path) -> JobFile:
    """The jobs of a JSON or CSV file; a record that cannot be read is a finding, a file that cannot be read raises."""
    data = read_bytes(path)
    if data.lstrip()[:1] in (b"[", b"{"):
        return _from_json(parse_json(data, where=str(path)), where=path.name)
    return _from_csv(decode_utf8(data, where=str(path)), where=path.name)


def _from_json(document: object, *, where: str) -> JobFile:
    records = document if isinstance(document, list) else [document]
    jobs: list[JobRecord] = []
    findings: list[Finding] = []
    for number, record in enumerate(records, start=1):
        try:
            jobs.append(_job(record))
        except ValueError as err:
            findings.append(Finding(where=f"{where}, record {number}", what=str(err)))
    if len(records) == PS_LIMIT and all(
        isinstance(record, dict) and isinstance(record.get("status"), str) for record in records
    ):
        what = f"holds exactly {PS_LIMIT} jobs, where `hf jobs ps` stops without an error: older jobs are probably missing"
        findings.append(
            Finding(where=where, what=what, mend="list them again with `hf jobs ps -a --json --limit 0`")
        )
    return JobFile(jobs=tuple(jobs), findings=(*findings, *_twice(jobs, where=where)))


def _job(record: object) -> JobRecord:
    if not isinstance(record, dict):
        raise ValueError("is not a job record")
    job_id = record.get("id", record.get("job_id"))
    status = record.get("status")
    stage = status.get("stage") if isinstance(status, dict) else status
    if not isinstance(job_id, str) or not job_id:
        raise ValueError("has no id")
    if stage not in (*TERMINAL, *LIVE):
        raise ValueError(f"job {job_id} has the unknown stage {stage!r}")
    durations = record.get("durations") or {}
    running_s = (
        _seconds(_either(durations, "running_secs", "runningSecs"), job_id)
        if isinstance(durations, dict)
        else None
    )
    expose = record.get("expose")
    return JobRecord(
        job_id=job_id,
        stage=str(stage),
        flavor=str(record.get("flavor") or ""),
        running_s=_known(running_s, str(stage)),
        started=_moment(_either(record, "started_at", "startedAt"), job_id),
        finished=_moment(_either(record, "finished_at", "finishedAt"), job_id),
        exposed_ports=bool(expose.get("ports")) if isinstance(expose, dict) else bool(expose),
    )


def _known(running_s: Decimal | None, stage: str) -> Decimal | None:
    """None for a canceled job's 0 seconds: some platforms report 0 whatever it really occupied."""
    return None if stage == "CANCELED" and running_s == 0 else running_s


def _either(record: Mapping[str, object], *names: str) -> object:
    return next((record[name] for name in names if record.get(name) is not None), None)


def _seconds(value: object, job_id: str) -> Decimal | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0 or value > 10**9:
        raise ValueError(f"job {job_id} ran {value!r} seconds")
    return Decimal(str(value)).quantize(Decimal("0.001"))


def _moment(value: object, job_id: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError as err:
        raise ValueError(f"job {job_id} has the time {value!r}") from err
    if moment.tzinfo is None:
        raise ValueError(f"job {job_id} has the time {value!r} without a zone")
    return moment.astimezone(UTC)


_CSV_NAMES = {
    "stage": ("stage", "stage_or_outcome", "status"),
    "running_s": ("running_seconds", "running_secs"),
    "billed_minutes": ("billed_minutes",),
    "stated_usd": ("cost_usd",),
    "stated_total_usd": ("cumulative_usd", "cumulative_usd_stated"),
    "started": ("started_at",),
    "finished": ("finished_at",),
}


def _from_csv(text: str, *, where: str) -> JobFile:
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    if "job_id" not in (reader.fieldnames or ()):
        mend = "the first line names the columns: job_id, flavor, stage, running_seconds, …"
        raise BeforehandError("has no column job_id", where=where, mend=mend)
    jobs: list[JobRecord] = []
    findings: list[Finding] = []
    try:
        for cells in reader:
            try:
                jobs.append(_csv_job({name: cell for name, cell in cells.items() if isinstance(cell, str)}))
            except ValueError as err:
                findings.append(Finding(where=f"{where}, line {reader.line_num}", what=str(err)))
    except csv.Error as err:
        raise BeforehandError(f"is not CSV: {err}", where=where) from err
    return JobFile(jobs=tuple(jobs), findings=(*findings, *_twice(jobs, where=where)))


def _csv_job(cells: Mapping[str, str]) -> JobRecord:
    found = {name: str(_either(cells, *columns) or "").strip() for name, columns in _CSV_NAMES.items()}
    job_id = cells["job_id"].strip()
    if not job_id:
        raise ValueError("has no job id")
    words = found["stage"].split()
    stage = words[0].upper() if words else ""
    minutes = _number(found["billed_minutes"], job_id)
    return JobRecord(
        job_id=job_id,
        stage=stage if stage in (*TERMINAL, *LIVE) else found["stage"],
        flavor=cells.get("flavor", "").strip(),
        running_s=_known(_number(found["running_s"], job_id), stage),
        billed_minutes=None if minutes is None else int(minutes),
        started=_moment(found["started"] or None, job_id),
        finished=_moment(found["finished"] or None, job_id),
        stated_usd=_number(found["stated_usd"], job_id),
        stated_total_usd=_number(found["stated_total_usd"], job_id),
        note=cells.get("note", ""),
    )


def _number(text: str, job_id: str) -> Decimal | None:
    if not text:
        return None
    if NUMBER.fullmatch(text) is None or text.startswith("-"):
        raise ValueError(f"job {job_id} has the number {text!r}")
    return Decimal(text)


def _twice(jobs: Sequence[JobRecord], *, where: str) -> tuple[Finding, ...]:
    ids = [job.job_id for job in jobs]
    return tuple(
        Finding(where=where, what=f"lists job {job_id} twice")
        for job_id in dict.fromkeys(ids)
        if ids.count(job_id) > 1
    )
