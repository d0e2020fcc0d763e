"""Import and check of a large log, against pandas reading the same columns.

    python benchmarks/import.py [--rows 600000] [--shuffled] [--skip-pandas]

Writes a JSONL log of ROWS rows with completions of 2 kB into a temporary folder, imports it into a study there, checks the
study, and lets pandas read the same log. Each step runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = 8
TARGET_SECONDS, TARGET_MB, TARGET_RATIO = 60, 700, 3

DESIGN = """format = "design/1"
units = ["base.main.k8"]
[benchmarks.main]
problems = "problems.jsonl"
sha256 = "{sha256}"
n = {n}
[systems.base]
model = {{ unrecorded = "made up" }}
[systems.other]
model = {{ unrecorded = "made up as well" }}
[protocols.k8]
cap_tokens = 4096
sampling.main = {{ samples = 8 }}
[endpoints.P1]
role = "diagnostic"
baseline = "base"
candidate = "other"
benchmark = "main"
protocol = "k8"
sampling = "main"
metric = {{ name = "mean_correct" }}
test = {{ name = "paired_bootstrap", level = "0.95", resamples = 10000, seed = 0 }}
decide = "ci_excludes_zero"
"""

IMPORT = "import sys; sys.path.insert(0, {root!r}); import beforehand; beforehand.main()"
PANDAS = """import pandas
frame = pandas.read_json({log!r}, lines=True)
columns = ["problem_id", "sample_idx", "seed", "max_tokens", "n_completion_tokens", "finish_reason", "completion", "answer", "extractor", "correct"]
frame = frame[columns].sort_values(["problem_id", "sample_idx"])
"""
READ = """import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from manifests.importers.reading import NO_PLAN
from manifests.importers.recognition import recognise
n = sum(batch.num_rows for log in recognise([Path({log!r})]) for batch in log.read(defaults=NO_PLAN).batches)
"""
MEASURED = """
import resource, sys
print("PEAK", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One measured process."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


def main() -> None:
    """Print seconds, peak memory and the ratio to pandas."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600_000)
    parser.add_argument(
        "--shuffled", action="store_true", help="rows in no order, as asynchronous engines write them"
    )
    parser.add_argument("--skip-pandas", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study"
        log = write_study(study, given.rows, shuffled=given.shuffled)
        print(f"{given.rows:,} rows, {log.stat().st_size / 1e9:.2f} GB")
        command = IMPORT.format(root=str(ROOT))
        imported = measure(
            f"import atexit\natexit.register(lambda: exec({MEASURED!r}))\n{command}",
            "units",
            "import",
            str(study),
            str(log),
            "--unit",
            "base.main.k8",
        )
        show("import", imported)
        checked = measure(
            f"import atexit\natexit.register(lambda: exec({MEASURED!r}))\n{command}",
            "units",
            "check",
            str(study),
        )
        show("check", checked)
        seconds, peak = imported.seconds + checked.seconds, max(imported.peak_mb, checked.peak_mb)
        print(
            f"import + check {seconds:.1f} s (target {TARGET_SECONDS}), peak {peak:.0f} MB (target {TARGET_MB})"
        )
        read = measure(READ.format(root=str(ROOT), log=str(log)) + MEASURED)
        show("reading alone: the same columns, every cell checked", read)
        if not given.skip_pandas:
            frame = measure(PANDAS.format(log=str(log)) + MEASURED)
            show("pandas read_json and sort, same columns, nothing checked or written", frame)
            print(f"reading alone: pandas takes {frame.seconds / read.seconds:.1f} times as long")
            cpu = imported.cpu_seconds + checked.cpu_seconds
            print(f"processor time: {cpu:.1f} s, pandas {frame.cpu_seconds:.1f} s")
            print(f"pandas takes {frame.seconds / seconds:.1f} times as long (target {TARGET_RATIO})")


def write_study(study: Path, n_rows: int, *, shuffled: bool) -> Path:
    """A study that plans the unit, and its log."""
    import hashlib  # noqa: PLC0415 - only here

    study.mkdir(parents=True)
    n_problems = n_rows // SAMPLES
    problems = "".join(f'{{"problem_id": "p{number:06d}"}}\n' for number in range(n_problems)).encode()
    (study / "problems.jsonl").write_bytes(problems)
    design = DESIGN.format(sha256=hashlib.sha256(problems).hexdigest(), n=n_problems)
    text = f"# Study\n\n<!-- PREREG:BEGIN -->\n```toml design\n{design}```\n<!-- PREREG:END -->\n"
    (study / "PREREGISTRATION.md").write_text(text, encoding="utf-8")
    (study / "study.toml").write_text('name = "study"\ntitle = "Study"\n', encoding="utf-8")
    (study / "DECISIONS.md").write_text("# Decisions\n", encoding="utf-8")
    rng = random.Random(1)
    words = [
        "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 9)))
        for _ in range(3000)
    ]
    texts = [completion(rng, words) for _ in range(4000)]
    order = list(range(n_problems * SAMPLES))
    if shuffled:
        rng.shuffle(order)
    log = study.parent / "log.jsonl"
    with log.open("w", encoding="utf-8") as stream:
        for place in order:
            problem, sample = divmod(place, SAMPLES)
            row = {
                "problem_id": f"p{problem:06d}", "sample_idx": sample, "seed": sample, "max_tokens": 4096,
                "n_completion_tokens": 400 + place % 1000, "finish_reason": "stop",
                "completion": texts[place * 7919 % len(texts)] + str(place), "answer": str(place % 97),
                "extractor": "boxed", "correct": place % 3 == 0,
            }  # fmt: skip
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    return log


def completion(rng: random.Random, words: list[str]) -> str:
    """About 2 kB of words, line feeds, fractions and a few characters beyond ASCII."""
    parts: list[str] = []
    size = 0
    while size < 2000:
        parts.append(rng.choice(words))
        size += len(parts[-1]) + 1
        chance = rng.random()
        if chance < 0.04:
            parts.append("\n")
        elif chance < 0.06:
            parts.append(f"\\frac{{{rng.randint(1, 9)}}}{{{rng.randint(1, 99)}}}")
        elif chance < 0.07:
            parts.append("“≤”")
    return " ".join(parts)


def measure(code: str, *arguments: str) -> Step:
    """Run the code in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    peaks = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("PEAK ")]
    if done.returncode or not peaks:
        sys.exit(f"failed with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Step(seconds=seconds, cpu_seconds=cpu, peak_mb=int(peaks[-1]) / 1024)


def show(name: str, step: Step) -> None:
    """One line."""
    print(
        f"{name}: {step.seconds:.1f} s, {step.cpu_seconds:.1f} s of processor, peak {step.peak_mb:.0f} MB",
        flush=True,
    )


if __name__ == "__main__":
    main()
