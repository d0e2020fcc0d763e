"""A frozen study whose units the toy engine generates and the toy verifier judges."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from ledger.book import Book
from ledger.entries import Entry
from ledger.layout import empty_ledger
from manifests.names import UnitId
from pipeline.engines.model_folder import tree_sha256
from prereg.freeze import freeze

ROOT = Path(__file__).resolve().parent.parent
UNIT = UnitId("base", "sums", "short")
OTHER = UnitId("base", "sums", "long")

DESIGN = """format = "design/1"
pinned = ["run.toml", "prompts.toml"]
[benchmarks.sums]
problems = "problems/sums.jsonl"
sha256 = "{problems_sha256}"
n = {n}
[systems.base]
model = {{ path = "model", tree_sha256 = "{tree_sha256}", source = "made for this test" }}
[protocols.short]
cap_tokens = {cap}
verifier = {{ kind = "toy", toy = "1" }}
sampling.greedy = {{ samples = 1, temperature = 0.0, prompt = "short" }}
sampling.main = {{ samples = {samples}, seeds = "0-{last}", temperature = 1.0, prompt = "short" }}
[protocols.long]
cap_tokens = {cap}
verifier = {{ kind = "toy", toy = "1" }}
sampling.greedy = {{ samples = 1, temperature = 0.0, prompt = "long" }}
sampling.main = {{ samples = {samples}, seeds = "0-{last}", temperature = 1.0, prompt = "long" }}
[endpoints.P1]
role = "primary"
baseline = {{ system = "base", protocol = "short" }}
candidate = {{ system = "base", protocol = "long" }}
benchmark = "sums"
sampling = "main"
varies = ["prompt"]
metric = {{ name = "solved_at_k", k = {samples} }}
test = {{ name = "mcnemar_exact", sides = 2, alpha = "0.05" }}
decide = "p_below_alpha"
"""

PROMPTS = """format = "prompts/1"
[prompts.short]
user = "{question}"
[prompts.long]
system = "Add."
user = "{question}"
shots = [{ user = "1 and 2", assistant = "Answer: 3" }]
"""

RUN = """format = "run/1"
engine = "toy_engine"
batch_rows = {batch_rows}
over_long_prompts = "{over_long}"
stall_s = {stall_s}
[verification]
workers = 2
module = "toy_verifier"
budget_s = {budget_s}
memory_mb = {memory_mb}
[booking]
flavor = "cpu-local"
rate_usd_per_h = "{rate}"
"""


def make_run_study(
    folder: Path, *, n: int = 8, samples: int = 3, cap: int = 32, batch_rows: int = 5, over_long: str = "refuse",
    stall_s: float = 60.0, budget_s: float = 20.0, memory_mb: int = 2048, rate: str = "0.00", cap_usd: str | None = "1",
    frozen: bool = True, design: str = DESIGN,
) -> Path:  # fmt: skip
    """The study, frozen unless said otherwise, with a cap in its ledger."""
    for name in ("problems", "model"):
        (folder / name).mkdir(parents=True)
    problems = "".join(
        json.dumps({"problem_id": f"p{i:02d}", "question": f"{i} and {i + 3}", "gold": 2 * i + 3}) + "\n"
        for i in range(n)
    ).encode()
    (folder / "problems/sums.jsonl").write_bytes(problems)
    (folder / "model/weights").write_text("none")
    text = design.format(
        n=n, samples=samples, last=samples - 1, cap=cap, problems_sha256=hashlib.sha256(problems).hexdigest(),
        tree_sha256=tree_sha256(folder / "model"),
    )  # fmt: skip
    (folder / "PREREGISTRATION.md").write_text(
        f"# Toy\n\n<!-- PREREG:BEGIN -->\nWhy?\n\n```toml design\n{text}```\n<!-- PREREG:END -->\n"
    )
    (folder / "prompts.toml").write_text(PROMPTS)
    (folder / "run.toml").write_text(
        RUN.format(
            batch_rows=batch_rows,
            over_long=over_long,
            stall_s=stall_s,
            budget_s=budget_s,
            memory_mb=memory_mb,
            rate=rate,
        )
    )
    (folder / "study.toml").write_text('name = "toy"\ntitle = "Toy"\n')
    (folder / "DECISIONS.md").write_text("# Decisions\n")
    (folder / "ledger.csv").write_bytes(empty_ledger())
    if cap_usd is not None:
        set_cap(folder, cap_usd)
    if frozen:
        freeze(folder, now=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    return folder


def set_cap(folder: Path, usd: str) -> None:
    from decimal import Decimal

    entry = Entry(
        seq=1, time_utc=datetime.now(UTC).replace(microsecond=0), kind="cap", scope="study", amount_usd=Decimal(usd),
        note="by a test",
    )  # fmt: skip
    Book(folder / "ledger.csv", study_name="toy").append(entry)


def environment(tmp_path: Path, **toy: object) -> dict[str, str]:
    """For child processes: the toys can be imported, the lock is the test's own."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
        "BEFOREHAND_HEAVY_LOCK": str(tmp_path / "heavy.lock"),
        "TOY_ENGINE": json.dumps(toy),
    }


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pipeline.run_cli", *arguments]
