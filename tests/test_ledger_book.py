"""Appending: no row is lost after its command returned, whatever is killed, cut, locked or full."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import signal
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from ledger_rows import NOON, STUDY, booking, cap, correction, file_of, ledger_file, release, reserve

from ledger.book import Book, BrokenLedgerError, read_ledger
from ledger.budget import balance
from ledger.entries import Entry
from ledger.lock import lock_path, locked
from manifests.errors import BeforehandError, FindingsError

FORK = multiprocessing.get_context("fork")


def open_book(path, **settings):
    return Book(path, study_name=STUDY, **settings)


def read(path):
    return read_ledger(path, study_name=STUDY)


def test_rows_appended_one_by_one_are_the_file_written_at_once(tmp_path):
    path = ledger_file(tmp_path)
    book = open_book(path)
    for entry in (cap("5"), booking("a"), booking("b")):
        book.append(entry)
    assert file_of(cap("5"), booking("a"), booking("b")) == path.read_bytes()


def test_two_open_books_see_each_others_rows(tmp_path):
    path = ledger_file(tmp_path)
    first, second = open_book(path), open_book(path)
    first.append(booking("a"))
    second.append(booking("b"))
    first.append(booking("c"))
    assert (["a", "b", "c"], ()) == ([entry.job_id for entry in read(path).entries], read(path).findings)


def test_the_same_job_and_attempt_is_refused_the_second_time_and_a_second_attempt_is_its_own_row(tmp_path):
    path = ledger_file(tmp_path, booking("a"))
    with pytest.raises(FindingsError) as caught:
        open_book(path).append(booking("a", seconds="60"))
    assert (2, "row 1 is its booking") == (caught.value.exit_code, str(caught.value)[-20:])
    open_book(path).append(booking("a", attempt=2))
    assert [1, 2] == [entry.attempt for entry in read(path).entries]


def test_rows_appended_together_are_all_refused_when_one_is(tmp_path):
    path = ledger_file(tmp_path)
    with pytest.raises(FindingsError):
        open_book(path).append(booking("a"), booking("b"), booking("a"))
    assert file_of() == path.read_bytes()


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (booking("a", amount_usd=Decimal("9.99")), "seconds, rate and billing give 2.500000"),
        (booking("a", seconds="-1"), "negative"),
        (booking(""), "must fill job_id"),
        (booking("a", basis="stated", rate="-1", amount_usd=Decimal(1)), "negative rate"),
        (booking("a", basis=""), "must fill basis"),
        (booking("a", outcome=""), "must fill outcome"),
        (cap("-1"), "negative amount"),
        (cap("1", note=""), "must fill note"),
        (cap("1", scope="phase"), "must name the phase"),
        (cap("1", phase="P4"), "may name neither a phase nor a job"),
        (release("1", of=1), "not an open reservation"),
        (
            Entry(seq=1, time_utc=NOON, kind="import", unit="a.b.c", note="from x", amount_usd=Decimal(1)),
            "imports a unit at a price",
        ),
        (correction("1", of=7), "not a booking"),
        (booking("a" * 500), "job_id"),
        (booking("a", note="=1+1"), "formula"),
    ],
)
def test_a_row_that_says_what_no_row_may_say_is_refused_and_nothing_is_written(tmp_path, entry, reason):
    path = ledger_file(tmp_path)
    with pytest.raises(FindingsError, match=reason):
        open_book(path).append(entry)
    assert file_of() == path.read_bytes()


def test_a_reservation_is_released_at_most_once_and_at_most_whole(tmp_path):
    book = open_book(ledger_file(tmp_path, reserve("5")))
    with pytest.raises(FindingsError, match=r"where 5\.000000 are reserved"):
        book.append(release("5.01", of=1))
    book.append(release("2", of=1))
    book.append(release("3", of=1))
    with pytest.raises(FindingsError, match="not an open reservation"):
        book.append(release("0", of=1))


def test_a_release_stays_in_the_phase_and_job_of_its_reservation(tmp_path):
    book = open_book(ledger_file(tmp_path, reserve("5", phase="P4", job_id="j1")))
    for wrong in ({"phase": "P5", "job_id": "j1"}, {"phase": "P4", "job_id": "j2"}):
        with pytest.raises(FindingsError, match="another phase or job"):
            book.append(release("5", of=1, **wrong))


def test_a_correction_cannot_take_back_more_than_was_booked(tmp_path):
    book = open_book(ledger_file(tmp_path, booking("job-1")))
    book.append(correction("-2.50", of=1))
    with pytest.raises(FindingsError, match=r"would leave row 1 at -0\.01"):
        book.append(correction("-0.01", of=1))


def test_a_correction_of_another_attempt_is_refused(tmp_path):
    with pytest.raises(FindingsError, match="another job or attempt"):
        open_book(ledger_file(tmp_path, booking("job-1"))).append(correction("1", of=1, attempt=2))


@pytest.mark.parametrize("change", [(b"3600", b"7200"), (b"wall", b"mall")])
@pytest.mark.parametrize("warm", [False, True])
def test_nothing_is_appended_to_a_broken_chain_even_by_a_process_that_saw_it_whole(tmp_path, warm, change):
    path = ledger_file(tmp_path, booking("a", note="wall clock"), booking("b"))
    book = open_book(path)
    if warm:
        book.append(booking("c"))
    edited = path.read_bytes().replace(*change, 1)
    path.write_bytes(edited)
    with pytest.raises(BrokenLedgerError) as caught:
        book.append(booking("d"))
    assert (1, edited) == (caught.value.exit_code, path.read_bytes())
    assert any("was changed after it was written" in finding.what for finding in caught.value.findings)


def test_a_tail_cut_behind_the_back_of_an_open_book_stops_its_next_append(tmp_path):
    path = ledger_file(tmp_path, booking("a"))
    book = open_book(path)
    book.append(booking("b"))
    path.write_bytes(file_of(booking("a")))
    with pytest.raises(BrokenLedgerError, match="its tail was cut"):
        book.append(booking("c"))
    path.write_bytes(file_of(booking("a"), booking("b")))
    book.append(booking("c"))
    assert [1, 2, 3] == [entry.seq for entry in read(path).entries]


def test_a_torn_tail_is_dropped_and_counted_by_the_next_append(tmp_path):
    path = ledger_file(tmp_path, booking("a"))
    whole = path.read_bytes()
    path.write_bytes(file_of(booking("a"), booking("torn"))[:-30])
    torn = len(path.read_bytes()) - len(whole)
    book = open_book(path)
    book.append(booking("b"))
    assert (file_of(booking("a"), booking("b")), torn) == (path.read_bytes(), book.dropped_bytes)


def test_a_whole_last_row_that_lost_only_its_line_end_is_kept(tmp_path):
    path = ledger_file(tmp_path, booking("a"), booking("b"))
    path.write_bytes(path.read_bytes()[:-1])
    open_book(path).append(booking("c"))
    assert file_of(booking("a"), booking("b"), booking("c")) == path.read_bytes()


def test_a_refused_append_after_a_lost_line_end_leaves_the_book_usable(tmp_path):
    path = ledger_file(tmp_path, booking("a"), booking("b"))
    path.write_bytes(path.read_bytes()[:-1])
    book = open_book(path)
    with pytest.raises(FindingsError):
        book.append(booking("a"))
    assert file_of(booking("a"), booking("b"))[:-1] == path.read_bytes()
    book.append(booking("c"))
    assert file_of(booking("a"), booking("b"), booking("c")) == path.read_bytes()


def test_a_time_in_the_future_and_a_clock_that_went_back_are_refused(tmp_path):
    path = ledger_file(tmp_path, booking("a"))
    with pytest.raises(FindingsError, match="lies in the future"):
        open_book(path).append(booking("b", time_utc=datetime.now(UTC) + timedelta(hours=1)))
    with pytest.raises(FindingsError, match="the last row was written at 2024-08-26T12:00:00Z"):
        open_book(path, now=lambda: NOON - timedelta(days=1)).append(
            booking("b", time_utc=NOON - timedelta(days=2))
        )
    assert file_of(booking("a")) == path.read_bytes()


def test_a_job_that_ended_earlier_may_be_booked_late(tmp_path):
    path = ledger_file(tmp_path, booking("a"))
    open_book(path).append(booking("b", time_utc=NOON - timedelta(days=3)))
    assert () == read(path).findings


def test_a_missing_ledger_is_an_error_and_is_not_made(tmp_path):
    with pytest.raises(BeforehandError, match="does not exist"):
        open_book(tmp_path / "ledger.csv").append(booking("a"))
    assert [] == list(tmp_path.iterdir())


def test_a_lock_held_by_another_process_ends_in_a_clear_error(tmp_path):
    path = ledger_file(tmp_path)
    with locked(path), pytest.raises(BeforehandError, match=r"locked by another process for 0\.05 s"):
        open_book(path).append(booking("a"), wait_s=0.05)
    assert file_of() == path.read_bytes()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EIO, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_refused(tmp_path, monkeypatch, code):
    import fcntl

    def no_locks(*_):
        raise OSError(code, os.strerror(code))

    path = ledger_file(tmp_path)
    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(BeforehandError, match="cannot be locked"):
        open_book(path).append(booking("a"))
    assert file_of() == path.read_bytes()


def test_a_full_disk_leaves_the_ledger_as_it_was(tmp_path, monkeypatch):
    path = ledger_file(tmp_path, booking("a"))
    real_write = os.write

    def half_then_full(descriptor, data):
        if len(data) < 60:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real_write(descriptor, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half_then_full)
    with pytest.raises(BeforehandError, match="No space left"):
        open_book(path).append(booking("b"))
    assert file_of(booking("a")) == path.read_bytes()


@pytest.mark.parametrize("refusing", ["open", "fsync"])
def test_a_read_only_or_failing_disk_is_a_clear_error(tmp_path, monkeypatch, refusing):
    path = ledger_file(tmp_path, booking("a"))
    real_open = os.open

    def read_only(target, flags, *args, **kwargs):
        if os.fspath(target) == os.fspath(path) and flags & os.O_WRONLY:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real_open(target, flags, *args, **kwargs)

    def failing(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, refusing, read_only if refusing == "open" else failing)
    with pytest.raises(BeforehandError, match="cannot be written"):
        open_book(path).append(booking("b"))
    monkeypatch.undo()
    assert file_of(booking("a")) == path.read_bytes()


def test_the_lock_file_stands_beside_the_ledger(tmp_path):
    path = ledger_file(tmp_path)
    open_book(path).append(booking("a"))
    assert (tmp_path / ".ledger.csv.lock") == lock_path(path)


def append_many(path, acknowledged, worker, count):
    book = open_book(path)
    with acknowledged.open("w", buffering=1, encoding="utf-8") as stream:
        for number in range(count):
            job_id = f"w{worker}-{number}"
            book.append(booking(job_id, seconds=str(1 + number)))
            stream.write(f"{job_id}\n")


def wait_for_lines(path, count, *, patience_s=60):
    give_up = time.monotonic() + patience_s
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        assert time.monotonic() < give_up
        time.sleep(0.001)


def test_sixteen_processes_some_killed_lose_no_row_that_was_acknowledged(tmp_path):
    path = ledger_file(tmp_path / "study")
    acks = [tmp_path / f"ack-{worker}" for worker in range(16)]
    workers = [
        FORK.Process(target=append_many, args=(path, ack, number, 40)) for number, ack in enumerate(acks)
    ]
    for process in workers:
        process.start()
    chooser = random.Random(20261012)
    for number in chooser.sample(range(16), 6):
        wait_for_lines(acks[number], chooser.randint(1, 15))
        os.kill(workers[number].pid, signal.SIGKILL)
    for process in workers:
        process.join(60)
    acknowledged = {
        line for ack in acks if ack.exists() for line in ack.read_text(encoding="utf-8").split("\n")[:-1]
    }
    ledger = read(path)
    booked = {entry.job_id for entry in ledger.entries}
    assert {"the last line"} >= {finding.where for finding in ledger.findings}
    assert acknowledged <= booked
    assert len(booked) == len(ledger.entries) <= len(acknowledged) + 6
    assert 10 * 40 <= len(booked) < 16 * 40
    assert sum(entry.amount_usd for entry in ledger.entries) == balance(ledger.entries).spent_usd
    open_book(path).append(booking("after"))
    assert () == read(path).findings
