"""Studies to try the registration on: small, whole, and different in one thing at a time."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

from prereg.freeze import freeze

NOON = datetime(2026, 8, 26, 12, 0, 0, tzinfo=UTC)
REVISION = "dfd02e6271a58375dfbf3ece0175277cf6b6a89a"
PROBLEMS = b"".join(
    json.dumps(
        {"problem_id": f"p{index}", "family": "ab"[index % 2], "question": f"{index} + {index}?"}
    ).encode()
    + b"\n"
    for index in range(10)
)
CONFIG = b"epochs = 2\n"
SUBSET = b"p1\np3\np5\n"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


DESIGN = f"""format = "design/1"
[benchmarks.toy]
problems = "problems/toy.jsonl"
sha256 = "{sha(PROBLEMS)}"
n = 10
[systems.base]
model = {{ repo = "Goedel-LM/Goedel-Prover-V2-8B", revision = "{REVISION}" }}
[systems.sft]
trained_from = "base"
config = {{ path = "configs/sft.toml", sha256 = "{sha(CONFIG)}" }}
checkpoint = "final"
checkpoints = [20, 40]
[protocols.main]
cap_tokens = 64
verifier = {{ kind = "math", budget_s = 180, library = "0.9" }}
sampling.greedy = {{ samples = 1, temperature = 0.0 }}
sampling.main = {{ samples = 8, seeds = "0-7", temperature = 0.7, top_p = 0.95, prompt = "four-turns" }}
[protocols.curve]
reduces = "main"
sampling.main = {{ seeds = "0-3" }}
[protocols.some]
reduces = "main"
problems = {{ ids = "subset.txt", sha256 = "{sha(SUBSET)}", n = 3 }}
[endpoints.P1]
role = "primary"
baseline = "base"
candidate = "sft"
benchmark = "toy"
protocol = "main"
sampling = "main"
metric = {{ name = "solved_at_k", k = 8, rule = "prefix", round = 0 }}
test = {{ name = "mcnemar_exact", sides = 2, alpha = "0.05" }}
decide = "p_below_alpha"
[endpoints.S1]
role = "secondary"
baseline = {{ system = "base", protocol = "main" }}
candidate = {{ system = "sft-ckpt20", protocol = "curve" }}
benchmark = "toy"
sampling = "main"
metric = {{ name = "mean_correct" }}
test = {{ name = "paired_bootstrap", level = "0.95", resamples = 1000, seed = 0, strata = "family" }}
pairing = {{ problems = "candidate", samples = "candidate", naive_beside = true }}
decide = "ci_excludes_zero"
[[validity]]
rule = "same_verifier"
[[validity]]
rule = "infra_share_max"
share = "0.5"
endpoints = ["P1"]
"""


def registration(design: str = DESIGN, *, prose: str = "Is it better?\n") -> bytes:
    return (
        f"# Toy\n\n<!-- PREREG:BEGIN -->\n{prose}\n```toml design\n{design}```\n\n<!-- PREREG:END -->\n\n## Amendments\n"
    ).encode()


def make_study(root: Path, *, design: str = DESIGN, text: bytes | None = None, name: str = "toy") -> Path:
    study = root / name
    for path, data in {
        "study.toml": b'name = "toy"\ntitle = "Toy"\n',
        "PREREGISTRATION.md": registration(design) if text is None else text,
        "problems/toy.jsonl": PROBLEMS,
        "configs/sft.toml": CONFIG,
        "subset.txt": SUBSET,
    }.items():
        (study / path).parent.mkdir(parents=True, exist_ok=True)
        (study / path).write_bytes(data)
    return study


def frozen_study(root: Path, *, name: str = "toy") -> Path:
    study = make_study(root, name=name)
    freeze(study, now=lambda: NOON)
    return study
