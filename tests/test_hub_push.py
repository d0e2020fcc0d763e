import os
import shutil
import signal
import threading

import pytest
from minihub_client import REPO, on_hub
from study_factory import import_log, make_study, worse, write_log

from manifests.digests import sha256_file
from manifests.pins import read_pins
from manifests.records import UnitFile, read_record, record_bytes, record_sha256

pytest_plugins = ("minihub_fixtures",)

UNITS = ("base.toy.main", "sft.toy.main")


def head(client):
    return client.hub.repos.repos["dataset", REPO].head()


def titles(client):
    return [commit.title for commit in reversed(client.hub.repos.repos["dataset", REPO].history())]


def test_each_unit_is_one_commit_with_its_files_and_its_record(client, study):
    client.hub.repos.new(REPO)
    done = client.ok("push", study)
    assert ["initial commit", *(f"Add unit {unit}" for unit in UNITS)] == titles(client)
    names = {
        f"evals/{system}/toy/main/{name}"
        for system in ("base", "sft")
        for name in ("rows.parquet", "record.json")
    }
    assert names == set(head(client).tree) - {".gitattributes"}
    assert all(commit.sha in done.out for commit in client.hub.repos.repos["dataset", REPO].history()[:2])


def test_the_record_is_the_last_file_of_the_commit(client, study):
    client.hub.repos.new(REPO)
    client.ok("push", study, "--unit", UNITS[0])
    assert ["rows.parquet", "record.json"] == [
        path.rpartition("/")[2] for path in list(head(client).tree)[1:]
    ]


def test_pins_name_a_full_commit_and_the_records_digest(client, pushed):
    pins = read_pins(pushed).by_unit()
    assert list(UNITS) == [str(unit) for unit in pins]
    for unit, pin in pins.items():
        assert (REPO, head(client).sha) == (pin.repo, pin.revision)
        assert record_sha256(read_record(pushed / f"manifests/{unit}.json")) == pin.record_sha256


def test_units_pushed_together_are_pinned_at_the_last_commit_which_holds_them_all(client, pushed):
    assert {head(client).sha} == {pin.revision for pin in read_pins(pushed).by_unit().values()}


def test_a_unit_pushed_alone_is_pinned_at_its_own_commit(client, study):
    client.hub.repos.new(REPO)
    first = client.ok("push", study, "--unit", UNITS[0], "--json").document["units"][0]
    second = client.ok("push", study, "--unit", UNITS[1], "--json").document["units"][0]
    pins = read_pins(study).units
    assert [first["commit"], second["commit"]] == [pins[unit].revision for unit in UNITS]
    assert first["commit"] != second["commit"]


def test_records_do_not_change_when_they_are_pushed(client, study):
    before = {unit: (study / f"manifests/{unit}.json").read_bytes() for unit in UNITS}
    client.hub.repos.new(REPO)
    client.ok("push", study)
    assert before == {unit: (study / f"manifests/{unit}.json").read_bytes() for unit in UNITS}


def test_the_same_unit_twice_is_no_second_commit_and_no_other_pin(client, pushed):
    pins, commits = (pushed / "pins.json").read_bytes(), titles(client)
    done = client.ok("push", pushed)
    assert commits == titles(client)
    assert pins == (pushed / "pins.json").read_bytes()
    assert 2 == done.out.count("was there already")
    assert [] == client.hub.asked("^(PUT|POST .*/commit/)")


def test_other_content_under_a_pinned_unit_id_is_refused(client, pushed):
    (pushed / "manifests" / f"{UNITS[0]}.json").unlink()
    shutil.rmtree(pushed / "units" / UNITS[0])
    reimport(pushed, UNITS[0], text="other")
    done = client.run("push", pushed)
    assert 1 == done.code
    assert "another one is pinned" in done.err
    assert [] == client.hub.requests


def test_other_content_in_the_repository_is_refused_though_nothing_is_pinned(client, pushed):
    (pushed / "pins.json").unlink()
    (pushed / "manifests" / f"{UNITS[0]}.json").unlink()
    shutil.rmtree(pushed / "units" / UNITS[0])
    reimport(pushed, UNITS[0], text="other")
    before = titles(client)
    done = client.run("push", pushed, "--unit", UNITS[0])
    assert 1 == done.code
    assert "is there with other content" in done.err
    assert before == titles(client)


def reimport(study, unit, *, text):
    import_log(study, unit, write_log(study.parent / f"logs/{text}.jsonl", worse, text=text))


def test_a_damaged_unit_is_not_pushed(client, study):
    client.hub.repos.new(REPO)
    rows = study / "units" / UNITS[0] / "rows.parquet"
    data = bytearray(rows.read_bytes())
    data[100] ^= 1
    rows.write_bytes(data)
    done = client.run("push", study, "--unit", UNITS[0])
    assert 1 == done.code
    assert "the record says" in done.err
    assert ["initial commit"] == titles(client)


def test_a_missing_repository_is_made_only_when_asked_for_and_private(client, study):
    refused = client.run("push", study)
    assert 2 == refused.code
    assert "is not there, or it is private" in refused.err
    client.ok("push", study, "--create")
    assert client.hub.repos.repos["dataset", REPO].private


