"""Simulate the size and coverage of every test, and write the table that docs/statistics.md prints.

    python benchmarks/calibration.py [--data-sets 20000] [--write]

Model: problem i has an ability u_i ~ N(0, 1.5^2) in logits; each side solves it with its own probability
sigmoid(u_i + e), e ~ N(0, 0.5^2) for each side apart, and draws `samples` independent samples. Under the null the two
sides are exchangeable, so the true gain over the population of problems is 0. Coverage is also taken under a true gain:
the candidate's e has mean 0.4; the truth is then found by Gauss-Hermite quadrature. Nominal: size 5 %, coverage 95 %.
Sizes of p-value tests count p < .05, of intervals that the interval excludes 0. Every number comes from the functions
of report/statistics; only those without a vectorised form are called in a loop. One seed; Monte Carlo standard error
beside each number.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from report.statistics.bootstrap import BootstrapResult, PairedScores, bootstrap_p, paired_bootstrap_many  # noqa: E402
from report.statistics.clustered import clustered_mean  # noqa: E402
from report.statistics.mcnemar import mcnemar_midp, mcnemar_p  # noqa: E402
from report.statistics.paired_t import paired_t, tost_paired  # noqa: E402
from report.statistics.proportion import clopper_pearson, wilson, wilson_pooled_samples  # noqa: E402
from report.statistics.sign_flip import sign_flip_many  # noqa: E402

DESIGNS = ((30, 1), (30, 8), (30, 32), (100, 4), (244, 8), (500, 4))
ABILITY_SD, SIDE_SD, SHIFT = 1.5, 0.5, 0.4
N_RESAMPLES, BLOCK, LOOPED = 10_000, 500, 5_000
BEGIN, END = "<!-- calibration:begin -->", "<!-- calibration:end -->"
Counts = NDArray[np.int64]


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


def draw(
    generator: np.random.Generator, n_problems: int, n_samples: int, shift: float, n_sets: int
) -> tuple[Counts, Counts]:
    """(baseline, candidate) counts of correct samples, (n_sets, n_problems)."""
    ability = generator.normal(0.0, ABILITY_SD, (n_sets, n_problems))
    sides = []
    for mean in (0.0, shift):
        rate = sigmoid(ability + generator.normal(mean, SIDE_SD, ability.shape))
        sides.append(generator.binomial(n_samples, rate))
    return sides[0], sides[1]


def true_share(n_samples: int, mean: float) -> tuple[float, float]:
    """(mean correct, share of problems with at least one of n_samples correct) of one side, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    rate = sigmoid(mean + math.hypot(ABILITY_SD, SIDE_SD) * nodes)
    weights = weights / weights.sum()
    return float(weights @ rate), float(weights @ (1.0 - (1.0 - rate) ** n_samples))


def bootstraps(
    baseline: Counts, candidate: Counts, n_samples: int, *, seed: int
) -> Iterator[BootstrapResult]:
    """Every data set's bootstrap; each block of data sets has an index of its own."""
    for first in range(0, len(baseline), BLOCK):
        block = slice(first, first + BLOCK)
        pairs = [
            PairedScores(baseline=b, candidate=c, n_samples=n_samples)
            for b, c in zip(baseline[block], candidate[block], strict=True)
        ]
        yield from paired_bootstrap_many(pairs, seed=seed + first, n_resamples=N_RESAMPLES)


def excludes(result: BootstrapResult, value: float) -> bool:
    """Whether the interval lies on one side of value (no interval excludes nothing)."""
    return result.low is not None and result.high is not None and not result.low <= value <= result.high


def variant_rejects(result: BootstrapResult, variant: str) -> bool:
    """Whether another p of the same resamples is below .05."""
    p_value, _ = bootstrap_p(result.n_below, result.n_zero, result.n_above, variant)  # type: ignore[arg-type]
    return result.reason is None and p_value is not None and p_value < 0.05


