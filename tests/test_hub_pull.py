import os
import shutil
import signal

import pytest
from minihub_client import REPO, files_below
from study_factory import better, import_log, write_log

from manifests.digests import sha256_bytes
from manifests.pins import read_pins
from manifests.records import UnitFile, read_record, record_bytes

pytest_plugins = ("minihub_fixtures",)

UNITS = ("base.toy.main", "sft.toy.main")


def repo(client):
    return client.hub.repos.repos["dataset", REPO]


def cached_rows(client, unit=UNITS[0]):
    """The one cached rows file of the unit."""
    system, benchmark, protocol = unit.split(".")
    found = list(client.cache.glob(f"*/snapshots/*/evals/{system}/{benchmark}/{protocol}/rows.parquet"))
    assert 1 == len(found)
    return found[0]


def test_a_pull_brings_the_very_bytes_that_were_pushed(client, pushed, clone):
    client.ok("pull", clone)
    for unit in UNITS:
        assert (pushed / f"units/{unit}/rows.parquet").read_bytes() == cached_rows(client, unit).read_bytes()


def test_a_pull_writes_no_rows_into_the_study_folder(client, clone):
    before = files_below(clone)
    client.ok("pull", clone)
    assert before == files_below(clone)


def test_a_second_pull_with_nothing_new_makes_no_request_and_loads_no_client(client, clone):
    client.ok("pull", clone)
    client.hub.requests.clear()
    done = client.ok("pull", clone, no_sockets=True)
    assert [] == client.hub.requests
    assert "2 units at hand, 0 fetched" in done.out


def test_a_planned_unit_that_landed_is_found_pinned_and_recorded(client, pushed, clone):
    (clone / "pins.json").unlink()
    for unit in UNITS:
        (clone / f"manifests/{unit}.json").unlink()
    done = client.ok("pull", clone)
    assert "2 units at hand, 2 fetched" in done.out
    assert set(UNITS) == set(read_pins(clone).units)
    for unit in UNITS:
        assert (pushed / f"manifests/{unit}.json").read_bytes() == (
            clone / f"manifests/{unit}.json"
        ).read_bytes()


def test_a_unit_that_has_not_landed_costs_one_request_and_is_named(client, study, tmp_path):
    client.hub.repos.new(REPO)
    client.ok("push", study, "--unit", UNITS[0])
    clone = shutil.copytree(study, tmp_path / "elsewhere/study")
    shutil.rmtree(clone / "units")
    (clone / f"manifests/{UNITS[1]}.json").unlink()
    client.ok("pull", clone)
    client.hub.requests.clear()
    done = client.ok("pull", clone)
    assert f"not in the repository yet: {UNITS[1]}" in done.out
    assert 1 == len(client.hub.requests)
    client.ok("push", study)
    assert "2 units at hand, 1 fetched" in client.ok("pull", clone).out


def test_a_pulled_unit_keeps_its_pin_when_the_repository_moves_on(client, clone):
    pins = (clone / "pins.json").read_bytes()
    client.hub.repos.put(repo(client), {"evals/sft/toy/main/rows.parquet": b"other"}, "overwritten")
    client.ok("pull", clone)
    assert pins == (clone / "pins.json").read_bytes()


def test_only_the_files_of_wanted_units_are_fetched(client, clone):
    client.hub.repos.put(repo(client), {"evals/sft/toy/main/extra.bin": b"x" * 1000}, "extra")
    client.ok("pull", clone, "--unit", UNITS[0])
    assert [] == client.hub.asked("sft")


def test_a_record_that_is_not_the_pinned_one_is_refused(client, clone):
    shutil.copy(clone / f"manifests/{UNITS[1]}.json", clone / f"manifests/{UNITS[0]}.json")
    done = client.run("pull", clone)
    assert 1 == done.code
    assert "the pin says" in done.err


@pytest.mark.parametrize("revision", ["main", "v1", "abc1234", "A" * 40])
def test_a_pin_that_is_no_full_sha_is_refused(client, clone, revision):
    sha = repo(client).head().sha
    pins = clone / "pins.json"
    pins.write_text(pins.read_text().replace(sha, revision))
    done = client.run("pull", clone)
    assert 2 == done.code
    assert "revision" in done.err


# Refresh


