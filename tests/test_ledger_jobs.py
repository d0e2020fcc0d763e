"""Job records in every shape that the platform prints, held against the ledger."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from ledger_rows import STUDY, booking, cap, chained, correction, ledger_file, reserve

import beforehand
from ledger.book import Book, read_ledger
from ledger.budget import balance
from ledger.jobs import read_jobs
from ledger.money import ZERO, charge
from ledger.reconcile import reconcile
from manifests.console import run
from manifests.errors import BeforehandError

DATA = Path(__file__).parent.parent / "../shared/data"
REAL_LEDGER = DATA / "jobs_cost/learn-ukrainian_hf_jobs_ledger_transcribed.csv"
PS = DATA / "jobs_cost/SHAPE_ONLY_hf_jobs_ps_a_json_cli2.4.0_mock.json"
INSPECT = DATA / "jobs_cost/SHAPE_ONLY_hf_jobs_inspect_json_cli2.4.0_mock.json"


def needs(path):
    if not path.exists():
        pytest.skip("the folder ../shared/data is absent")
    return path


def job(job_id="j1", stage="COMPLETED", *, running=187, **fields):
    """A record as `ps` prints it."""
    durations = {} if running is None else {"durations": {"running_secs": running}}
    return {"id": job_id, "status": stage, "flavor": "a100-large", **durations, **fields}


def told(tmp_path, *records):
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return read_jobs(path)


def whats(held):
    return [f"{finding.where}: {finding.what}" for finding in held.findings]


def test_both_shapes_of_a_status_are_read(tmp_path):
    jobs = told(tmp_path, job("a"), job("b") | {"status": {"stage": "CANCELED", "message": None}}).jobs
    assert [("a", "completed"), ("b", "canceled")] == [(each.job_id, each.status) for each in jobs]


@pytest.mark.parametrize(
    "durations",
    [{}, {"durations": None}, {"durations": {"total_secs": 30}}, {"durations": {"running_secs": None}}],
)
def test_missing_durations_are_unknown_and_never_zero(tmp_path, durations):
    record = job(running=None) | durations
    assert told(tmp_path, record).jobs[0].running_s is None


def test_a_canceled_job_with_zero_seconds_ran_for_an_unknown_time(tmp_path):
    jobs = told(tmp_path, job("a", "CANCELED", running=0), job("b", "ERROR", running=0)).jobs
    assert [None, Decimal(0)] == [each.running_s for each in jobs]
    (tmp_path / "jobs.csv").write_text("job_id,stage,running_seconds\na,CANCELED,0\n", encoding="utf-8")
    assert read_jobs(tmp_path / "jobs.csv").jobs[0].running_s is None


def test_a_canceled_job_that_hung_after_its_last_report_is_named(tmp_path):
    hung = {"started_at": "2026-08-31T10:00:00Z", "finished_at": "2026-08-31T10:19:42Z"}
    jobs = told(tmp_path, job("probe", "CANCELED", running=347, **hung)).jobs
    booked = booking("probe", seconds="347", outcome="canceled")
    assert [
        "job probe: was occupied for 1182.000 s from start to finish, 347 s are booked; a canceled job's seconds are a floor"
    ] == whats(reconcile(chained(booked), jobs))
    completed = told(tmp_path, job("probe", running=347, **hung)).jobs
    assert [] == whats(reconcile(chained(booking("probe", seconds="347")), completed))
    rest = correction("0.58", of=1, job_id="probe", seconds=Decimal(835))
    assert [] == whats(reconcile(chained(booked, rest), jobs))


def test_the_real_record_of_the_documentation_is_read(tmp_path):
    record = {
        "id": "693994e21a39f67af5a41ad0",
        "created_at": "2025-12-10 15:42:26.835000+00:00",
        "command": ["bash", "-c", "python"],
        "secrets": ["HF_TOKEN"],
        "flavor": "a100-large",
        "status": {"stage": "COMPLETED", "message": None},
    }
    only = told(tmp_path, record).jobs[0]
    assert ("COMPLETED", "a100-large", None, None) == (
        only.stage,
        only.flavor,
        only.running_s,
        only.wall_clock_s,
    )


@pytest.mark.parametrize(
    "record",
    [
        [],
        {},
        {"id": 7, "status": "COMPLETED"},
        job(stage="QUEUED"),
        job(stage=None),
        job(running=-1),
        job(running="187"),
        job(running=True),
        job(started_at="yesterday"),
        job(started_at="2026-05-08T08:41:06"),
    ],
)
def test_a_record_that_cannot_be_read_is_a_finding_and_the_others_are_read(tmp_path, record):
    file = told(tmp_path, record, job("good"))
    assert (["good"], 1) == ([each.job_id for each in file.jobs], len(file.findings))


def test_a_nan_duration_is_refused_with_the_file(tmp_path):
    (tmp_path / "jobs.json").write_text(
        '[{"id": "a", "status": "COMPLETED", "durations": {"running_secs": NaN}}]', encoding="utf-8"
    )
    with pytest.raises(BeforehandError):
        read_jobs(tmp_path / "jobs.json")


@pytest.mark.parametrize(("count", "expected"), [(99, 0), (100, 1), (101, 0)])
def test_a_list_that_was_cut_at_a_hundred_is_noticed(tmp_path, count, expected):
    assert expected == sum(
        "exactly 100 jobs" in finding.what
        for finding in told(tmp_path, *(job(f"j{n}") for n in range(count))).findings
    )


def test_a_hundred_inspected_jobs_are_no_cut_list(tmp_path):
    records = [job(f"j{number}") | {"status": {"stage": "COMPLETED"}} for number in range(100)]
    assert () == told(tmp_path, *records).findings


def test_a_charge_that_differs_from_the_platforms_statement_is_named(tmp_path):
    (tmp_path / "jobs.csv").write_text(
        "job_id,flavor,stage,cost_usd\njob-1,a100-large,COMPLETED,2.51\n", encoding="utf-8"
    )
    rows = chained(booking("job-1", basis="stated"))
    held = reconcile(rows, read_jobs(tmp_path / "jobs.csv").jobs)
    assert ["job job-1: cost 2.510000 USD by the platform's statement, booked 2.500000 USD"] == whats(held)


def test_a_list_that_names_a_job_twice_is_noticed(tmp_path):
    assert "lists job a twice" in told(tmp_path, job("a"), job("a")).findings[0].what


def test_the_shapes_that_the_client_prints_are_read():
    ps, inspect = read_jobs(needs(PS)), read_jobs(needs(INSPECT))
    assert (100, True, 0) == (len(ps.jobs), "exactly 100 jobs" in ps.findings[0].what, len(inspect.findings))
    assert {"COMPLETED", "SCHEDULING", "CANCELED", "ERROR"} <= {each.stage for each in ps.jobs}
    assert Decimal(187) == inspect.jobs[0].running_s


def test_a_ledger_that_agrees_has_no_findings(tmp_path):
    jobs = told(tmp_path, job("job-1", running=3600), job("live", "RUNNING", running=5)).jobs
    held = reconcile(chained(cap("5"), booking("job-1")), jobs)
    assert ([], ["live"]) == (whats(held), [each.job_id for each in held.live])
    expected = "platform's seconds and bills 2.50 USD + wall clock 0.00 USD + rows without a listed job 0.00 USD = ledger 2.50 USD"
    assert str(held).endswith(expected)


def test_what_is_missing_on_either_side_is_named(tmp_path):
    jobs = told(tmp_path, job("job-new"), job("job-void", "CANCELED", running=None)).jobs
    held = reconcile(chained(booking("job-1"), booking("mine", flavor="cpu-local", rate="0")), jobs)
    assert [
        "job job-new: COMPLETED, 187.000 s on a100-large: not in the ledger",
        "job job-void: CANCELED without durations on a100-large: its cost is unknown, which is not zero; not in the ledger",
        "row 1: books job job-1, which the platform's list does not hold",
    ] == whats(held)


def test_a_reservation_for_a_job_that_ended_is_named_with_it(tmp_path):
    held = reconcile(
        chained(reserve("3", job_id="job-void")),
        told(tmp_path, job("job-void", "CANCELED", running=None)).jobs,
    )
    assert "row 1 reserves money for it" in whats(held)[0]


def test_differing_durations_outcomes_and_flavors_are_named(tmp_path):
    jobs = told(tmp_path, job("job-1", "CANCELED", running=3500, flavor="a100x4")).jobs
    assert [
        "job job-1: ran on a100x4, booked on a100-large",
        "job job-1: ended CANCELED, booked as completed",
        "job job-1: ran 3500.000 s, booked 3600 s",
    ] == whats(reconcile(chained(booking("job-1")), jobs))


def test_a_wall_clock_shorter_than_the_platforms_seconds_is_named(tmp_path):
    jobs = told(tmp_path, job("job-1", running=4000)).jobs
    assert (
        "only 3600 s of wall clock are booked"
        in whats(reconcile(chained(booking("job-1", basis="occupancy")), jobs))[0]
    )
    assert [] == whats(reconcile(chained(booking("job-1", seconds="4100", basis="occupancy")), jobs))


def test_platform_seconds_booked_for_a_job_that_reports_none_are_named(tmp_path):
    jobs = told(tmp_path, job("job-1", running=None)).jobs
    assert "reports no duration" in whats(reconcile(chained(booking("job-1")), jobs))[0]


def test_units_without_a_row_and_rows_without_a_unit_are_named(tmp_path):
    rows = chained(booking("job-1", unit="a.b.c"), booking("job-2", unit="gone.b.c", outcome="canceled"))
    held = reconcile(
        rows,
        told(tmp_path, job("job-1", running=3600), job("job-2", "CANCELED", running=3600)).jobs,
        units=("d.e.f",),
    )
    assert [
        "unit d.e.f: has no row in the ledger",
        "row 1: pays for unit a.b.c, which the study does not hold",
    ] == whats(held)


def test_the_real_ledger_of_twenty_jobs_comes_out_to_the_cent(tmp_path):
    file = read_jobs(needs(REAL_LEDGER))
    book = Book(ledger_file(tmp_path), study_name=STUDY)
    book.append(cap("6"))
    for record in file.jobs:
        rate = Decimal("0.01") if record.flavor == "cpu-basic" else Decimal("1.80")
        minutes = (
            record.billed_minutes or 5
        )  # one row states neither minutes nor cost; the next total implies 0.15
        seconds = record.running_s or Decimal(minutes * 60)
        if record.stage == "CANCELED":  # three minutes were reserved for it, not measured
            book.append(
                reserve(charge(seconds=seconds, rate_usd_per_h=rate, billing="minute"), job_id=record.job_id)
            )
        else:
            outcome = "completed" if record.stage == "COMPLETED" else "failed"
            book.append(
                booking(
                    record.job_id,
                    seconds=seconds,
                    rate=rate,
                    billing="minute",
                    flavor=record.flavor,
                    outcome=outcome,
                    basis="running" if record.billed_minutes else "occupancy",
                )
            )
    rows = read_ledger(tmp_path / "ledger.csv", study_name=STUDY).entries
    total = balance(rows)
    assert ("3.660167", "0.090000", "3.750167") == (
        f"{total.spent_usd}",
        f"{total.reserved_usd}",
        f"{total.spent_usd + total.reserved_usd}",
    )
    held = reconcile(rows, file.jobs)
    canceled = "job 6a6fd8236b79c09949c1fc35: CANCELED without durations on l40sx1: its cost is unknown, which is not zero; not in the ledger; row 7 reserves money for it"
    assert [canceled] == whats(held)
    assert 14 == sum(record.stated_total_usd is not None for record in file.jobs)
    assert 18 <= sum(record.stated_usd is not None for record in file.jobs)


def test_a_wrong_charge_and_a_wrong_running_total_of_the_real_ledger_are_found(tmp_path):
    text = needs(REAL_LEDGER).read_text(encoding="utf-8").replace("0.120000,0.420167", "0.120000,0.420168")
    (tmp_path / "jobs.csv").write_text(text, encoding="utf-8")
    jobs = read_jobs(tmp_path / "jobs.csv").jobs
    rows = [
        booking(
            each.job_id,
            basis="stated",
            flavor=each.flavor,
            amount_usd=each.stated_usd or Decimal("0.15"),
            outcome="failed",
        )
        for each in jobs
    ]
    held = reconcile(chained(*rows), jobs)
    assert [
        "job 6a6fdeaaa00abefd4b28e281: its running total is stated as 0.420168 USD, the ledger has 0.420167 USD"
    ] == [each for each in whats(held) if "running total" in each]


@pytest.fixture
def call(capsys, tmp_path):
    ledger_file(tmp_path / "study", cap("100"))

    def calling(*arguments, records=()):
        (tmp_path / "jobs.json").write_text(json.dumps(records), encoding="utf-8")
        jobs = ["--jobs", str(tmp_path / "jobs.json")] if records else []
        with pytest.raises(SystemExit) as ended:
            run(
                beforehand.cli,
                ["ledger", "reconcile", str(tmp_path / "study"), *jobs, *arguments],
                name="beforehand",
            )
        return ended.value.code, capsys.readouterr().out

    return calling


def test_missing_jobs_are_shown_first_and_appended_on_request(call, tmp_path):
    ended = {"started_at": "2024-05-08T08:00:00+00:00", "finished_at": "2024-05-08T09:00:30+00:00"}
    records = [
        job("done", **ended),
        job("stopped", "CANCELED", running=None, **ended),
        job("void", "CANCELED", running=None),
        job("runs", "RUNNING"),
    ]
    code, out = call(records=records)
    assert (1, True, 1) == (
        code,
        "job done: COMPLETED, 187.000 s on a100-large: not in the ledger" in out,
        len(rows_of(tmp_path)),
    )
    code, out = call("--append", "--rate-date", "2026-08-22", "--phase", "P5", records=records)
    assert (1, True) == (code, "2 rows appended" in out)
    first, second = rows_of(tmp_path)[1:]
    assert ("done", "running", "0.166667", "completed", "P5") == (
        first.job_id,
        first.basis,
        f"{first.amount_usd}",
        first.outcome,
        first.phase,
    )
    assert ("stopped", "occupancy", "2.541667", "canceled") == (
        second.job_id,
        second.basis,
        f"{second.amount_usd}",
        second.outcome,
    )
    assert (1, True) == (
        call(records=records)[0],
        "void: CANCELED without durations" in call(records=records)[1],
    )
    assert "0 rows appended" in call("--append", "--rate-date", "2026-08-22", records=records)[1]


def test_a_job_whose_ending_is_unknown_is_not_booked_as_completed(call, tmp_path):
    code, out = call("--append", "--rate-date", "2026-08-22", records=[job("gone", "DELETED")])
    assert (1, True, ()) == (code, "ended as 'DELETED'" in out, rows_of(tmp_path)[1:])


def test_a_job_whose_rate_is_unknown_is_named_and_not_booked(call, tmp_path):
    code, out = call(
        "--append", "--rate-date", "2026-08-22", records=[job("odd", flavor="A100-Large"), job("good")]
    )
    assert (1, True, ["good"]) == (
        code,
        "did you mean a100-large" in out,
        [row.job_id for row in rows_of(tmp_path)[1:]],
    )


def rows_of(tmp_path):
    return read_ledger(tmp_path / "study/ledger.csv", study_name=STUDY).entries


def test_nothing_to_hold_it_against_is_wrong_use(call):
    assert 2 == call()[0]


def test_a_csv_of_ones_own_is_read(tmp_path):
    (tmp_path / "jobs.csv").write_text(
        "\ufeffjob_id,flavor,status,running_secs\r\na,l4x1,COMPLETED,61\r\n,l4x1,COMPLETED,61\r\nb,l4x1,ERROR,-1\r\n",
        encoding="utf-8",
    )
    file = read_jobs(tmp_path / "jobs.csv")
    assert ([("a", Decimal(61))], 2) == (
        [(each.job_id, each.running_s) for each in file.jobs],
        len(file.findings),
    )
    (tmp_path / "other.csv").write_text("id,cost\na,1\n", encoding="utf-8")
    with pytest.raises(BeforehandError, match="no column job_id"):
        read_jobs(tmp_path / "other.csv")


def test_the_sum_of_all_rows_is_the_statement(tmp_path):
    jobs = told(tmp_path, job("a"), job("b"))
    held = reconcile(chained(booking("a"), booking("b", basis="occupancy"), booking("c")), jobs.jobs)
    assert held.ledger_usd == held.platform_usd + held.wall_clock_usd + held.unlisted_usd != ZERO
