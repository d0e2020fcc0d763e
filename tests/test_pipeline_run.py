"""`beforehand run`: the supervisor, the machine's lock, signals, exit codes, and kills at any moment."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from run_study import OTHER, UNIT, command, environment, make_run_study

from ledger.book import read_ledger
from manifests.study import Study
from pipeline.checking import check_units
from pipeline.journal import read_journal

KILLS = int(os.environ.get("BEFOREHAND_KILLS", "3"))
"""Random kills a stage; `make soak` asks for 20."""


def run(tmp_path, *arguments, timeout=120, **toy):
    return subprocess.run(
        command(*arguments),
        env=environment(tmp_path, **toy),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def start(tmp_path, *arguments, **toy):
    return subprocess.Popen(
        command(*arguments), env=environment(tmp_path, **toy), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def wait_until(holds, *, timeout=60):
    until = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.01)


def generations(study, unit=UNIT):
    return study / f"runs/{unit}/generations.jsonl"


def whole_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def events(study):
    return [line.value for line in read_journal(study / "runs/supervisor.jsonl").lines]


def kill_group(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_run_all_takes_every_unit_to_its_rows_and_then_has_nothing_left(tmp_path):
    study = make_run_study(tmp_path / "study")
    done = run(tmp_path, "all", str(study), "--json")
    assert 0 == done.returncode, done.stderr
    assert [
        f"{unit} {stage}" for unit in (OTHER, UNIT) for stage in ("generate", "verify", "rows")
    ] == json.loads(done.stdout)["ran"]
    assert () == check_units(Study.open(study))
    assert ["started", "stage started", "stage ended"] == [one["event"] for one in events(study)][:3]
    again = run(tmp_path, "all", str(study))
    assert (0, "nothing was left to run\n") == (again.returncode, again.stdout)


def test_print_lists_exactly_what_would_run_and_runs_nothing(tmp_path):
    study = make_run_study(tmp_path / "study")
    shown = run(tmp_path, "all", str(study), "--unit", str(UNIT), "--print", "--json")
    commands = json.loads(shown.stdout)["commands"]
    assert [("generate", str(UNIT)), ("verify", str(UNIT)), ("rows", str(UNIT))] == [
        (one[3], one[6]) for one in commands
    ]
    assert not (study / "runs").exists()
    for one in commands:
        assert (
            0 == subprocess.run(one, env=environment(tmp_path), capture_output=True, check=False).returncode
        )
    assert (
        "nothing is left to run\n" == run(tmp_path, "all", str(study), "--unit", str(UNIT), "--print").stdout
    )


def test_run_all_refuses_a_study_that_is_not_frozen(tmp_path):
    study = make_run_study(tmp_path / "study", frozen=False)
    for arguments in (["all", str(study)], ["all", str(study), "--print"]):
        assert 1 == (refused := run(tmp_path, *arguments)).returncode
        assert "not frozen" in refused.stderr
    assert not (study / "runs").exists()


def test_a_failing_stage_ends_the_run_with_its_own_code_and_words(tmp_path):
    study = make_run_study(tmp_path / "study", rate="999999999", cap_usd="0.000001")
    failed = run(tmp_path, "all", str(study))
    assert 1 == failed.returncode
    assert "the gate is closed" in failed.stderr
    assert "the stage generate ended with 1" in failed.stderr


def test_a_stage_that_stands_still_is_stopped_and_the_run_exits_3(tmp_path):
    study = make_run_study(tmp_path / "study", stall_s=8)
    stalled = run(tmp_path, "all", str(study), hang_after=10)
    assert (3, True) == (stalled.returncode, "wrote nothing for 8 s" in stalled.stderr)
    assert True is events(study)[-1]["stalled"]
    assert 0 < whole_lines(generations(study, OTHER)) < 32
    assert 0 == run(tmp_path, "all", str(study)).returncode
    assert () == check_units(Study.open(study))


def test_sigterm_stops_the_stage_books_its_time_and_exits_143(tmp_path):
    study = make_run_study(tmp_path / "study", n=30)
    process = start(tmp_path, "all", str(study), slow_s=0.2)
    wait_until(lambda: whole_lines(generations(study, OTHER)) > 5)
    child = next(one["pid"] for one in events(study) if one["event"] == "stage started")
    process.terminate()
    process.communicate(timeout=30)
    assert 143 == process.returncode
    assert not Path(f"/proc/{child}").exists()
    assert "stopped by a signal" == events(study)[-1]["event"]
    booked = [
        entry for entry in read_ledger(study / "ledger.csv", study_name="toy").entries if entry.kind == "book"
    ]
    assert ["canceled nothing"] == [entry.outcome for entry in booked]
    assert 0 == run(tmp_path, "all", str(study)).returncode
    assert () == check_units(Study.open(study))


def test_a_second_supervisor_says_who_holds_the_lock_or_waits(tmp_path):
    study = make_run_study(tmp_path / "study", n=12)
    first = start(tmp_path, "all", str(study), slow_s=0.05)
    wait_until(lambda: whole_lines(generations(study, OTHER)) > 0)
    refused = run(tmp_path, "all", str(study))
    assert 2 == refused.returncode
    assert f"held by process {first.pid} on" in refused.stderr
    assert "run all study" in refused.stderr
    waiting = run(tmp_path, "all", str(study), "--wait", "60")
    assert 0 == waiting.returncode, waiting.stderr
    assert "waiting for the heavy-job lock" in waiting.stderr
    first.communicate()
    assert 0 == first.returncode
    assert () == check_units(Study.open(study))


def test_the_lock_of_a_process_that_was_killed_is_taken_over_and_that_is_said(tmp_path):
    study = make_run_study(tmp_path / "study", n=30)
    process = start(tmp_path, "generate", str(study), "--unit", str(UNIT), slow_s=0.2)
    wait_until(lambda: whole_lines(generations(study)) > 5)
    kill_group(process)
    again = run(tmp_path, "generate", str(study), "--unit", str(UNIT))
    assert 0 == again.returncode
    assert f"the lock of process {process.pid}" in again.stderr
    assert "is taken over" in again.stderr


def test_a_stage_whose_supervisor_was_killed_still_holds_the_lock(tmp_path):
    study = make_run_study(tmp_path / "study", n=30)
    process = start(tmp_path, "all", str(study), slow_s=0.2)
    wait_until(lambda: whole_lines(generations(study, OTHER)) > 5)
    child = next(one["pid"] for one in events(study) if one["event"] == "stage started")
    process.kill()
    process.wait()  # its pipes stay open: the stage has them too
    refused = run(tmp_path, "all", str(study))
    assert (2, True) == (refused.returncode, "heavy-job lock is held by" in refused.stderr)
    os.kill(child, signal.SIGKILL)
    process.communicate()
    assert 0 == run(tmp_path, "all", str(study)).returncode


@pytest.mark.parametrize("stage", ["generate", "verify", "rows"])
def test_kills_at_random_moments_lose_nothing_and_draw_nothing_twice(tmp_path, stage):
    whole = make_run_study(tmp_path / "whole", n=20)
    assert 0 == run(tmp_path, "all", str(whole), "--unit", str(UNIT)).returncode
    study = make_run_study(tmp_path / "study", n=20)
    stages = ["generate", "verify", "rows"]
    for earlier in stages[: stages.index(stage)]:
        assert 0 == run(tmp_path, earlier, str(study), "--unit", str(UNIT)).returncode
    rng = random.Random(f"{stage} {KILLS}")
    seen = set()
    for _ in range(KILLS):
        process = start(tmp_path, stage, str(study), "--unit", str(UNIT), slow_s=0.03)
        try:
            process.communicate(timeout=rng.uniform(0.3, 2.5))
        except subprocess.TimeoutExpired:
            kill_group(process)
        before = generations(study).read_bytes() if generations(study).exists() else b""
        assert all(line in before for line in seen)
        seen = {line for line in before.splitlines(keepends=True) if line.endswith(b"\n")}
    for later in stages[stages.index(stage) :]:
        assert 0 == (done := run(tmp_path, later, str(study), "--unit", str(UNIT))).returncode, done.stderr
    assert sorted(generations(whole).read_bytes().splitlines()) == sorted(
        generations(study).read_bytes().splitlines()
    )
    assert (whole / f"units/{UNIT}/rows.parquet").stat().st_size > 0
    assert rows_but_times(whole) == rows_but_times(study)
    assert () == check_units(Study.open(study))
    assert () == read_ledger(study / "ledger.csv", study_name="toy").findings


def rows_but_times(study):
    from manifests.rows import read_rows

    return read_rows(study / f"units/{UNIT}/rows.parquet").drop_columns(["verify_s"]).to_pylist()


@pytest.mark.parametrize("name", ["generations", "verdicts"])
def test_a_journal_cut_at_any_byte_continues(tmp_path, name):
    study = make_run_study(tmp_path / "study", n=3, samples=1)
    assert 0 == run(tmp_path, "generate", str(study), "--unit", str(UNIT)).returncode
    assert 0 == run(tmp_path, "verify", str(study), "--unit", str(UNIT)).returncode
    path = study / f"runs/{UNIT}/{name}.jsonl"
    whole = path.read_bytes()
    for cut in random.Random(7).sample(range(len(whole)), 3):
        path.write_bytes(whole[:cut])
        stage = "generate" if name == "generations" else "verify"
        if name == "generations":
            (study / f"runs/{UNIT}/verdicts.jsonl").unlink(missing_ok=True)
        done = run(tmp_path, stage, str(study), "--unit", str(UNIT), "--json")
        assert 0 == done.returncode, done.stderr
        torn = cut - (whole[:cut].rfind(b"\n") + 1)
        assert (torn, 6) == (
            (shown := json.loads(done.stdout))["dropped_bytes"],
            shown["resumed"] + shown.get("drawn", shown.get("judged")),
        )


def test_the_engine_is_missing_is_exit_4_with_the_command_that_installs_it(tmp_path):
    try:
        import torch  # noqa: F401, TID251
    except ImportError:
        pass
    else:
        pytest.skip("torch is installed here")
    import run_study

    text = run_study.RUN.replace('engine = "toy_engine"', 'engine = "transformers"')
    original, run_study.RUN = run_study.RUN, text
    try:
        study = make_run_study(tmp_path / "study")
    finally:
        run_study.RUN = original
    refused = run(tmp_path, "generate", str(study), "--unit", str(UNIT))
    assert (4, True) == (refused.returncode, "pip install 'beforehand[hf]'" in refused.stderr)


def test_a_resumed_run_starts_generating_within_ten_seconds(tmp_path):
    study = make_run_study(tmp_path / "study", n=200, samples=8, batch_rows=100)
    process = start(tmp_path, "generate", str(study), "--unit", str(UNIT), slow_s=0.3)
    wait_until(lambda: whole_lines(generations(study)) >= 500)
    kill_group(process)
    there = whole_lines(generations(study))
    started = time.monotonic()
    process = start(tmp_path, "generate", str(study), "--unit", str(UNIT), slow_s=0.3)
    wait_until(lambda: whole_lines(generations(study)) > there)
    took = time.monotonic() - started
    kill_group(process)
    assert took < 10
