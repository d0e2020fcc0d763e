"""The public GSM8K file of 2021: four systems, one completion each, imported by maps alone. Never committed."""

import hashlib
import json
from pathlib import Path

import pytest

from ledger.layout import empty_ledger
from manifests.importers.mapping import RowMap
from manifests.names import UnitId
from manifests.study import Study
from pipeline.importing import Source, import_unit
from report.build import build

LOG = Path(__file__).resolve().parents[2] / "shared/data/gsm8k_openai_2021/example_model_solutions.jsonl"
SYSTEMS = {
    "ft6": "6b_finetuning",
    "ver6": "6b_verification",
    "ft175": "175b_finetuning",
    "ver175": "175b_verification",
}
pytestmark = pytest.mark.skipif(
    not LOG.exists(), reason="the shared data folder with the public GSM8K file is absent"
)

DESIGN = """format = "design/1"
units = ["ft6.gsm8k.one"]
[benchmarks.gsm8k]
problems = "problems.jsonl"
sha256 = "{sha256}"
n = 1319
{systems}
[protocols.one]
cap_tokens = 400
sampling.main = {{ samples = 1 }}
{endpoints}
"""


@pytest.fixture(scope="module")
def aggregate(tmp_path_factory):
    study = tmp_path_factory.mktemp("gsm8k") / "study"
    study.mkdir()
    problems = "".join(f'{{"problem_id": "q{number}"}}\n' for number in range(1319)).encode()
    (study / "problems.jsonl").write_bytes(problems)
    systems = "\n".join(
        f'[systems.{name}]\nmodel = {{ unrecorded = "an API model of 2021" }}' for name in SYSTEMS
    )
    endpoints = "\n".join(
        f'[endpoints.{name}]\nrole = "secondary"\nbaseline = "ft175"\ncandidate = "{candidate}"\nbenchmark = "gsm8k"\n'
        'protocol = "one"\nsampling = "main"\nmetric = { name = "solved_at_k", k = 1 }\n'
        'test = { name = "mcnemar_exact", alpha = "0.05" }\ndecide = "p_below_alpha"'
        for name, candidate in (("A", "ver175"), ("B", "ver6"))
    )
    design = DESIGN.format(sha256=hashlib.sha256(problems).hexdigest(), systems=systems, endpoints=endpoints)
    block = f"<!-- PREREG:BEGIN -->\n```toml design\n{design}```\n<!-- PREREG:END -->\n"
    (study / "PREREGISTRATION.md").write_text(block)
    (study / "study.toml").write_text('name = "gsm8k"\ntitle = "GSM8K"\n')
    (study / "DECISIONS.md").write_text("# Decisions\n")
    (study / "ledger.csv").write_bytes(empty_ledger())
    for name, field in SYSTEMS.items():
        row_map = RowMap.model_validate(
            {
                "format": "map/1",
                "columns": {
                    "problem_id": {"line_number": True, "prefix": "q"},
                    "completion": f"{field}.solution",
                    "correct": f"{field}.is_correct",
                },
            }
        )
        import_unit(Study.open(study), UnitId.parse(f"{name}.gsm8k.one"), [Source(path=LOG)], row_map=row_map)
    return json.loads(build(study).files["aggregate.json"])


def test_the_four_accuracies_come_out(aggregate):
    expected = {"ft6": 21.68, "ver6": 39.04, "ft175": 34.72, "ver175": 56.25}
    actual = {
        name: round(
            100 * aggregate["units"][f"{name}.gsm8k.one"]["samplings"]["main"]["pass_at_k"][0]["value"], 2
        )
        for name in SYSTEMS
    }
    assert expected == actual


def test_the_two_mcnemar_tests_come_out(aggregate):
    found = {name: node["estimate"] for name, node in aggregate["endpoints"].items()}
    assert (360, 76) == (found["A"]["paired"]["gained"], found["A"]["paired"]["lost"])
    assert found["A"]["p"] == pytest.approx(2.9e-45, rel=0.02)
    assert (209, 152) == (found["B"]["paired"]["gained"], found["B"]["paired"]["lost"])
    assert found["B"]["p"] == pytest.approx(0.00315, rel=0.002)
