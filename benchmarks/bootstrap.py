"""Time the paired bootstrap against its peers in one run, and check that all give the same intervals.

    python benchmarks/bootstrap.py [--problems 5000] [--comparisons 43] [--resamples 10000] [--repeat 2]

Every method runs in its own process, so its peak memory is its own; seconds are the best of --repeat. Peers: the
plain index method (d[idx].mean(axis=1), a fresh generator each comparison) and scipy.stats.bootstrap (paired,
percentile, the same stream). Then: McNemar power at n = 5,000, and the import of every statistics module.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

N_SAMPLES = 4
TARGETS = {"scipy": 20.0, "plain": 10.0}
Bounds = list[list[float]]


def sides(n_problems: int, n_comparisons: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Counts of correct samples of both sides, one pair a comparison."""
    generator = np.random.default_rng(7)
    rate = generator.beta(1.0, 1.0, n_problems)
    draws = [generator.binomial(N_SAMPLES, rate) for _ in range(2 * n_comparisons)]
    return list(zip(draws[::2], draws[1::2], strict=True))


def ours(pairs: list[tuple[np.ndarray, np.ndarray]], n_resamples: int) -> Bounds:
    """The shared index, counts and one matrix product; with p, standard error and the sha256 of the index."""
    from report.statistics.bootstrap import PairedScores, paired_bootstrap_many  # noqa: PLC0415 - timed apart

    given = [PairedScores(baseline=b, candidate=c, n_samples=N_SAMPLES) for b, c in pairs]
    results = paired_bootstrap_many(given, seed=42, n_resamples=n_resamples)
    return [[float(r.low or 0.0), float(r.high or 0.0)] for r in results]


def plain(pairs: list[tuple[np.ndarray, np.ndarray]], n_resamples: int) -> Bounds:
    """The plain index method, as registrations state it."""
    bounds = []
    for baseline, candidate in pairs:
        gains = (candidate - baseline) / N_SAMPLES
        index = np.random.default_rng(42).integers(0, len(gains), (n_resamples, len(gains)))
        bounds.append(np.percentile(gains[index].mean(axis=1), [2.5, 97.5]).tolist())
    return bounds


def scipy(pairs: list[tuple[np.ndarray, np.ndarray]], n_resamples: int) -> Bounds:
    """scipy.stats.bootstrap with its default batch."""
    from scipy.stats import bootstrap  # noqa: PLC0415 - only this process pays for it

    bounds = []
    for baseline, candidate in pairs:
        found = bootstrap(
            (candidate / N_SAMPLES, baseline / N_SAMPLES),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            paired=True,
            vectorized=True,
            method="percentile",
            n_resamples=n_resamples,
            rng=np.random.default_rng(42),
        )
        bounds.append([float(b) for b in found.confidence_interval])
    return bounds


METHODS: dict[str, Callable[[list[tuple[np.ndarray, np.ndarray]], int], Bounds]] = {
    "ours": ours,
    "plain": plain,
    "scipy": scipy,
}


def run_one(args: argparse.Namespace) -> dict[str, object]:
    """Seconds, peak MB and bounds of one method, in this process."""
    pairs = sides(args.problems, args.comparisons)
    best, bounds = float("inf"), []
    METHODS[args.one](pairs[:1], 200)  # imports and first-call costs are not what is compared
    for _ in range(args.repeat):
        start = time.perf_counter()
        bounds = METHODS[args.one](pairs, args.resamples)
        best = min(best, time.perf_counter() - start)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": best, "peak_mb": peak_mb, "bounds": bounds}


def power_ms() -> float:
    """Milliseconds of one McNemar power at n = 5,000, best of 5 calls."""
    from report.statistics.power import mcnemar_power  # noqa: PLC0415 - timed apart

    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        mcnemar_power(n_problems=5_000, discordant=0.15, gain=0.02)
        best = min(best, time.perf_counter() - start)
    return 1_000 * best


def import_s() -> float:
    """Seconds to import every statistics module in a new process, numpy and scipy included, best of 5."""
    folder = Path(__file__).parents[1] / "report" / "statistics"
    names = ", ".join(
        f"report.statistics.{p.stem}" for p in sorted(folder.glob("*.py")) if p.stem != "__init__"
    )
    code = f"import time; s = time.perf_counter(); import {names}; print(time.perf_counter() - s)"
    runs = [
        subprocess.run([sys.executable, "-c", code], cwd=folder.parents[1], check=True, capture_output=True)
        for _ in range(5)
    ]
    return min(float(run.stdout) for run in runs)


def main() -> None:
    """Print the table; exit 1 if a target is missed or the intervals differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=5_000)
    parser.add_argument("--comparisons", type=int, default=43)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--one", choices=METHODS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(run_one(args)))
        return
    print(
        f"{args.comparisons} comparisons x {args.resamples:,} resamples, {args.problems:,} problems x "
        f"{N_SAMPLES} samples, best of {args.repeat}, numpy {np.__version__}"
    )
    found = {}
    for name in METHODS:
        call = [sys.executable, __file__, "--one", name, *sys.argv[1:]]
        found[name] = json.loads(subprocess.run(call, check=True, capture_output=True).stdout)
    base = found["ours"]
    missed = []
    print(f"{'method':<8}{'seconds':>10}{'peak MB':>10}{'ratio':>8}{'largest difference of a bound':>32}")
    for name, result in found.items():
        ratio = result["seconds"] / base["seconds"]
        apart = float(np.abs(np.subtract(result["bounds"], base["bounds"])).max())
        print(f"{name:<8}{result['seconds']:>10.3f}{result['peak_mb']:>10.0f}{ratio:>8.1f}{apart:>32.1e}")
        if ratio < TARGETS.get(name, 0.0):
            missed.append(f"{name}: {ratio:.1f}x, target {TARGETS[name]:.0f}x")
        if apart > 1e-12:
            missed.append(f"{name}: bounds differ by {apart:.1e}")
    power, start = power_ms(), import_s()
    print(f"McNemar power at n = 5,000: {power:.2f} ms; import of all statistics modules: {start:.3f} s")
    for what, value, limit in (
        ("peak MB", base["peak_mb"], 250),
        ("power ms", power, 20),
        ("import s", start, 0.35),
    ):
        if value > limit:
            missed.append(f"{what}: {value:.3g}, target {limit}")
    for line in missed:
        print("MISSED", line)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
