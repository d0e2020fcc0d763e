"""Every fault that a network, a server or a disk can have: nothing is lost, and what cannot be mended is said clearly."""

import os
import shutil
import subprocess
import sys
import threading
import time

import pytest
from minihub_client import CANARY, REPO, ROOT

from manifests.pins import read_pins

pytest_plugins = ("minihub_fixtures",)

UNITS = ("base.toy.main", "sft.toy.main")
DEAD = "http://127.0.0.1:9"
"""Nobody listens on the discard port."""

PUSH_CALLS = {
    "head": r"GET /api/datasets/tester/units$",
    "paths": "POST .*/paths-info/",
    "preupload": "POST .*/preupload/",
    "batch": "POST .*/objects/batch",
    "upload": "PUT /large/",
    "commit": "POST .*/commit/",
}
PULL_CALLS = {
    "head": r"GET /api/datasets/tester/units$",
    "tree": "GET .*/tree/",
    "metadata": "HEAD .*/resolve/",
    "large file": "GET /large/",
    "small file": "GET .*/resolve/.*record.json",
}


def forget(clone):
    """The clone knows no pin and no record: a pull makes every kind of call."""
    (clone / "pins.json").unlink()
    for unit in UNITS:
        (clone / f"manifests/{unit}.json").unlink()
    return clone


def titles(client):
    return [commit.title for commit in reversed(client.hub.repos.repos["dataset", REPO].history())]


def all_faults_happened(client):
    return all(fault.times == 0 for fault in client.hub.faults)


@pytest.mark.parametrize("call", PUSH_CALLS)
def test_a_503_to_any_call_of_a_push_is_survived(client, study, call):
    client.hub.repos.new(REPO)
    client.hub.fault(PUSH_CALLS[call], "status", status=503)
    client.ok("push", study, "--unit", UNITS[0])
    assert ["initial commit", f"Add unit {UNITS[0]}"] == titles(client)
    assert client.hub.repos.repos["dataset", REPO].head().sha == read_pins(study).units[UNITS[0]].revision
    assert all_faults_happened(client)


@pytest.mark.parametrize("call", PULL_CALLS)
def test_a_503_to_any_call_of_a_pull_is_survived(client, clone, call):
    client.hub.fault(PULL_CALLS[call], "status", status=503)
    client.ok("pull", forget(clone))
    assert set(UNITS) == set(read_pins(clone).units)
    assert all_faults_happened(client)


@pytest.mark.parametrize(("kind", "status"), [("status", 429), ("status", 500), ("drop", 0)])
def test_a_push_survives_one_such_fault_in_every_call(client, study, kind, status):
    client.hub.repos.new(REPO)
    for pattern in PUSH_CALLS.values():
        client.hub.fault(pattern, kind, status=status)
    client.ok("push", study, "--unit", UNITS[0])
    assert ["initial commit", f"Add unit {UNITS[0]}"] == titles(client)
    assert all_faults_happened(client)


@pytest.mark.parametrize(("kind", "status"), [("status", 429), ("status", 500), ("drop", 0)])
def test_a_pull_survives_one_such_fault_in_every_call(client, clone, kind, status):
    for pattern in PULL_CALLS.values():
        client.hub.fault(pattern, kind, status=status)
    client.ok("pull", forget(clone))
    assert set(UNITS) == set(read_pins(clone).units)
    assert all_faults_happened(client)


@pytest.mark.parametrize("kind", ["truncate", "short", "corrupt"])
@pytest.mark.parametrize("path", ["/large/", "/.*record.json"])
def test_a_body_that_is_cut_short_or_flipped_once_is_survived(client, clone, kind, path):
    client.hub.fault(f"GET {path}", kind)
    client.ok("pull", forget(clone))
    assert set(UNITS) == set(read_pins(clone).units)
    assert all_faults_happened(client)


@pytest.mark.parametrize("name", ["rows.parquet", "record.json"])
def test_a_wrong_etag_that_comes_once_is_survived(client, clone, name):
    client.hub.fault(f"HEAD .*{name}", "etag")
    client.ok("pull", forget(clone))
    assert {"rows.parquet", "record.json"} == {
        path.name for path in client.cache.glob("*/snapshots/*/*/*/*/*/*")
    }
    assert all_faults_happened(client)


