"""How long a ledger takes: verify 10,000 rows, append inside a process, 16 processes x 500 appends with some killed.

Run `python benchmarks/ledger.py` from the repository root; exit code 1 when a limit is missed.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ledger.book import Book, read_ledger
from ledger.budget import balance
from ledger.chain import Head, genesis, link
from ledger.entries import Entry, format_line, format_row
from ledger.layout import empty_ledger
from ledger.money import charge

STUDY = "bench"
VERIFY_LIMIT_S = 0.6
APPEND_LIMIT_S = 0.010


def booking(job_id: str) -> Entry:
    """A booking as a campaign makes it."""
    seconds, rate = Decimal(3600), Decimal("2.50")
    return Entry(
        seq=1,
        time_utc=datetime(2024, 8, 26, 12, tzinfo=UTC),
        kind="book",
        phase="P5b",
        job_id=job_id,
        attempt=1,
        unit="student-r1-ckpt100.aime24.curve8",
        flavor="a100-large",
        seconds=seconds,
        rate_usd_per_h=rate,
        rate_date=date(2026, 8, 22),
        billing="minute",
        basis="running",
        amount_usd=charge(seconds=seconds, rate_usd_per_h=rate, billing="minute"),
        outcome="completed unit",
        note="relaunched after a time-out, see the decision log",
    )


def write_ledger(path: Path, rows: int) -> None:
    """A ledger of so many bookings."""
    head = genesis(STUDY)
    lines = []
    for number in range(rows):
        row = link(booking(f"6a8d7e7a{number:016x}"), head)
        head = Head(row.seq, row.hash)
        lines.append(format_line(format_row(row)))
    path.write_bytes(empty_ledger() + "".join(lines).encode())


def time_verify(path: Path, repeats: int = 7) -> tuple[float, float]:
    """Fastest and median seconds of reading and verifying the whole file; the fastest has the least of other processes in it."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        ledger = read_ledger(path, study_name=STUDY)
        times.append(time.perf_counter() - start)
        assert not ledger.findings
    return min(times), median(times)


def time_append(path: Path, appends: int = 200) -> tuple[float, float]:
    """Median and worst seconds of an append, fsync included, by a process that has the ledger open."""
    book = Book(path, study_name=STUDY)
    book.append(booking("warm-up"))
    times = []
    for number in range(appends):
        start = time.perf_counter()
        book.append(booking(f"timed-{number}"))
        times.append(time.perf_counter() - start)
    return median(times), max(times)


def append_many(path: Path, acknowledged: Path, worker: int, count: int) -> None:
    """Append, and note each row only after its append returned."""
    book = Book(path, study_name=STUDY)
    with acknowledged.open("w", buffering=1, encoding="utf-8") as stream:
        for number in range(count):
            book.append(booking(f"w{worker}-{number}"))
            stream.write(f"w{worker}-{number}\n")


def crash_test(folder: Path, *, workers: int, appends: int, killed: int) -> str:
    """Kill some of many writers with SIGKILL at random moments, then hold the ledger against what they noted."""
    path = folder / "crash.csv"
    path.write_bytes(empty_ledger())
    fork = multiprocessing.get_context("fork")
    acks = [folder / f"ack-{number}" for number in range(workers)]
    processes = [
        fork.Process(target=append_many, args=(path, ack, number, appends)) for number, ack in enumerate(acks)
    ]
    start = time.perf_counter()
    for process in processes:
        process.start()
    chooser = random.Random()
    for number in chooser.sample(range(workers), killed):
        enough = chooser.randint(1, appends // 2)
        while not acks[number].exists() or acks[number].read_bytes().count(b"\n") < enough:
            time.sleep(0.001)
        os.kill(processes[number].pid or 0, signal.SIGKILL)
    for process in processes:
        process.join()
    seconds = time.perf_counter() - start
    noted = {line for ack in acks for line in ack.read_text(encoding="utf-8").split("\n")[:-1]}
    ledger = read_ledger(path, study_name=STUDY)
    booked = {entry.job_id for entry in ledger.entries}
    lost = noted - booked
    whole = {finding.where for finding in ledger.findings} <= {"the last line"}
    right = balance(ledger.entries).spent_usd == len(ledger.entries) * Decimal("2.50")
    once = len(booked) == len(ledger.entries) <= len(noted) + killed
    if lost or not (whole and right and once):
        raise SystemExit(
            f"lost {sorted(lost)}, chain whole: {whole}, total right: {right}, each row once: {once}"
        )
    return f"{workers} processes x {appends}, {killed} killed: {len(noted)} noted, {len(booked)} booked, none lost, {seconds:.1f} s"


def main() -> None:
    """Measure, print, and fail where a limit is missed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "ledger.csv"
        write_ledger(path, 10_000)
        verify_s, verify_median_s = time_verify(path)
        append_s, worst_s = time_append(path)
        print(
            f"verify 10,000 rows: {verify_s:.3f} s fastest, {verify_median_s:.3f} s median (limit {VERIFY_LIMIT_S} s)"
        )
        print(
            f"append to 10,000 rows: {append_s * 1000:.2f} ms median, {worst_s * 1000:.2f} ms worst (limit {APPEND_LIMIT_S * 1000:.0f} ms)"
        )
        print(crash_test(folder, workers=16, appends=500, killed=6))
    if verify_s > VERIFY_LIMIT_S or append_s > APPEND_LIMIT_S:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
