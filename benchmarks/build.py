"""How long a build takes, and how much memory: cold, nothing changed, one unit changed, ten times the units.

    python benchmarks/build.py [--units 65] [--rows 600000] [--megabytes 500] [--times 10]

The study is made of random verdicts in a temporary folder; completions are incompressible text, so that files are as large as
they say. Each build runs in a process of its own, as a command does.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ledger.layout import empty_ledger  # noqa: E402 - the repository is put on the path first
from manifests.names import UnitId  # noqa: E402
from manifests.records import Counts, Origin, UnitFile, UnitRecord  # noqa: E402
from manifests.rows import SCHEMA, in_key_order  # noqa: E402
from manifests.stores import LocalStore  # noqa: E402
from prereg.design import Design  # noqa: E402
from prereg.freeze import freeze  # noqa: E402
from prereg.plan import load_design, plan_unit  # noqa: E402

SAMPLES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One build: seconds by the wall and of a processor, megabytes of resident memory at the most, what it printed first."""

    name: str
    seconds: float
    cpu_s: float
    megabytes: float
    said: str


def design_text(n_units: int, n_problems: int, problems_sha256: str) -> str:
    """One baseline, all other units candidates, each with an endpoint."""
    lines = [
        'format = "design/1"', "[benchmarks.b]", 'problems = "problems.jsonl"',
        f'sha256 = "{problems_sha256}"', f"n = {n_problems}",
        "[systems.base]", f'model = {{ repo = "o/base", revision = "{"a" * 40}" }}',
        "[protocols.p]", "cap_tokens = 4096", 'verifier = { kind = "math", version = "1" }',
        f"sampling.main = {{ samples = {SAMPLES}, temperature = 1.0 }}",
    ]  # fmt: skip
    for number in range(1, n_units):
        lines += [
            f"[systems.s{number:03d}]",
            f'model = {{ repo = "o/s{number}", revision = "{number:040x}" }}',
        ]
        role = "primary" if number == 1 else "secondary"
        lines += [
            f"[endpoints.E{number}]", f'role = "{role}"', 'baseline = "base"', f'candidate = "s{number:03d}"',
            'benchmark = "b"', 'protocol = "p"', 'sampling = "main"', 'metric = { name = "mean_correct" }',
            'test = { name = "paired_bootstrap", level = "0.95", resamples = 10000, seed = 42 }',
            'decide = "ci_excludes_zero"',
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


def make_rows(seed: int, n_problems: int, characters: int) -> pa.Table:
    """Random verdicts; each completion a slice of random text."""
    draw = np.random.default_rng(seed)
    n = n_problems * SAMPLES
    noise = draw.integers(33, 126, characters * n, dtype=np.uint8).tobytes().decode("ascii")
    tokens = draw.integers(20, 4096, n)
    ability = draw.random(n_problems)
    columns = {
        "sampling": ["main"] * n,
        "problem_id": [f"p{i:05d}" for i in range(n_problems) for _ in range(SAMPLES)],
        "sample_idx": list(range(SAMPLES)) * n_problems,
        "round": [0] * n,
        "cap_tokens": [4096] * n,
        "max_tokens": [4096] * n,
        "seed": [None] * n,
        "n_prompt_tokens": [200] * n,
        "n_completion_tokens": tokens.tolist(),
        "finish_reason": ["stop"] * n,
        "completion": [noise[i * characters : (i + 1) * characters] for i in range(n)],
        "answer": ["42"] * n,
        "extractor": ["boxed"] * n,
        "correct": (draw.random(n) < np.repeat(ability, SAMPLES)).tolist(),
        "reasons": [["ok"]] * n,
        "code_sha256": [None] * n,
        "verify_s": [None] * n,
    }
    return pa.table(
        {name: pa.array(columns[name], SCHEMA.field(name).type) for name in SCHEMA.names}, schema=SCHEMA
    )


def make_study(folder: Path, *, n_units: int, n_rows: int, megabytes: int) -> None:
    """A frozen study with all its units."""
    n_problems = max(10, n_rows // n_units // SAMPLES)
    characters = max(1, int(megabytes * 1e6 * 1.2 / (n_units * n_problems * SAMPLES)))
    folder.mkdir(parents=True)
    problems = "".join(json.dumps({"problem_id": f"p{i:05d}"}) + "\n" for i in range(n_problems)).encode()
    (folder / "problems.jsonl").write_bytes(problems)
    design = design_text(n_units, n_problems, hashlib.sha256(problems).hexdigest())
    block = f"# B\n\n<!-- PREREG:BEGIN -->\n```toml design\n{design}```\n<!-- PREREG:END -->\n"
    (folder / "PREREGISTRATION.md").write_text(block)
    (folder / "study.toml").write_text('name = "bench"\ntitle = "How long does a build take?"\n')
    (folder / "DECISIONS.md").write_text("# Decisions\n")
    (folder / "ledger.csv").write_bytes(empty_ledger())
    record = freeze(folder, now=lambda: datetime(2026, 1, 2, tzinfo=UTC)).registration
    loaded = load_design(folder / "PREREGISTRATION.md")
    for number, planned in enumerate(loaded.planned_units()):
        put_unit(folder, loaded, planned.unit, make_rows(number, n_problems, characters), record.block_sha256)


def put_unit(folder: Path, design: Design, unit: UnitId, rows: pa.Table, block_sha256: str) -> None:
    """The unit lies in the study."""
    sink = io.BytesIO()
    pq.write_table(in_key_order(rows), sink, compression="zstd")
    data = sink.getvalue()
    plan = plan_unit(design, unit)
    n = rows.num_rows
    correct = sum(rows["correct"].to_pylist())
    record = UnitRecord(
        format="unit-record/1",
        unit=str(unit),
        system=plan.system,
        benchmark=plan.benchmark,
        protocol=plan.protocol_document,
        prompts_sha256="0" * 64,
        verifier=plan.verifier,
        registration_sha256=block_sha256,
        origin=Origin(kind="pipeline", rows_read=n),
        files=(UnitFile(path="rows.parquet", bytes=len(data), sha256=hashlib.sha256(data).hexdigest()),),
        counts={"main": Counts(planned=n, got=n, judged=n, correct=correct)},
    )
    LocalStore(folder).put(record, {"rows.parquet": data})


def measure(name: str, study: Path, *options: str) -> Measured:
    """One build in its own process."""
    before = os.times()
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from manifests.console import run\n"
        "from report.cli import build_report\n"
        "try:\n run(build_report, sys.argv[1:], name='b')\n"
        "finally:\n print('KB', open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(study), "--offline", *options],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    after = os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    lines = done.stdout.splitlines()
    if done.returncode not in (0, 1) or not lines:
        raise SystemExit(done.stderr)
    kilobytes = float(lines[-1].split()[1])
    return Measured(
        name=name,
        seconds=after.elapsed - before.elapsed,
        cpu_s=cpu_s,
        megabytes=kilobytes / 1024,
        said=lines[0].partition(": ")[2],
    )


def main() -> None:
    """Make, build, print a table."""
    arguments = argparse.ArgumentParser()
    for name, value in (("units", 65), ("rows", 600_000), ("megabytes", 500), ("times", 1)):
        arguments.add_argument(f"--{name}", type=int, default=value)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study"
        make_study(study, n_units=given.units, n_rows=given.rows, megabytes=given.megabytes)
        size = sum(path.stat().st_size for path in study.rglob("*") if path.is_file()) / 1e6
        print(f"{given.units} units, {given.rows:,} rows, {size:.0f} MB")
        results = [
            measure("cold", study, "--fresh"),
            measure("cold again, files cached", study, "--fresh"),
            measure("nothing changed", study),
        ]
        alter(study)
        results.append(measure("one unit changed", study))
        shutil.rmtree(study)
        if given.times > 1:
            many = Path(folder) / "many"
            make_study(
                many,
                n_units=given.units * given.times,
                n_rows=given.rows * given.times,
                megabytes=given.megabytes * given.times,
            )
            results.append(measure(f"{given.times} times the units, cold", many, "--fresh"))
    for one in results:
        print(
            f"{one.name:28} {one.seconds:7.2f} s, {one.cpu_s:6.2f} s of CPU {one.megabytes:7.0f} MB   {one.said}"
        )


def alter(study: Path) -> None:
    """The first candidate is made anew with other verdicts."""
    design = load_design(study / "PREREGISTRATION.md")
    unit = design.planned_units()[1].unit
    record = json.loads((study / f"manifests/{unit}.json").read_bytes())
    n_problems = design.benchmarks["b"].n
    size = (study / f"units/{unit}/rows.parquet").stat().st_size
    shutil.rmtree(study / f"units/{unit}")
    (study / f"manifests/{unit}.json").unlink()
    characters = max(1, int(1.2 * size / (n_problems * SAMPLES)))
    put_unit(study, design, unit, make_rows(9999, n_problems, characters), record["registration_sha256"])


if __name__ == "__main__":
    main()