def test_a_flipped_byte_that_stays_is_a_finding_and_the_unit_is_not_pinned(client, clone):
    blob = client.hub.repos.repos["dataset", REPO].head().tree["evals/base/toy/main/rows.parquet"].key
    client.hub.fault(f"GET /large/{blob}", "corrupt", times=-1)
    done = client.run("pull", forget(clone))
    assert 1 == done.code
    assert f"{UNITS[0]}: rows.parquet has sha256" in done.out
    assert "fetched twice" in done.out
    assert {UNITS[1]} == set(read_pins(clone).units)


def test_a_wrong_etag_that_stays_is_a_finding(client, clone):
    client.hub.fault("HEAD .*base.*rows.parquet", "etag", times=-1)
    done = client.run("pull", clone)
    assert 1 == done.code
    assert f"lies in the cache as {'0' * 40}, its content has the id" in done.out


def test_a_pause_that_is_too_long_is_not_waited_for(client, clone):
    client.hub.fault("GET /api/datasets/tester/units$", "status", status=429, headers={"Retry-After": "600"})
    done = client.run("pull", clone)
    assert 4 == done.code
    assert "asks for a pause" in done.err
    assert 5 > done.seconds


def test_a_commit_that_never_gets_an_answer_ends_with_a_word_and_leaves_no_pin(client, study):
    client.hub.repos.new(REPO)
    client.hub.fault("POST .*/commit/", "status", status=503, times=-1)
    done = client.run("push", study)
    assert 4 == done.code
    assert f"{REPO}: answers 503" in done.err
    assert {} == read_pins(study).units


# Tokens


def test_a_token_without_write_access_is_told_so(client, study):
    client.hub.repos.new(REPO)
    client.hub.tokens = {CANARY: "read"}
    done = client.run("push", study)
    assert 2 == done.code
    assert "the token has no right to do this" in done.err
    assert "write access" in done.err
    assert ["initial commit"] == titles(client)


def test_a_token_without_write_access_is_enough_to_pull(client, clone):
    client.hub.tokens = {CANARY: "read"}
    client.ok("pull", clone)


@pytest.mark.parametrize("command", ["push", "pull"])
def test_an_expired_token_is_told_so(client, clone, study, command):
    client.hub.tokens = {"hf_anotherAnotherAnother": "write"}
    done = client.run(command, clone if command == "pull" else study)
    assert 2 == done.code
    assert "refused the token: it is missing, expired or revoked" in done.err
    assert "hf auth login" in done.err


def test_a_private_repository_without_a_token_looks_like_none(client, clone):
    client.hub.repos.repos["dataset", REPO].private = True
    done = client.run("pull", clone, token=None)
    assert 2 == done.code
    assert "is not there, or it is private and this token may not see it" in done.err
    client.ok("pull", clone)


def test_a_server_that_echoes_the_token_does_not_get_it_shown(client, clone):
    client.hub.fault(
        "GET /api/datasets/tester/units$", "status", status=418, message=f"no tea for Bearer {CANARY}"
    )
    done = client.run("pull", clone)
    assert 2 == done.code
    assert "no tea for Bearer <token>" in done.err


def test_a_message_of_the_server_with_control_characters_is_shown_harmlessly(client, clone):
    client.hub.fault("GET /api/datasets/tester/units$", "status", status=418, message="red\x1b[31m")
    assert "\x1b" not in client.run("pull", clone).said


def test_a_disabled_repository_is_called_so(client, clone):
    client.hub.repos.repos["dataset", REPO].disabled = True
    done = client.run("pull", clone)
    assert 2 == done.code
    assert "was disabled by the Hub" in done.err


def test_a_gated_repository_is_called_so(client, clone):
    client.hub.repos.repos["dataset", REPO].gated = "manual"
    done = client.run("pull", clone)
    assert 1 == done.code
    assert 2 == done.out.count("is gated, and the account of this token was not let in")


# The Hub is down. These start a process of their own, as a user would.