def one_design(n_problems: int, n_samples: int, n_sets: int) -> dict[str, tuple[float, int]]:
    """Name -> (share, number of simulations) for one design."""
    generator = np.random.default_rng([20_240, n_problems, n_samples])
    looped = min(LOOPED, n_sets)
    found: dict[str, list[bool]] = {name: [] for name in ROWS}

    null = draw(generator, n_problems, n_samples, 0.0, n_sets)
    for result in bootstraps(*null, n_samples, seed=1):
        found["bootstrap interval excludes 0"].append(excludes(result, 0.0))
        found["bootstrap p, plus one"].append(result.p_value is not None and result.p_value < 0.05)
        found["bootstrap p, strict (old reports)"].append(variant_rejects(result, "strict"))
    gains = null[1] - null[0]
    for first in range(0, n_sets, BLOCK):
        columns = np.ascontiguousarray(gains[first : first + BLOCK].T)
        results = sign_flip_many(columns, seed=2 + first, n_resamples=N_RESAMPLES)
        found["sign flip"] += [r.p_value < 0.05 for r in results]
    found["paired t"] = [(p := paired_t(d / n_samples).p_value) is not None and p < 0.05 for d in gains]
    solved = null[0] > 0, null[1] > 0
    lost, gained = (solved[0] & ~solved[1]).sum(axis=1), (solved[1] & ~solved[0]).sum(axis=1)
    tables = [(int(x), int(y)) for x, y in zip(lost, gained, strict=True)]
    found["McNemar exact, solved@k"] = [mcnemar_p(*t) < 0.05 for t in tables]
    found["McNemar mid-p, solved@k"] = [mcnemar_midp(*t) < 0.05 for t in tables]

    moved = draw(generator, n_problems, n_samples, SHIFT, n_sets)
    base_mean, base_solved = true_share(n_samples, 0.0)
    gain = true_share(n_samples, SHIFT)[0] - base_mean
    found["bootstrap interval"] = [not excludes(r, gain) for r in bootstraps(*moved, n_samples, seed=3)]
    for d in (moved[1] - moved[0]) / n_samples:
        t = paired_t(d)
        found["paired t interval"].append(
            t.low is not None and t.high is not None and t.low <= gain <= t.high
        )
        equivalence = tost_paired(d, margin_low=-gain, margin_high=gain)  # the truth lies on the margin
        found["TOST at its margin"].append(equivalence.equivalent is True)

    for counts in moved[0][:looped]:
        clusters = np.repeat(np.arange(n_problems), n_samples)
        values = (np.arange(n_samples) < counts[:, None]).astype(float).ravel()
        robust = clustered_mean(values, clusters)
        found["clustered t, pass@1"].append(robust.low is not None and robust.low <= base_mean <= robust.high)
        pooled = wilson_pooled_samples(int(counts.sum()), n_problems * n_samples)
        found["pooled-sample Wilson, pass@1"].append(pooled.low <= base_mean <= pooled.high)
        n_solved = int((counts > 0).sum())
        for name, method in (("Wilson, solved@k", wilson), ("Clopper-Pearson, solved@k", clopper_pearson)):
            interval = method(n_solved, n_problems)
            found[name].append(interval.low <= base_solved <= interval.high)
    return {name: (float(np.mean(values)), len(values)) for name, values in found.items()}


ROWS = {
    "McNemar exact, solved@k": "size",
    "McNemar mid-p, solved@k": "size",
    "bootstrap interval excludes 0": "size",
    "bootstrap p, plus one": "size",
    "bootstrap p, strict (old reports)": "size",
    "sign flip": "size",
    "paired t": "size",
    "TOST at its margin": "size",
    "bootstrap interval": "coverage",
    "paired t interval": "coverage",
    "clustered t, pass@1": "coverage",
    "Wilson, solved@k": "coverage",
    "Clopper-Pearson, solved@k": "coverage",
    "pooled-sample Wilson, pass@1": "coverage",
}


def cell(share: float, n: int) -> str:
    """Percent with its Monte Carlo standard error."""
    error = math.sqrt(max(share * (1.0 - share), 0.25 / n) / n)
    return f"{100 * share:.1f} ± {100 * error:.1f}"


def table(results: dict[tuple[int, int], dict[str, tuple[float, int]]], n_sets: int) -> str:
    """The Markdown between the markers."""
    told = (
        f"{n_sets:,} data sets a cell ({min(LOOPED, n_sets):,} in the last four rows), {N_RESAMPLES:,} resamples; "
        "percent ± Monte Carlo standard error. Columns: problems x samples."
    )
    lines = [
        told,
        "",
        "| nominal 5 % (size) or 95 % (coverage) | | " + " | ".join(f"{n} x {k}" for n, k in results) + " |",
        "|---|---|" + "---|" * len(results),
    ]
    for name, kind in ROWS.items():
        cells = " | ".join(cell(*result[name]) for result in results.values())
        lines.append(f"| {name} | {kind} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table; with --write put it between the markers of docs/statistics.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-sets", type=int, default=20_000)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    results = {}
    for design in DESIGNS:
        start = time.perf_counter()
        results[design] = one_design(*design, args.data_sets)
        print(f"{design[0]} x {design[1]}: {time.perf_counter() - start:.1f} s", file=sys.stderr)
    text = table(results, args.data_sets)
    print(text)
    if args.write:
        page = ROOT / "docs" / "statistics.md"
        before, rest = page.read_text(encoding="utf-8").split(BEGIN)
        after = rest.split(END)[1]
        page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
