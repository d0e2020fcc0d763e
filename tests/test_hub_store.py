"""One study, two stores: a folder and a Hub repository give the same units, the same findings, the same report."""

import json
import shutil
import subprocess
import sys

import pytest
from minihub_client import REPO, ROOT, files_below, on_hub

from manifests.errors import BeforehandError
from manifests.hub.cache import cached_path
from manifests.hub.layout import Place, record_path, unit_path
from manifests.hub.store import HubStore, NotCachedError
from manifests.names import UnitId
from manifests.pins import Pin, write_pins
from manifests.records import read_record, record_sha256
from manifests.stores import LocalStore, check_files, load_record, open_store
from manifests.study import Study

pytest_plugins = ("minihub_fixtures",)

UNITS = tuple(UnitId.parse(text) for text in ("base.toy.main", "sft.toy.main"))
PILOT = ROOT / "studies" / "smollm2-raft-pilot"


@pytest.fixture(params=["local", "hub"])
def stored(request, toy_study, tmp_path, monkeypatch):
    """The toy study, opened once from its folder and once from a cache; no Hub is needed to read one."""
    study = shutil.copytree(toy_study, tmp_path / "study")
    if request.param == "local":
        (study / "study.toml").write_text(
            (study / "study.toml").read_text().replace(f'store = {{ hub = "{REPO}" }}\n', "")
        )
        return Study.open(study)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    revision = "c" * 40
    snapshot = tmp_path / "cache/datasets--tester--units/snapshots" / revision
    for unit in UNITS:
        record = study / f"manifests/{unit}.json"
        (snapshot / record_path(unit)).parent.mkdir(parents=True)
        shutil.copy(record, snapshot / record_path(unit))
        shutil.move(study / f"units/{unit}/rows.parquet", snapshot / unit_path(unit, "rows.parquet"))
        digest = record_sha256(read_record(record))
        write_pins(study, {unit: Pin(repo=REPO, revision=revision, record_sha256=digest)})
    shutil.rmtree(study / "units")
    return Study.open(study)


def rows_of(study, unit=UNITS[0]):
    return open_store(study, offline=True).file_path(unit, "rows.parquet")


def test_every_unit_of_the_store_is_listed(stored):
    assert UNITS == open_store(stored, offline=True).unit_ids()


def test_a_units_record_and_files_are_whole(stored):
    store = open_store(stored, offline=True, needed=UNITS)
    for unit in UNITS:
        record, digest = load_record(store, unit)
        assert record_sha256(record) == digest
        assert () == check_files(store, record)
        assert store.folder(unit) / "rows.parquet" == store.file_path(unit, "rows.parquet")


def test_a_changed_byte_in_a_file_is_found(stored):
    data = rows_of(stored).read_bytes()
    rows_of(stored).write_bytes(bytes([data[0] ^ 1]) + data[1:])
    store = open_store(stored, offline=True)
    findings = check_files(store, load_record(store, UNITS[0])[0])
    assert ["base.toy.main/rows.parquet"] == [finding.where for finding in findings]
    assert "the record says" in findings[0].what
    assert store.restore == findings[0].mend


def test_a_cut_file_is_found(stored):
    rows_of(stored).write_bytes(rows_of(stored).read_bytes()[:-1])
    store = open_store(stored, offline=True)
    assert "bytes, the record says" in check_files(store, load_record(store, UNITS[0])[0])[0].what


def test_a_missing_file_is_found(stored):
    rows_of(stored).unlink()
    store = open_store(stored, offline=True)
    assert ["is missing"] == [finding.what for finding in check_files(store, load_record(store, UNITS[0])[0])]


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "C:/x", "a\\b", "\nx", ""])
def test_a_name_that_leaves_the_unit_is_refused(stored, name):
    with pytest.raises(BeforehandError, match="leaves its folder"):
        open_store(stored, offline=True).file_path(UNITS[0], name)