def test_a_study_with_a_local_store_is_told_what_to_write(client, study):
    (study / "study.toml").write_text('name = "toy"\ntitle = "Toy"\n')
    done = client.run("push", study)
    assert 2 == done.code
    assert 'store = { hub = "owner/name" }' in done.err


def test_an_unknown_unit_is_refused_with_the_known_ones(client, study):
    done = client.run("push", study, "--unit", "nobody.toy.main")
    assert 2 == done.code
    assert UNITS[0] in done.err


def test_a_commit_whose_answer_was_lost_is_found_and_not_made_twice(client, study):
    client.hub.repos.new(REPO)
    client.hub.fault("POST .*/commit/", "after", status=500)
    client.ok("push", study)
    assert ["initial commit", *(f"Add unit {unit}" for unit in UNITS)] == titles(client)
    assert {head(client).sha} == {pin.revision for pin in read_pins(study).units.values()}


def test_a_commit_whose_connection_dropped_is_made_once(client, study):
    client.hub.repos.new(REPO)
    client.hub.fault("POST .*/commit/", "drop")
    client.ok("push", study)
    assert 3 == len(titles(client))


def test_another_commit_in_between_is_built_upon(client, study):
    repo = client.hub.repos.new(REPO)
    client.hub.fault(
        "POST .*/commit/",
        "call",
        call=lambda: client.hub.repos.put(repo, {"other.txt": b"x"}, "somebody else"),
    )
    client.ok("push", study)
    assert ["initial commit", "somebody else", *(f"Add unit {unit}" for unit in UNITS)] == titles(client)
    assert "other.txt" in head(client).tree


def test_eight_writers_at_once_make_eight_commits_and_lose_none(client, tmp_path):
    client.hub.repos.new(REPO)
    systems = [f"w{number}" for number in range(8)]
    study = study_of(tmp_path / "many", systems)
    copies = [shutil.copytree(study, tmp_path / f"copy{number}") for number in range(8)]
    # All have read the same head before the first one commits.
    gate = threading.Barrier(8, timeout=60)
    client.hub.fault("POST .*/preupload/", "call", times=8, call=gate.wait)
    client.start(
        *(client.order("push", copy, "--unit", f"w{number}.toy.main") for number, copy in enumerate(copies))
    )
    done = client.wait()
    assert [0] * 8 == [one.code for one in done], [one.said for one in done]
    assert sorted(f"Add unit w{number}.toy.main" for number in range(8)) == sorted(titles(client)[1:])
    assert 8 == len([path for path in head(client).tree if path.endswith("record.json")])
    assert any(request.status == 412 for request in client.hub.requests)


def study_of(folder, systems):
    """A study on the Hub with one unit a system."""
    names = "\n".join(
        f'[systems.{name}]\nmodel = {{ repo = "org/{name}", revision = "{"b" * 40}" }}' for name in systems
    )
    units = ", ".join(f'"{name}.toy.main"' for name in systems)
    study = on_hub(make_study(folder, top=f"units = [{units}]", extra=names, n=4, samples=1))
    for name in systems:
        import_log(
            study, f"{name}.toy.main", write_log(folder.parent / "logs/one.jsonl", worse, n=4, samples=1)
        )
    return study


def test_two_pushes_into_one_study_folder_keep_both_pins(client, study):
    client.hub.repos.new(REPO)
    client.ok("push", study, "--unit", UNITS[1])
    client.ok("push", study, "--unit", UNITS[0])
    assert set(UNITS) == set(read_pins(study).units)


@pytest.mark.parametrize("request_number", range(1, 13))
def test_a_push_killed_at_any_request_is_finished_by_the_same_command(client, study, request_number):
    client.hub.repos.new(REPO)
    seen = []

    def count():
        seen.append(1)
        if len(seen) == request_number:
            os.kill(client.pids[0], signal.SIGKILL)

    client.hub.fault(".", "call", times=-1, call=count)
    client.start(client.order("push", study))
    assert -signal.SIGKILL == client.wait()[0].code
    client.hub.faults.clear()
    client.ok("push", study)
    assert ["initial commit", *(f"Add unit {unit}" for unit in UNITS)] == titles(client)
    assert set(UNITS) == set(read_pins(study).units)
    assert not list(study.rglob("*.partial"))


def test_a_token_in_a_file_to_be_pushed_stops_the_push(client, study):
    client.hub.repos.new(REPO)
    token = "hf_" + "another" * 4
    unit = study / "units" / UNITS[0] / "notes.txt"
    unit.write_text(f"I used {token}")
    record = read_record(study / f"manifests/{UNITS[0]}.json")
    extra = UnitFile(path="notes.txt", bytes=unit.stat().st_size, sha256=sha256_file(unit))
    changed = record.model_copy(update={"files": (*record.files, extra)})
    (study / f"manifests/{UNITS[0]}.json").write_bytes(record_bytes(changed))
    done = client.run("push", study, token=token)
    assert 2 == done.code
    assert "holds the token" in done.err
    assert token not in done.said
    assert ["initial commit"] == titles(client)
