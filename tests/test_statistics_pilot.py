"""Every interval and count of the pilot's README comes out of its raw rows, to the printed digit."""

import json
from pathlib import Path

import numpy as np
import pytest

from report.statistics.bootstrap import BootstrapResult, paired_bootstrap
from report.statistics.mcnemar import McNemarResult, mcnemar_exact
from report.statistics.pass_at_k import solved_at_k

PILOT = Path(__file__).parents[1] / "studies/smollm2-raft-pilot/raw"


def outcomes(file: str, *, held_out: bool = False) -> dict[str, list[bool]]:
    """Problem id -> verdicts in the order of the sample index."""
    rows = [json.loads(line) for line in (PILOT / file).read_text().splitlines()]
    found: dict[str, list[bool]] = {}
    for row in sorted(rows, key=lambda row: (row["id"], row["sample"])):
        if (family(row["id"]) == "buy") == held_out:
            found.setdefault(row["id"], []).append(row["ok"])
    return found


def family(problem_id: str) -> str:
    return problem_id.split("-")[1]


def gain(baseline: str, candidate: str, k: int) -> BootstrapResult:
    base, cand = outcomes(baseline), outcomes(candidate)
    ids = sorted(base)
    assert ids == sorted(cand)
    return paired_bootstrap(
        [sum(base[i][:k]) for i in ids],
        [sum(cand[i][:k]) for i in ids],
        n_samples=k,
        seed=0,
        strata=[family(i) for i in ids],
    )


def printed(result: BootstrapResult) -> str:
    return f"{result.gain:+.4f} [{result.low:.4f}, {result.high:.4f}]"


def solved(file: str, k: int, first: int = 0) -> np.ndarray:
    rows = outcomes(file)
    return solved_at_k([rows[i][first:] for i in sorted(rows)], k)


def table(result: McNemarResult) -> tuple[int, int, int, int]:
    n_baseline = result.n_both + result.n_lost
    return n_baseline, result.n_both + result.n_gained, result.n_lost, result.n_gained


def test_the_main_gain_over_eight_samples_has_its_printed_interval():
    result = gain("base_eval_sample8.jsonl", "raft-step38_eval_sample8.jsonl", 8)
    assert printed(result) == "+0.2323 [0.1948, 0.2719]"
    assert result.n_problems == 120


@pytest.mark.parametrize(
    ("baseline", "candidate", "expected"),
    [
        ("base_eval_sample8.jsonl", "placebo-step38_eval_sample4.jsonl", "+0.0583 [0.0229, 0.0958]"),
        ("placebo-step38_eval_sample4.jsonl", "raft-step38_eval_sample8.jsonl", "+0.1562 [0.1125, 0.2000]"),
    ],
)
def test_the_gains_over_the_first_four_samples_have_their_printed_intervals(baseline, candidate, expected):
    assert expected == printed(gain(baseline, candidate, 4))


@pytest.mark.parametrize(
    ("file", "k", "expected"),
    [
        ("base_eval_sample8.jsonl", 8, 257),
        ("raft-step38_eval_sample8.jsonl", 8, 480),
        ("base_eval_sample8.jsonl", 4, 128),
        ("raft-step5_eval_sample4.jsonl", 4, 185),
        ("raft-step19_eval_sample4.jsonl", 4, 218),
        ("raft-step38_eval_sample8.jsonl", 4, 231),
        ("placebo-step38_eval_sample4.jsonl", 4, 156),
        ("base_eval_greedy.jsonl", 1, 49),
        ("raft-step38_eval_greedy.jsonl", 1, 65),
        ("placebo-step38_eval_greedy.jsonl", 1, 52),
    ],
)
def test_the_printed_counts_of_correct_samples_follow_from_the_rows(file, k, expected):
    assert expected == sum(sum(row[:k]) for row in outcomes(file).values())


def test_solved_at_eight_loses_one_problem_and_gains_sixteen():
    result = mcnemar_exact(solved("base_eval_sample8.jsonl", 8), solved("raft-step38_eval_sample8.jsonl", 8))
    assert table(result) == (75, 90, 1, 16)
    assert f"{result.p_value:.5f}" == "0.00027"


def test_greedy_loses_three_problems_and_gains_nineteen():
    result = mcnemar_exact(solved("base_eval_greedy.jsonl", 1), solved("raft-step38_eval_greedy.jsonl", 1))
    assert table(result) == (49, 65, 3, 19)
    assert f"{result.p_value:.5f}" == "0.00086"


def test_two_halves_of_the_baseline_differ_by_sixteen_lost_and_nine_gained():
    file = "base_eval_sample8.jsonl"
    result = mcnemar_exact(solved(file, 4), solved(file, 4, first=4))
    assert table(result) == (66, 59, 16, 9)


def test_the_held_out_family_is_a_floor():
    counts = [
        sum(map(sum, outcomes(file, held_out=True).values()))
        for file in ("base_eval_sample8.jsonl", "raft-step38_eval_sample8.jsonl")
    ]
    assert counts == [2, 1]