def command(*arguments, home, endpoint=DEAD, **environment):
    call = "import sys; sys.path[:0] = sys.argv[1:3]; from minihub_worker import Commands, run_command; "
    call += "run_command(Commands(), sys.argv[3:], name='beforehand')"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    environment = {
        **clean,
        "HF_ENDPOINT": endpoint,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HOME": str(home),
        **environment,
    }
    return subprocess.run(
        [sys.executable, "-c", call, str(ROOT), str(ROOT / "tests"), *map(str, arguments)],
        capture_output=True, text=True, env=environment, cwd=home, check=False, timeout=60,
    )  # fmt: skip


def test_with_the_hub_down_and_an_empty_cache_a_pull_fails_in_under_5_s(client, clone, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    start = time.perf_counter()
    done = command("pull", clone, home=home)
    assert 5 > time.perf_counter() - start
    assert 4 == done.returncode
    assert "cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr


def test_with_a_hub_that_only_says_503_a_pull_fails_in_under_5_s(client, clone):
    client.hub.fault(".", "status", times=-1)
    done = client.run("pull", clone)
    assert 4 == done.code
    assert "answers 503" in done.err
    assert 5 > done.seconds


def test_with_a_hub_that_never_answers_a_pull_fails_in_under_5_s(client, clone):
    release = threading.Event()
    client.hub.fault(".", "call", times=-1, call=lambda: release.wait(20))
    done = client.run("pull", clone)
    release.set()
    assert 4 == done.code
    assert "did not answer in time" in done.err
    assert 5 > done.seconds


def test_with_the_hub_down_and_a_full_cache_a_pull_works(client, clone, tmp_path):
    client.ok("pull", clone)
    home = tmp_path / "home"
    home.mkdir()
    done = command("pull", clone, home=home, HF_HUB_CACHE=str(client.cache))
    assert 0 == done.returncode, done.stderr
    assert "2 units at hand, 0 fetched" in done.stdout


def test_with_the_hub_down_and_the_cache_full_but_a_unit_still_awaited_the_pull_says_what_it_could_not_do(
    client, study, tmp_path
):
    client.hub.repos.new(REPO)
    client.ok("push", study, "--unit", UNITS[0])
    shutil.rmtree(study / "units")
    (study / f"manifests/{UNITS[1]}.json").unlink()
    client.ok("pull", study)
    client.hub.fault(".", "status", times=-1)
    done = client.run("pull", study)
    assert 4 == done.code
    assert "1 units at hand" in done.out
    assert "new units were not looked for: answers 503" in done.err


def test_offline_mode_of_the_environment_is_named(client, clone, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    done = command("pull", clone, home=home, HF_HUB_OFFLINE="1")
    assert 4 == done.returncode
    assert "unset HF_HUB_OFFLINE" in done.stderr


# The disk


@pytest.fixture
def read_only():
    """Makes every folder below one that cannot be written, until the test ends."""
    if not sys.platform.startswith("linux"):
        pytest.skip("root gives up its rights as Linux has them")
    folders = []

    def protect(top):
        folders.extend([top, *(path for path in top.rglob("*") if path.is_dir() and not path.is_symlink())])
        for folder in folders:
            folder.chmod(0o555)

    yield protect
    for folder in folders:
        folder.chmod(0o755)


def test_a_full_cache_and_a_study_on_a_read_only_disk_work(client, clone, read_only):
    client.ok("pull", clone)
    read_only(client.cache)
    read_only(clone)
    done = client.ok("pull", clone, obeys_permissions=True)
    assert "2 units at hand, 0 fetched" in done.out


def test_an_empty_cache_on_a_read_only_disk_is_told_so(client, clone, read_only, tmp_path):
    cache = tmp_path / "read-only"
    cache.mkdir()
    read_only(cache)
    done = client.run("pull", clone, cache=cache, obeys_permissions=True)
    assert 1 == done.code
    assert "the Hub client's cache cannot be written: Permission denied" in done.out
    assert "HF_HOME" in done.out


def test_a_damaged_file_in_a_cache_on_a_read_only_disk_is_told_so(client, clone, read_only):
    client.ok("pull", clone)
    blob = next(client.cache.glob("*/snapshots/*/evals/base/toy/main/rows.parquet")).resolve()
    blob.write_bytes(b"x" * blob.stat().st_size)
    read_only(client.cache)
    done = client.run("pull", clone, obeys_permissions=True)
    assert 2 == done.code
    assert "is damaged and cannot be removed" in done.err
