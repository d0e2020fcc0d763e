"""`new --from LOG`: what logs tell becomes a design, what they do not tell is left to fill in."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from manifests.errors import BeforehandError
from manifests.importers.drafting import draft_design
from prereg.check import check_registration
from prereg.cli import new
from prereg.plan import load_design

DATA = Path(__file__).parent / "data"


def log(path, system, n=3, samples=2, **common):
    rows = (
        {"id": f"p{i}", "sample": j, "ok": True, "question": f"q{i}", **common}
        for i in range(n)
        for j in range(samples)
    )
    target = path / f"{system}.jsonl"
    target.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return target


def test_a_study_drafted_from_two_logs_plans_their_units(tmp_path):
    logs = [log(tmp_path, name, cap_tokens=64) for name in ("before", "after")]
    study = tmp_path / "study"
    result = CliRunner().invoke(new, [str(study), "--from", str(logs[0]), "--from", str(logs[1])])
    assert result.exit_code == 0, result.output
    assert "retrospective" in result.stdout
    design = load_design(study / "PREREGISTRATION.md")
    assert ({"before", "after"}, 3, 64) == (
        set(design.systems), design.benchmarks["main"].n, design.protocols["main"].cap_tokens,
    )  # fmt: skip
    assert [2] == [sampling.samples for sampling in design.resolve_protocol("main").samplings]
    assert ["after.main.main", "before.main.main"] == [str(entry.unit) for entry in design.planned_units()]


def test_what_the_logs_do_not_say_is_left_to_fill_in(tmp_path):
    study = tmp_path / "study"
    CliRunner().invoke(new, [str(study), "--from", str(log(tmp_path, "only"))])
    assert any("FILL" in f"{one.where} {one.what}" for one in check_registration(study))


def test_an_inspect_log_names_its_system_settings_and_epochs(tmp_path):
    draft = draft_design([DATA / "inspect/adding.eval"])
    for line in (
        "[systems.model]", "n = 4", "cap_tokens = 64", "sampling.main = { samples = 3, temperature = 0.7 }",
        'verifier = { kind = "imported", scorer = "match" }',
    ):  # fmt: skip
        assert line in draft.fence
    assert "adding.eval: status: 11 of 12 planned samples were completed" in draft.said


def test_logs_that_ask_different_things_under_one_id_are_no_benchmark(tmp_path):
    logs = [log(tmp_path, "before"), log(tmp_path, "after", question="other")]
    with pytest.raises(BeforehandError, match="stands for another text"):
        draft_design(logs)


def lm_eval_run(folder, revision):
    """A copy of a log of lm-eval whose results name the revision."""
    folder.mkdir()
    samples = next((DATA / "lm_eval").glob("*choice*"))
    (folder / samples.name).write_bytes(samples.read_bytes())
    results = json.loads(next((DATA / "lm_eval").glob("results*")).read_text())
    results |= {"model_name": "org/model", "config": {**results["config"], "model_sha": revision}}
    (folder / "results.json").write_text(json.dumps(results))
    return [folder / samples.name, folder / "results.json"]


def test_two_revisions_of_one_model_are_two_systems(tmp_path):
    first, second = lm_eval_run(tmp_path / "a", "a" * 40), lm_eval_run(tmp_path / "b", "b" * 40)
    fence = draft_design([first[0], second[0], first[1], second[1]]).fence
    for name, letter in (("model", "a"), ("model-2", "b")):
        assert f'[systems.{name}]\nmodel = {{ repo = "org/model", revision = "{letter * 40}" }}\n' in fence
    assert 'candidate = { system = "model-2", protocol = "main" }' in fence


def test_any_name_of_a_model_gives_toml(tmp_path):
    path = tmp_path / "log.json"
    data = (DATA / "inspect/adding.json").read_text()
    path.write_text(data.replace('"mockllm/model"', '"tiny \U0001f600 \\u007f \\ud800"'))
    systems = tomllib.loads(draft_design([path]).fence)["systems"]
    assert ["the log calls it tiny \U0001f600 ⟨U+007F⟩ ? and gives no revision"] == [
        system["model"]["unrecorded"] for system in systems.values()
    ]