def test_refresh_with_nothing_new_says_where_the_head_is(client, clone):
    client.ok("pull", clone)
    assert f"head: {REPO}@{repo(client).head().sha}" in client.ok("pull", clone, "--refresh").out


def test_refresh_is_clean_when_other_commits_left_the_units_alone(client, clone):
    client.hub.repos.put(repo(client), {"notes.md": b"x"}, "notes")
    pins = (clone / "pins.json").read_bytes()
    client.ok("pull", clone, "--refresh")
    assert pins == (clone / "pins.json").read_bytes()


def test_refresh_shows_a_unit_with_other_content_and_leaves_its_pin(client, clone):
    sha = repo(client).head().sha
    client.hub.repos.put(repo(client), {"evals/sft/toy/main/record.json": b"{}"}, "overwritten")
    done = client.run("pull", clone, "--refresh")
    assert 1 == done.code
    assert (
        f"{UNITS[1]}: has other content in {REPO}@{repo(client).head().sha}; it stays pinned at {sha}"
        in done.out
    )
    assert {sha} == {pin.revision for pin in read_pins(clone).units.values()}


def test_refresh_finds_a_commit_that_vanished_and_pins_the_same_content_anew(client, clone):
    sha = repo(client).head().sha
    repo(client).rewrite()
    done = client.run("pull", clone, "--refresh")
    assert 1 == done.code
    assert f"its pinned commit {sha} vanished from {REPO}: the history was rewritten" in done.out
    assert {repo(client).head().sha} == {pin.revision for pin in read_pins(clone).units.values()}
    client.ok("pull", clone, "--refresh")


def test_refresh_after_a_rewritten_history_without_the_content_keeps_the_pin(client, clone):
    sha = repo(client).head().sha
    repo(client).rewrite(without="evals/sft/toy/main/record.json")
    done = client.run("pull", clone, "--refresh")
    assert 1 == done.code
    assert "the head does not hold this content" in done.out
    assert sha == read_pins(clone).units[UNITS[1]].revision


def test_a_vanished_commit_is_a_finding_of_its_own(client, clone):
    repo(client).rewrite()
    done = client.run("pull", clone)
    assert 1 == done.code
    assert 2 == done.out.count("this commit is not there: the history was rewritten")
    assert "--refresh" in done.out


def test_a_vanished_commit_does_not_hurt_a_full_cache(client, clone):
    client.ok("pull", clone)
    repo(client).rewrite()
    client.ok("pull", clone)


# Killed, damaged, hostile


@pytest.mark.parametrize("request_number", range(1, 8))
def test_a_pull_killed_at_any_request_is_finished_by_the_same_command(client, clone, request_number):
    (clone / "pins.json").unlink()
    for unit in UNITS:
        (clone / f"manifests/{unit}.json").unlink()
    seen = []

    def count():
        seen.append(1)
        if len(seen) == request_number:
            os.kill(client.pids[0], signal.SIGKILL)

    client.hub.fault(".", "call", times=-1, call=count)
    client.start(client.order("pull", clone))
    assert -signal.SIGKILL == client.wait()[0].code
    assert not (clone / "pins.json").exists()
    client.hub.faults.clear()
    client.ok("pull", clone)
    assert set(UNITS) == set(read_pins(clone).units)


def test_a_cached_file_with_a_flipped_byte_is_found_and_fetched_again(client, clone):
    client.ok("pull", clone)
    blob = cached_rows(client).resolve()
    good = blob.read_bytes()
    blob.write_bytes(bytes([good[0] ^ 1]) + good[1:])
    done = client.ok("pull", clone)
    assert "1 fetched" in done.out
    assert good == cached_rows(client).read_bytes()


def test_a_cut_file_in_the_cache_is_found_and_fetched_again(client, clone):
    client.ok("pull", clone)
    blob = cached_rows(client).resolve()
    good = blob.read_bytes()
    blob.write_bytes(good[:-1])
    client.ok("pull", clone)
    assert good == cached_rows(client).read_bytes()


def test_a_file_whose_name_looks_like_a_pattern_is_fetched_and_no_other(client, study, tmp_path):
    client.hub.repos.new(REPO)
    path = study / f"manifests/{UNITS[0]}.json"
    record, name = read_record(path), "notes [a-z]*?.txt"
    (study / f"units/{UNITS[0]}" / name).write_bytes(b"x")
    extra = UnitFile(path=name, bytes=1, sha256=sha256_bytes(b"x"))
    path.write_bytes(record_bytes(record.model_copy(update={"files": (*record.files, extra)})))
    client.ok("push", study, "--unit", UNITS[0])
    shutil.rmtree(study / "units")
    client.ok("pull", study, "--unit", UNITS[0])
    assert {name, "rows.parquet"} == {one.name for one in cached_rows(client).parent.iterdir()}