def test_a_file_that_no_record_names_is_a_finding_in_the_study_folder_only(stored):
    store = open_store(stored, offline=True)
    (store.folder(UNITS[0]) / "stray.txt").write_text("x")
    found = [finding.what for finding in check_files(store, load_record(store, UNITS[0])[0])]
    assert (["is named by no record"] if isinstance(store, LocalStore) else []) == found


def test_only_a_hub_store_says_where_a_unit_lies(stored):
    store = open_store(stored, offline=True)
    assert (f"{REPO}@{'c' * 40}" if isinstance(store, HubStore) else "None") == str(store.place(UNITS[0]))


@pytest.mark.parametrize("stored", ["hub"], indirect=True)
def test_a_pinned_unit_that_is_not_in_the_cache_is_named_with_the_way_to_get_it(stored):
    rows_of(stored).unlink()
    with pytest.raises(NotCachedError) as caught:
        open_store(stored, offline=True, needed=UNITS)
    assert 4 == caught.value.exit_code
    assert ["base.toy.main"] == [finding.where for finding in caught.value.findings]
    assert f"pinned at {REPO}@{'c' * 40}" in caught.value.findings[0].what
    assert f"beforehand units pull {stored.root}" in caught.value.mend


def test_a_store_of_another_shape_is_refused_with_its_key(toy_study, tmp_path):
    for store in ('"s3"', '{ hub = "no-owner" }', '{ hub = "a/b", revision = "main" }', "7"):
        study = tmp_path / "study"
        study.mkdir(exist_ok=True)
        (study / "study.toml").write_text(f'name = "toy"\ntitle = "Toy"\nstore = {store}\n')
        with pytest.raises(BeforehandError, match="store"):
            Study.open(study)


# Reports


def numbers(folder):
    """Every file of the bundle but manifest and checksums, without the lines that give the digest of study.toml."""
    return {
        name: [line for line in data.splitlines() if b"study.toml" not in line]
        for name, data in files_below(folder / "report").items()
        if name not in {"MANIFEST.json", "CHECKSUMS.sha256"}
    }


@pytest.fixture
def pilot(client, tmp_path):
    """The bundled pilot study, pushed; its rows are still in its folder."""
    study = on_hub(shutil.copytree(PILOT, tmp_path / "pilot", ignore=shutil.ignore_patterns("report", "raw")))
    client.hub.repos.new(REPO)
    client.ok("push", study)
    return study


def test_the_pilot_pulled_into_an_empty_cache_elsewhere_and_built_offline_gives_the_bytes_of_the_local_build(
    client, pilot, tmp_path
):
    client.ok("build", pilot, "--offline", no_sockets=True)
    elsewhere = shutil.copytree(
        pilot, tmp_path / "another/path", ignore=shutil.ignore_patterns("report", "units")
    )
    client.ok("pull", elsewhere)
    client.hub.requests.clear()
    client.ok("build", elsewhere, "--offline", no_sockets=True)
    assert [] == client.hub.requests
    assert not (elsewhere / "units").exists()
    assert files_below(pilot / "report") == files_below(elsewhere / "report")


def test_moving_the_pilot_from_a_folder_to_the_hub_changes_no_number_in_its_report(client, pilot, tmp_path):
    local = shutil.copytree(PILOT, tmp_path / "local", ignore=shutil.ignore_patterns("report", "raw"))
    client.ok("build", local, "--offline")
    client.ok("build", pilot, "--offline")
    assert numbers(local) == numbers(pilot)
    manifests = [json.loads((study / "report/MANIFEST.json").read_text()) for study in (local, pilot)]
    inputs = [{one["path"]: one["sha256"] for one in manifest["inputs"]} for manifest in manifests]
    assert {"study.toml"} == {path for path in inputs[0] if inputs[0][path] != inputs[1].get(path)}
    assert set(inputs[0]) == set(inputs[1])


