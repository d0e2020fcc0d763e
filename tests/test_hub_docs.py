"""docs/hub.md against the installed client and against the commands themselves."""

import ast
import inspect
import re
import tomllib

import huggingface_hub
import pytest
from minihub_client import ROOT

from manifests.hub.layout import RECORD_FILE, report_folder, unit_folder
from manifests.names import UnitId
from manifests.pins import Pins
from manifests.study import StudyConfig
from pipeline.hub_cli import PINS, TOKENIZERS, pull, push

TEXT = (ROOT / "docs/hub.md").read_text()
CALLS = re.findall(r"^\| `([A-Z]\w+(?:\.\w+)?|\w+_\w+)` \| (`.+`) \|$", TEXT, re.MULTILINE)


def signature(call):
    target = huggingface_hub
    for name in call.split("."):
        target = getattr(target, name)
    return inspect.signature(target).parameters


def test_the_table_of_calls_is_read():
    assert 8 == len(CALLS)


@pytest.mark.parametrize(("call", "arguments"), CALLS)
def test_the_installed_client_takes_these_arguments(call, arguments):
    assert set(re.findall(r"`(\w+)`", arguments)) <= set(signature(call))


def test_the_table_names_every_call_and_every_keyword_that_the_code_uses():
    table = {call.split(".")[-1]: set(re.findall(r"`(\w+)`", arguments)) for call, arguments in CALLS}
    used = {}
    for node in ast.walk(ast.parse((ROOT / "manifests/hub/client.py").read_text())):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            on_api = isinstance(node.func, ast.Attribute) and "_api" in ast.unparse(node.func.value)
            if on_api or name in table:
                used.setdefault(name, set()).update(keyword.arg for keyword in node.keywords)
    assert set(table) == set(used)
    for name, keywords in used.items():
        assert keywords <= table[name], name


def test_the_client_is_new_enough_for_what_the_page_says():
    assert tuple(int(part) for part in huggingface_hub.__version__.split(".")[:2]) >= (2, 4)


def test_outside_the_pipeline_only_the_hub_modules_import_the_client():
    importing = {
        path.relative_to(ROOT).as_posix()
        for package in ("manifests", "ledger", "prereg", "report")
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"^\s*(from|import) (huggingface_hub|httpx2)", path.read_text(), re.MULTILINE)
    }
    assert {"manifests/hub/client.py", "manifests/hub/cache.py", "manifests/hub/errors.py"} == importing


def test_the_example_of_study_toml_is_a_store():
    example = tomllib.loads(re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL)[1].replace("   ", ""))
    config = StudyConfig.model_validate({"name": "a", "title": "A", **example})
    assert "owner/name" == config.store.hub


def test_the_example_of_pins_has_the_shape_of_pins():
    example = re.search(r"```json\n(.*?)```", TEXT, re.DOTALL)[1]
    filled = example.replace('"… 40 hex digits …"', f'"{"a" * 40}"').replace('"…"', f'"{"b" * 64}"')
    assert "owner/name" == next(iter(Pins.model_validate_json(filled).units.values())).repo


def test_paths_are_as_the_page_says():
    assert f"`{unit_folder(UnitId('SYSTEM', 'BENCHMARK', 'PROTOCOL'))}/{RECORD_FILE}`" in TEXT
    assert f"`{report_folder('STUDY')}/`" in TEXT


def test_every_option_of_push_and_pull_that_the_page_names_exists():
    known = {option for command in (push, pull) for parameter in command.params for option in parameter.opts}
    assert {"--create", "--refresh", "--unit"} <= known
    command = PINS(TOKENIZERS(lambda: None))
    assert {"--pins", "--tokenizers"} == {parameter.opts[0] for parameter in command.__click_params__}