HOSTILE = {
    "evals/../../../../escaped.txt": b"x",
    "/absolute.txt": b"x",
    "evals/base/toy/main/../../../../../escaped.txt": b"x",
    "evals/base/toy/main/rows.parquet\u202e.txt": b"x",
    "evals/*/toy/main/[a-z].parquet": b"x",
    "evals/base/toy/main/\x1b[31mred": b"x",
    "C:\\windows.txt": b"x",
    "evals/base/toy/main/" + "n" * 300: b"x",
    "reports/<script>/x": b"x",
    "evals/UPPER/toy/main/record.json": b"x",
}


def test_hostile_names_in_the_repository_are_never_written_and_never_shown_raw(client, clone, tmp_path):
    client.hub.repos.put(repo(client), HOSTILE, "hostile")
    (clone / "pins.json").unlink()
    for unit in UNITS:
        (clone / f"manifests/{unit}.json").unlink()
    before = set(tmp_path.parent.rglob("escaped.txt"))
    done = client.ok("pull", clone)
    names = {path.name for path in client.cache.rglob("*") if path.is_file() and "snapshots" in path.parts}
    assert {"rows.parquet", "record.json"} == names
    assert before == set(tmp_path.parent.rglob("escaped.txt"))
    assert "\x1b" not in done.said


def test_a_hostile_record_that_names_a_path_outside_is_refused(client, clone):
    path = clone / f"manifests/{UNITS[0]}.json"
    record = read_record(path)
    evil = UnitFile(path="../../../../../../etc/passwd", bytes=1, sha256="0" * 64)
    hostile = record_bytes(record.model_copy(update={"files": (evil,)}))
    (clone / "pins.json").unlink()
    for unit in UNITS:
        (clone / f"manifests/{unit}.json").unlink()
    client.hub.repos.put(repo(client), {"evals/base/toy/main/record.json": hostile}, "hostile")
    done = client.run("pull", clone)
    assert 1 == done.code
    assert "which leaves its folder" in done.out
    assert UNITS[0] not in read_pins(clone).units
    assert UNITS[1] in read_pins(clone).units
    assert [] == client.hub.asked("passwd")


def test_a_record_at_another_units_place_is_refused(client, clone):
    other = (clone / f"manifests/{UNITS[1]}.json").read_bytes()
    (clone / f"manifests/{UNITS[0]}.json").unlink()
    (clone / "pins.json").unlink()
    client.hub.repos.put(repo(client), {"evals/base/toy/main/record.json": other}, "swapped")
    done = client.run("pull", clone)
    assert 1 == done.code
    assert f"the record at its place is that of {UNITS[1]}" in done.out
    assert UNITS[0] not in read_pins(clone).units


def test_a_repository_of_2000_units_costs_no_more_requests_than_its_pages(client, clone):
    many = {
        f"evals/s{number}/toy/main/{name}": b"{}"
        for number in range(2000)
        for name in ("record.json", "rows.parquet")
    }
    client.hub.repos.put(repo(client), many, "many")
    (clone / "pins.json").unlink()
    for unit in UNITS:
        (clone / f"manifests/{unit}.json").unlink()
    done = client.ok("pull", clone)
    assert 5 == len(client.hub.asked("/tree/"))
    assert 15 >= len(client.hub.requests)
    assert 20 > done.seconds


def test_a_unit_in_the_study_folder_is_not_fetched(client, pushed):
    client.ok("pull", pushed)
    assert [] == client.hub.requests


def test_a_unit_imported_here_and_not_pushed_is_left_alone(client, study):
    client.hub.repos.new(REPO)
    client.ok("push", study, "--unit", UNITS[0])
    shutil.rmtree(study / "units" / UNITS[1])
    (study / f"manifests/{UNITS[1]}.json").unlink()
    import_log(study, UNITS[1], write_log(study.parent / "logs/again.jsonl", better))
    client.hub.requests.clear()
    client.ok("pull", study)
    assert [] == client.hub.requests
