"""The pool of verifiers: workers that hang, die, flood, eat and raise, and verdicts that survive them."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from manifests.errors import BeforehandError, CapabilityMissingError
from pipeline.verify.contract import Submission
from pipeline.verify.pool import Pool, PoolSettings

TESTS = str(Path(__file__).parent)


@pytest.fixture(autouse=True)
def _toys_can_be_imported(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", TESTS)


def settings(**changes):
    return PoolSettings(
        **{
            "module": "toy_verifier",
            "config": {},
            "workers": 2,
            "budget_s": 10.0,
            "memory_mb": 2048,
            **changes,
        }
    )


def judged(texts, **changes):
    """Verdicts in the order of the texts, and the pool after it has closed."""
    with Pool(settings(**changes)) as pool:
        found = {one.job.number: one for one in pool.judge([submission(text) for text in texts])}
    return [found[number] for number in range(len(texts))], pool


def submission(text):
    return Submission(text=text, truncated=False, problem={"gold": 7})


def test_every_submission_has_one_verdict_whatever_the_order_they_arrive_in():
    verdicts, pool = judged(["it is 7", "it is 8", "none"] * 40)
    assert ["accepted", "rejected", "no_answer"] * 40 == [one.judgement.status for one in verdicts]
    assert ({"toy": "1"}, 0) == (dict(pool.pins), pool.restarts)


def test_one_that_hangs_is_stopped_at_its_limit_and_holds_nobody_up():
    started = time.monotonic()
    verdicts, pool = judged(["HANG", *["7"] * 50], budget_s=1.5)
    assert ("timed_out", ("timeout",)) == (verdicts[0].judgement.status, verdicts[0].judgement.reasons)
    assert {"accepted"} == {one.judgement.status for one in verdicts[1:]}
    assert pool.restarts == 1
    assert time.monotonic() - started < 30


def test_one_that_kills_its_worker_twice_is_infrastructure_and_never_a_rejection():
    verdicts, pool = judged(["DIE 7", "7", "7"])
    assert ("infrastructure", ("infra:worker-died",), 2) == (
        verdicts[0].judgement.status, verdicts[0].judgement.reasons, verdicts[0].tries
    )  # fmt: skip
    assert ["accepted", "accepted"] == [one.judgement.status for one in verdicts[1:]]
    assert pool.restarts >= 2


def test_a_second_try_has_a_fresh_process_to_itself():
    verdicts, _ = judged(["7", "7", "FRESH 7"], workers=1)
    assert [("accepted", 1), ("accepted", 1), ("accepted", 2)] == [
        (one.judgement.status, one.tries) for one in verdicts
    ]


def test_an_error_of_the_verifier_is_infrastructure_that_names_it():
    verdicts, _ = judged(["RAISE 7"])
    assert ("infrastructure", ("infra:RuntimeError",)) == (
        verdicts[0].judgement.status,
        verdicts[0].judgement.reasons,
    )


def test_one_that_eats_its_memory_is_infrastructure():
    verdicts, _ = judged(["EAT 7", "7"], memory_mb=1024)
    assert ["infrastructure", "accepted"] == [one.judgement.status for one in verdicts]
    assert ("infra:memory",) == verdicts[0].judgement.reasons


def test_what_a_verifier_prints_neither_garbles_an_answer_nor_fills_a_pipe():
    verdicts, pool = judged(["FLOOD 7", "7"])
    assert (["accepted", "accepted"], 0) == ([one.judgement.status for one in verdicts], pool.restarts)


@pytest.mark.parametrize("text", ["\x007", "7 \u2028", "x" * 2**20 + " 7", '"}\n{" 7', "\ufffd 7"])
def test_any_text_reaches_the_verifier_whole(text):
    verdicts, _ = judged([text], workers=1)
    assert "accepted" == verdicts[0].judgement.status


def test_no_worker_outlives_the_pool_also_after_an_error():
    pids = []
    with contextlib.suppress(KeyError), Pool(settings()) as pool:
        pids += [worker.process.pid for worker in pool._workers]
        raise KeyError("an error of the caller")
    assert 2 == len(pids)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_a_verifier_whose_library_is_missing_is_a_missing_capability(tmp_path, monkeypatch):
    (tmp_path / "needs_more.py").write_text("import a_library_that_nobody_has\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with (
        pytest.raises(CapabilityMissingError, match="a_library_that_nobody_has"),
        Pool(settings(module="needs_more")),
    ):
        pass


def test_a_verifier_that_cannot_be_opened_says_why():
    with pytest.raises(BeforehandError, match="cannot be opened"), Pool(settings(module="json")):
        pass


def test_a_worker_ends_with_its_pool_s_process():
    code = (
        "import os, sys\nfrom pipeline.verify.pool import *\n"
        "pool = Pool(PoolSettings(module='toy_verifier', config={}, workers=1, budget_s=9, memory_mb=2048)).__enter__()\n"
        "print(pool._workers[0].process.pid, flush=True)\nos._exit(9)\n"
    )
    path = os.pathsep.join([str(Path(TESTS).parent), TESTS])
    shown = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    ).stdout
    worker = Path(f"/proc/{shown.strip()}")
    until = time.monotonic() + 10
    while (
        worker.exists()
        and time.monotonic() < until
        and "Z" not in (worker / "stat").read_text().split(")")[1][:3]
    ):
        time.sleep(0.05)
    assert not worker.exists() or "Z" in (worker / "stat").read_text().split(")")[1][:3]