def test_the_manifest_names_repository_commit_and_digest_of_each_rows_file(client, pushed):
    client.ok("build", pushed, "--offline")
    manifest = json.loads((pushed / "report/MANIFEST.json").read_text())
    rows = [one for one in manifest["inputs"] if one["path"].endswith("rows.parquet")]
    head = client.hub.repos.repos["dataset", REPO].head()
    assert {(REPO, head.sha)} == {(one["repo"], one["revision"]) for one in rows}
    large = {file.key for path, file in head.tree.items() if path.endswith("rows.parquet")}
    assert large == {one["sha256"] for one in rows}
    assert not list((pushed / "report").rglob("*.parquet"))


def test_a_build_pulls_what_is_missing(client, clone):
    client.ok("build", clone)
    assert 2 == len(client.hub.asked("GET /large/"))
    client.hub.requests.clear()
    client.ok("build", clone)
    assert [] == client.hub.requests


def test_a_unit_that_lands_needs_a_rebuild_and_nothing_else(client, study, toy_built, tmp_path):
    client.hub.repos.new(REPO)
    client.ok("push", study, "--unit", str(UNITS[0]))
    clone = shutil.copytree(study, tmp_path / "elsewhere/study")
    shutil.rmtree(clone / "units")
    (clone / f"manifests/{UNITS[1]}.json").unlink()
    client.ok("build", clone)
    pending = json.loads((clone / "report/aggregate.json").read_text())
    client.ok("push", study)
    client.ok("build", clone)
    assert pending != json.loads((clone / "report/aggregate.json").read_text())
    assert numbers(toy_built) == numbers(clone)


def test_an_offline_build_with_an_empty_cache_names_the_units_and_opens_no_socket(client, clone):
    done = client.run("build", clone, "--offline", no_sockets=True)
    assert 4 == done.code
    for unit in UNITS:
        assert f"{unit}: rows.parquet is not in the cache; pinned at {REPO}@" in done.err
    assert f"beforehand units pull {clone}" in done.err
    assert not (clone / "report").exists()


def test_with_the_hub_down_and_a_full_cache_a_build_works(client, clone):
    client.ok("pull", clone)
    client.hub.fault(".", "drop", times=-1)
    client.ok("build", clone)


def test_the_guard_against_sockets_would_notice_one(client, clone):
    done = client.run("pull", clone, no_sockets=True)
    assert done.code not in (0, 4)
    assert "in an offline command" in done.said


def test_cached_files_lie_where_the_client_puts_them(tmp_path, monkeypatch):
    from huggingface_hub.file_download import repo_folder_name

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for kind in ("dataset", "model"):
        folder = repo_folder_name(repo_id="owner-1/na.me_2", repo_type=kind)
        found = cached_path(Place("owner-1/na.me_2", "c" * 40), "a/b.json", kind=kind)
        assert tmp_path / folder / "snapshots" / ("c" * 40) / "a/b.json" == found


def test_reading_a_full_cache_does_not_load_the_client(client, clone):
    client.ok("pull", clone)
    code = """
import sys
from pathlib import Path
from huggingface_hub import constants
from manifests.names import UnitId
from manifests.stores import check_files, load_record, open_store
from manifests.study import Study
constants.HF_HUB_CACHE = sys.argv[2]
units = [UnitId.parse(text) for text in sys.argv[3:]]
for offline in (True, False):
    store = open_store(Study.open(Path(sys.argv[1])), offline=offline, needed=units)
assert not [finding for unit in units for finding in check_files(store, load_record(store, unit)[0])]
print([name for name in ("httpx2", "manifests.hub.client") if name in sys.modules])
"""
    call = [sys.executable, "-c", code, str(clone), str(client.cache), *map(str, UNITS)]
    done = subprocess.run(call, capture_output=True, text=True, check=False, cwd=ROOT)
    assert "[]\n" == done.stdout, done.stderr
