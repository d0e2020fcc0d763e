"""Engines without their libraries: opening, model folders, prompts, the random numbers of a sample."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from manifests.errors import BeforehandError, CapabilityMissingError, FindingsError
from pipeline.engines.contract import EngineSettings
from pipeline.engines.model_folder import inspect_model, tree_sha256
from pipeline.engines.opening import open_engine
from pipeline.engines.uniforms import uniforms
from pipeline.prompts import Handler, Prompts, Shot, Turn

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = EngineSettings(model=Path("nowhere"), dtype="bfloat16", batch_rows=4)


def make_model_folder(folder, **changes):
    """A folder with everything but real weights."""
    folder.mkdir(parents=True)
    files = {
        "config.json": {"model_type": "llama"},
        "tokenizer_config.json": {"pad_token": "<pad>", "eos_token": "<end>"},
        "tokenizer.json": {},
        **changes,
    }
    for name, value in files.items():
        if value is not None:
            (folder / name).write_text(json.dumps(value))
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def findings_of(folder):
    with pytest.raises(FindingsError) as caught:
        inspect_model(folder)
    return [finding.what for finding in caught.value.findings]


def test_a_missing_library_is_a_missing_capability_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "pipeline.engines.transformers_engine", raising=False)
    monkeypatch.delitem(sys.modules, "pipeline.engines.shared_prefix", raising=False)
    with pytest.raises(CapabilityMissingError) as caught:
        open_engine("transformers", SETTINGS)
    assert (4, "python -m pip install 'beforehand[hf]'") == (caught.value.exit_code, caught.value.mend)


def test_an_engine_of_ones_own_is_named_by_its_module():
    assert "toy" == open_engine("toy_engine", SETTINGS).identity.name


@pytest.mark.parametrize(
    ("name", "words"), [("no_such_engine", "no engine has the name"), ("json", "has no open_engine")]
)
def test_a_name_that_leads_to_no_engine_is_refused(name, words):
    with pytest.raises(BeforehandError, match=words):
        open_engine(name, SETTINGS)


def test_no_heavy_library_is_imported_by_the_commands():
    code = "import sys, pipeline.run_cli, pipeline.stages, pipeline.supervisor, pipeline.problem_sets\n"
    code += (
        "print([name for name in ('torch', 'transformers', 'vllm', 'math_verify') if name in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "[]" == shown.strip()


def test_a_whole_model_folder_is_opened(tmp_path):
    assert "llama" == inspect_model(make_model_folder(tmp_path / "model")).model_type


def test_a_model_without_a_chat_template_is_refused(tmp_path):
    folder = make_model_folder(tmp_path / "model")
    (folder / "chat_template.jinja").unlink()
    assert ["has no chat template, so a chat cannot be written as the model expects it"] == findings_of(
        folder
    )


def test_a_model_without_a_padding_token_is_refused(tmp_path):
    folder = make_model_folder(tmp_path / "model", **{"tokenizer_config.json": {"eos_token": "<end>"}})
    assert ["names no pad_token"] == findings_of(folder)


def test_a_model_without_safetensors_is_refused(tmp_path):
    folder = make_model_folder(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    assert ["holds no *.safetensors"] == findings_of(folder)


def test_a_pickle_is_refused_also_beside_safetensors(tmp_path):
    folder = make_model_folder(tmp_path / "model")
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    assert ["is a pickle, which runs code when it is loaded"] == findings_of(folder)


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_a_model_that_asks_for_trust_remote_code_is_refused(tmp_path, file):
    folder = make_model_folder(tmp_path / "model")
    value = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**value, "auto_map": {"AutoModel": "modeling.Model"}}))
    (folder / "modeling.py").write_text("")
    assert 2 == len(findings_of(folder))


def test_everything_that_a_model_folder_lacks_is_said_at_once(tmp_path):
    folder = make_model_folder(tmp_path / "model", **{"tokenizer_config.json": {}, "tokenizer.json": None})
    (folder / "chat_template.jinja").unlink()
    (folder / "model.safetensors").unlink()
    assert 4 == len(findings_of(folder))


def test_the_digest_of_a_folder_names_every_file_and_its_content(tmp_path):
    folder = make_model_folder(tmp_path / "model")
    before = tree_sha256(folder)
    (folder / "model.safetensors").write_bytes(b"weightz")
    changed = tree_sha256(folder)
    (folder / "model.safetensors").rename(folder / "other.safetensors")
    assert 3 == len({before, changed, tree_sha256(folder)})


def test_a_link_out_of_the_model_folder_is_refused(tmp_path):
    folder = make_model_folder(tmp_path / "model")
    (tmp_path / "secret").write_text("outside")
    (folder / "extra.json").symlink_to(tmp_path / "secret")
    with pytest.raises(BeforehandError, match="leads out"):
        tree_sha256(folder)


def test_a_sample_has_numbers_of_its_own():
    one = uniforms(seed=1, problem_id="p", sample_idx=0, n=8)
    assert np.array_equal(one, uniforms(seed=1, problem_id="p", sample_idx=0, n=8))
    others = [(2, "p", 0), (1, "q", 0), (1, "p", 1), (11, "p", 0)]
    assert not any(
        np.array_equal(one, uniforms(seed=seed, problem_id=name, sample_idx=index, n=8))
        for seed, name, index in others
    )


def test_a_longer_draw_begins_with_the_shorter_one():
    assert np.array_equal(
        uniforms(seed=3, problem_id="p", sample_idx=2, n=4),
        uniforms(seed=3, problem_id="p", sample_idx=2, n=9)[:4],
    )


def test_the_numbers_are_the_same_on_every_machine():
    assert [0.5167, 0.924, 0.7096] == uniforms(seed=0, problem_id="words-add-000", sample_idx=0, n=3).round(
        4
    ).tolist()


def test_a_prompt_is_a_chat_with_the_problem_in_its_last_turn():
    handler = Handler(system="Add.", shots=(Shot(user="1 and 2", assistant="3"),), user="Q: {question}")
    assert (
        Turn("system", "Add."), Turn("user", "1 and 2"), Turn("assistant", "3"), Turn("user", "Q: {gold} {question}")
    ) == handler.turns({"question": "{gold} {question}", "gold": "4"}, where="p")  # fmt: skip


def test_a_field_that_the_problem_lacks_is_an_error_that_names_the_problem():
    with pytest.raises(BeforehandError) as caught:
        Handler(user="{statement}").turns({"question": "?"}, where="p07")
    assert "p07" == caught.value.where


def test_a_prompt_without_a_place_for_the_problem_is_refused():
    with pytest.raises(ValueError, match="no place for the problem"):
        Handler(user="Solve it.")


def test_a_prompt_that_nobody_wrote_is_an_error_that_lists_the_others():
    prompts = Prompts(format="prompts/1", prompts={"plain": Handler(user="{question}")})
    with pytest.raises(BeforehandError, match="'fs4'") as caught:
        prompts.handler("fs4", where="sampling.main")
    assert "prompts.toml has plain" == caught.value.mend
