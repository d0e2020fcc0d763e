"""A small real study in a folder: a design, a problem set, logs of two systems. Everything goes through the real commands' functions."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from ledger.layout import empty_ledger
from manifests.names import UnitId
from manifests.study import Study
from pipeline.importing import Import, Source, import_unit
from prereg.freeze import freeze

DESIGN = """format = "design/1"
{top}
[benchmarks.toy]
problems = "problems/toy.jsonl"
sha256 = "{problems_sha256}"
n = {n}
[systems.base]
model = {{ repo = "org/base", revision = "{revision}" }}
[systems.sft]
trained_from = "base"
config = {{ path = "configs/sft.toml", sha256 = "{config_sha256}" }}
checkpoint = "final"
[protocols.main]
cap_tokens = 64
verifier = {{ kind = "math", version = "1" }}
sampling.main = {{ samples = {samples}, temperature = 1.0, prompt = "plain" }}
[endpoints.P1]
role = "primary"
baseline = "base"
candidate = "sft"
benchmark = "toy"
protocol = "main"
sampling = "main"
metric = {{ name = "solved_at_k", k = {samples} }}
test = {{ name = "mcnemar_exact", sides = 2, alpha = "0.05" }}
decide = "p_below_alpha"
[endpoints.S1]
role = "secondary"
baseline = "base"
candidate = "sft"
benchmark = "toy"
protocol = "main"
sampling = "main"
metric = {{ name = "mean_correct" }}
test = {{ name = "paired_bootstrap", level = "0.95", resamples = 1000, seed = 7 }}
decide = "ci_excludes_zero"
{extra}
"""

REGISTRATION = """# Toy

<!-- PREREG:BEGIN -->
Does it work?

```toml design
{design}```
<!-- PREREG:END -->

Below.
"""

Verdict = Callable[[str, int], bool | None]


def problem_ids(n: int) -> list[str]:
    """`p000` to `p{n-1}`."""
    return [f"p{number:03d}" for number in range(n)]


def make_study(
    folder: Path,
    *,
    n: int = 12,
    samples: int = 4,
    top: str = "",
    extra: str = "",
    study_toml: str = "",
    ids: Iterable[str] = (),
) -> Path:
    """A study without units; nothing is frozen."""
    names = list(ids) or problem_ids(n)
    problems = "".join(
        json.dumps({"problem_id": name, "half": "ab"[i % 2]}) + "\n" for i, name in enumerate(names)
    ).encode()
    config = b"lr = 1e-4\n"
    (folder / "problems").mkdir(parents=True)
    (folder / "configs").mkdir()
    (folder / "problems/toy.jsonl").write_bytes(problems)
    (folder / "configs/sft.toml").write_bytes(config)
    design = DESIGN.format(
        top=top, extra=extra, n=len(names), samples=samples, revision="a" * 40,
        problems_sha256=hashlib.sha256(problems).hexdigest(), config_sha256=hashlib.sha256(config).hexdigest(),
    )  # fmt: skip
    (folder / "PREREGISTRATION.md").write_bytes(REGISTRATION.format(design=design).encode())
    (folder / "study.toml").write_text(f'name = "toy"\ntitle = "Does the toy work?"\n{study_toml}')
    (folder / "DECISIONS.md").write_text("# Decisions\n")
    (folder / "ledger.csv").write_bytes(empty_ledger())
    return folder


def better(problem_id: str, sample: int) -> bool:
    """Verdicts of a good system: 0.7 of the samples, fixed by name."""
    return random.Random(f"good {problem_id} {sample}").random() < 0.7


def worse(problem_id: str, sample: int) -> bool:
    """Verdicts of a poor system: 0.1 of the samples."""
    return random.Random(f"poor {problem_id} {sample}").random() < 0.1


def write_log(
    path: Path,
    verdict: Verdict,
    *,
    n: int = 12,
    samples: int = 4,
    text: str = "text",
    ids: Iterable[str] = (),
) -> Path:
    """A JSONL log with common field names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "problem_id": name,
            "sample_idx": sample,
            "completion": f"{text} {sample}",
            "correct": verdict(name, sample),
        }
        for name in list(ids) or problem_ids(n)
        for sample in range(samples)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8", newline="")
    return path


def import_log(study: Path, unit: str, log: Path) -> Import:
    """Import under a unit id."""
    return import_unit(Study.open(study), UnitId.parse(unit), [Source(path=log)], row_map=None)


def add_units(
    study: Path, *, n: int = 12, samples: int = 4, candidate: Verdict = better, baseline: Verdict = worse
) -> None:
    """Both units of the toy design."""
    import_log(
        study, "base.toy.main", write_log(study.parent / "logs/base.jsonl", baseline, n=n, samples=samples)
    )
    import_log(
        study, "sft.toy.main", write_log(study.parent / "logs/sft.jsonl", candidate, n=n, samples=samples)
    )


def freeze_study(study: Path, *, acknowledge: str | None = None) -> None:
    """Freeze at a fixed time."""
    freeze(study, acknowledge=acknowledge, now=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))


def whole_study(folder: Path, **options: int) -> Path:
    """Frozen first, then both units: a registered study."""
    study = make_study(folder, **options)
    freeze_study(study)
    add_units(study, **options)
    return study
