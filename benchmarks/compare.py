"""`beforehand compare` on two logs of 20,000 rows, as one process from start to end.

python benchmarks/compare.py [--rows 20000] [--samples 8]
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUN = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import beforehand; beforehand.main()"
TARGET_SECONDS = 2


def main() -> None:
    """Print the best of five."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--samples", type=int, default=8)
    given = parser.parse_args()
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        logs = [Path(folder) / name for name in ("a.jsonl", "b.jsonl")]
        for log, rate in zip(logs, (0.4, 0.45), strict=True):
            with log.open("w", encoding="utf-8") as stream:
                for place in range(given.rows):
                    problem, sample = divmod(place, given.samples)
                    row = {
                        "problem_id": f"p{problem}",
                        "sample_idx": sample,
                        "correct": rng.random() < rate,
                        "completion": "words " * 300,
                    }
                    stream.write(json.dumps(row) + "\n")
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", RUN, "compare", *map(str, logs), "--json"],
                capture_output=True,
                check=True,
            )
            seconds.append(time.perf_counter() - start)
    told = ", ".join(f"{one:.2f}" for one in seconds)
    print(
        f"2 x {given.rows:,} rows, {given.samples} samples a problem: best {min(seconds):.2f} s of {told} (target {TARGET_SECONDS})"
    )


if __name__ == "__main__":
    main()
