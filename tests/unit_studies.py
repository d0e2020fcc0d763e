"""A working study in a folder, for tests that import logs: two systems, one benchmark, one protocol."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from ledger.layout import empty_ledger
from manifests.importers.mapping import RowMap
from manifests.names import UnitId
from manifests.study import Study
from pipeline.importing import Source, import_unit

DESIGN = """format = "design/1"
units = ["other.main.k", "base.main.sub", "base.main.seeded"]
[benchmarks.main]
problems = "problems.jsonl"
sha256 = "{sha256}"
n = {n_problems}
[systems.base]
model = {{ unrecorded = "made up" }}
[systems.other]
model = {{ unrecorded = "made up as well" }}
[protocols.k]
cap_tokens = 64
verifier = {verifier}
sampling.main = {{ samples = {n_samples}, temperature = 0.7 }}
[protocols.sub]
reduces = "k"
problems = {{ even = 2 }}
[protocols.seeded]
cap_tokens = 64
sampling.main = {{ seeds = "10-{last_seed}" }}
[endpoints.P1]
role = "primary"
baseline = "base"
candidate = "other"
benchmark = "main"
protocol = "k"
sampling = "main"
metric = {{ name = "mean_correct" }}
test = {{ name = "paired_bootstrap", level = "0.95", resamples = 10000, seed = 0 }}
decide = "ci_excludes_zero"
"""
MATH = '{ kind = "math" }'


@dataclass(frozen=True, slots=True)
class WorkingStudy:
    """A study folder and what a test does to it."""

    root: Path

    @property
    def study(self) -> Study:
        return Study.open(self.root)

    def import_rows(self, *rows, unit="base.main.k", row_map=None, name="log.jsonl"):
        """Import objects through a log of their own."""
        path = self.root.parent / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return self.import_files(path, unit=unit, row_map=row_map)

    def import_files(self, *paths, unit="base.main.k", row_map=None):
        given = None if row_map is None else RowMap.model_validate({"format": "map/1", **row_map})
        sources = [Source.parse(str(path)) for path in paths]
        return import_unit(self.study, UnitId.parse(unit), sources, row_map=given)


def make_study(folder, *, n_problems=6, n_samples=2, verifier=MATH, problems=None):
    """The study lies in `folder`/study; its problems are p0, p1, …, or those given."""
    root = folder / "study"
    root.mkdir()
    ids = (
        [f"p{index}" for index in range(n_problems)]
        if problems is None
        else [one["problem_id"] for one in problems]
    )
    lines = problems or [{"problem_id": name} for name in ids]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    (root / "problems.jsonl").write_bytes(data)
    design = DESIGN.format(
        sha256=hashlib.sha256(data).hexdigest(), n_problems=len(ids), n_samples=n_samples,
        last_seed=9 + n_samples, verifier=verifier,
    )  # fmt: skip
    text = f"# Study\n\n<!-- PREREG:BEGIN -->\n```toml design\n{design}```\n<!-- PREREG:END -->\n"
    (root / "PREREGISTRATION.md").write_text(text)
    (root / "study.toml").write_text('name = "study"\ntitle = "Study"\n')
    (root / "DECISIONS.md").write_text("# Decisions\n")
    (root / "ledger.csv").write_bytes(empty_ledger())
    return WorkingStudy(root)


def samples(n_problems=6, n_samples=2, **common):
    """Whole rows: every problem and sample, each with a text of its own."""
    return [
        {
            "problem_id": f"p{problem}", "sample_idx": sample, "correct": (problem + sample) % 2 == 0,
            "completion": f"text {problem} {sample}", "n_completion_tokens": 9, "max_tokens": 64, "finish_reason": "stop",
            **common,
        }
        for problem in range(n_problems)
        for sample in range(n_samples)
    ]  # fmt: skip
