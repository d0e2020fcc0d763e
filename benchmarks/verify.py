"""How long the math verifier takes for 20,000 completions: the drawn completions of smollm2-prompting, in turn, until there are so many.

    python benchmarks/verify.py [--completions 20000] [--workers 2]

Nothing is cached between completions, so that a text that comes again costs what it cost before. Needs math-verify.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import Counter
from itertools import cycle, islice
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pipeline.verify.contract import Submission  # noqa: E402
from pipeline.verify.pool import Pool, PoolSettings  # noqa: E402

STUDY = ROOT / "studies/smollm2-prompting"


def submissions(count: int) -> list[Submission]:
    """The study's samples with their problems."""
    problems = {
        problem["problem_id"]: problem
        for path in sorted((STUDY / "problems").glob("*.jsonl"))
        for problem in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    }
    lines = [
        json.loads(line)
        for path in sorted((STUDY / "runs").glob("*/generations.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    drawn = [
        Submission(
            text=line["completion_text"],
            truncated=line["finish_reason"] != "stop",
            problem=problems[line["problem_id"]],
        )
        for line in lines
    ]
    return list(islice(cycle(drawn), count))


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--completions", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    config = {"ladder": ["answer_line", "boxed", "last_number"], "gold": "gold"}
    settings = PoolSettings(
        module="pipeline.verify.math_verifier",
        config=config,
        workers=asked.workers,
        budget_s=10.0,
        memory_mb=4096,
    )
    work = submissions(asked.completions)
    opened = time.perf_counter()
    with Pool(settings) as pool:
        started = time.perf_counter()
        counts = Counter(one.judgement.status for one in pool.judge(work))
        seconds = time.perf_counter() - started
    cpu_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    facts = {"completions": len(work), "workers": asked.workers, "open_s": round(started - opened, 1)}
    print(
        json.dumps(
            {**facts, "seconds": round(seconds, 1), "worker_cpu_s": round(cpu_s, 1), "verdicts": counts}
        )
    )


if __name__ == "__main__":
    main()
