import gzip
import io
import json
import os
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ledger_rows import booking
from prereg_git import git
from prereg_studies import NOON, frozen_study, make_study

from ledger.book import Book
from ledger.layout import empty_ledger
from manifests.errors import FindingsError
from manifests.study import Study
from prereg.contents import recognise
from prereg.freeze import freeze
from prereg.git import GitState, Repository
from prereg.looking import look
from prereg.plan import load_design
from prereg.registration import read_registration
from prereg.search import Limits
from prereg.verify import verify
from prereg.witness import Witness

ROW = {"problem_id": "p3", "completion": "6", "correct": True}


def lines(*records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def put(study, path, data):
    (study / path).parent.mkdir(parents=True, exist_ok=True)
    (study / path).write_bytes(data)


def looked(study, **kwargs):
    opened = Study.open(study)
    return look(opened, load_design(opened.registration_path), **kwargs)


def seen(study, **kwargs):
    return [(one.path, one.kind, one.touches) for one in looked(study, **kwargs).found]


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def parquet(**columns):
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (lines(ROW), "rows"),
        (lines({"problem_id": "p3", "completion_text": "6", "prompt_ids": [1]}), "generations"),
        (lines({"problem_id": "p3", "accepted": True, "reasons": []}), "verdicts"),
        (json.dumps([ROW, ROW], indent=2).encode(), "rows"),
        (json.dumps({"samples": [{"id": "p3", "output": {"completion": "6"}, "scores": {"match": {}}}]}).encode(), "rows"),
        (lines({"question": "x", "task_id": "p3", "6B": {"solution": "6", "is_correct": True}}), "rows"),
        (b"problem_id,response,correct\np3,six,1\n", "rows"),
        (b"problem_id\tprediction\np3\tsix\n", "generations"),
        (parquet(problem_id=["p3"], completion=["6"], correct=[True]), "rows"),
        (gzip.compress(lines(ROW), mtime=0), "rows"),
        (zipped(**{"header.json": "{}", "samples/1.json": json.dumps(ROW)}), "rows"),
        (lines({"unit": "sft.toy.main", "format": "unit-record/1"}), "unit record"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["probe_16k.bin", "notes.md"])
def test_data_are_found_by_content_under_any_name(tmp_path, data, kind, name):
    study = make_study(tmp_path)
    put(study, f"scratch/{name}", data)
    system = "sft" if kind == "unit record" else "?"
    assert [(f"scratch/{name}", kind, (f"{system}.toy",))] == seen(study)


def test_renamed_problems_are_known_by_their_text(tmp_path):
    problem = {"problem_id": "p3", "question": "A cone has the height 6.5 and a base area of 30."}
    study = make_study(tmp_path)
    put(study, "problems/toy.jsonl", lines(problem))
    put(study, "x", lines({"id": "renamed-1", "prompt": f"Solve: {problem['question']}", "output": "195"}))
    assert [("x", "generations", ("?.toy",))] == seen(study)


@pytest.mark.parametrize(
    ("record", "path", "touches"),
    [
        ({**ROW, "model_path": "Goedel-LM/Goedel-Prover-V2-8B"}, "a.jsonl", ("base.toy",)),
        ({**ROW, "model_rev": "dfd02e6271a58375"}, "a.jsonl", ("base.toy",)),
        ({**ROW, "model": "runs/sft/export"}, "a.jsonl", ("sft.toy",)),
        (ROW, "sft-ckpt20/gen.jsonl", ("sft-ckpt20.toy",)),
        (ROW, "base_and_sft.jsonl", ("base.toy", "sft.toy")),
        ({**ROW, "problem_id": "elsewhere"}, "base.jsonl", ()),
    ],
)
def test_the_system_is_told_from_the_data_or_the_path(tmp_path, record, path, touches):
    study = make_study(tmp_path)
    put(study, path, lines(record, {**record, "problem_id": "q"}))
    assert [(path, "rows", touches)] == seen(study)


def test_checkpoints_and_training_logs_are_listed_but_touch_no_benchmark(tmp_path):
    study = make_study(tmp_path)
    header = json.dumps({"w": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}).encode()
    put(study, "final.bin", len(header).to_bytes(8, "little") + header + b"\0\0")
    put(study, "pytorch_model", zipped(**{"archive/data.pkl": b"x"}))
    put(study, "metrics", lines({"step": 1, "loss": 0.2}))
    assert [
        ("final.bin", "checkpoint", ()),
        ("metrics", "log", ()),
        ("pytorch_model", "checkpoint", ()),
    ] == seen(study)
    freeze(study, now=lambda: NOON)


def test_a_study_without_data_finds_nothing_and_says_where_it_looked(tmp_path):
    study = make_study(tmp_path)
    put(study, "package.json", b'{"name": "x", "score": 1}')
    put(study, "readme.csv", b"hello, text\n")
    witness = looked(study)
    assert () == witness.found
    assert (
        "nothing found in the places looked at: study (read), git history (not looked at), Hub (not looked at)"
        in witness.sentence
    )


def test_small_numbers_as_ids_need_company(tmp_path):
    study = make_study(tmp_path)
    put(study, "problems/toy.jsonl", lines(*({"problem_id": str(index)} for index in range(10))))
    put(study, "other.json", lines({"id": 3, "score": 1}, {"id": "q", "score": 1}, {"id": "r", "score": 1}))
    put(study, "same.json", lines(*({"id": index, "score": 1} for index in range(8))))
    assert [("other.json", "verdicts", ()), ("same.json", "verdicts", ("?.toy",))] == seen(study)


def test_freeze_stops_at_existing_data_until_they_are_acknowledged(tmp_path):
    study = make_study(tmp_path)
    put(study, "probe_16k.jsonl", lines(ROW, {**ROW, "problem_id": "p4"}))
    with pytest.raises(FindingsError, match="exist already") as caught:
        freeze(study, acknowledge="  ")
    assert ["rows, 2 records, touching ?.toy"] == [one.what for one in caught.value.findings]
    assert not (study / "registration.json").exists()
    freeze(study, acknowledge="64 problems were probed for the time estimate", now=lambda: NOON)
    record = read_registration(study / "registration.json")
    assert "64 problems were probed for the time estimate" == record.acknowledged
    assert ("probe_16k.jsonl", 2) == (
        Witness.read(record.witness, where="r").found[0].path,
        Witness.read(record.witness, where="r").found[0].n_records,
    )
    assert 0 == verify(study).exit_code


def test_a_witness_survives_its_record(tmp_path):
    study = make_study(tmp_path)
    put(study, "a.jsonl", lines(ROW))
    witness = looked(study)
    assert witness == Witness.read(json.loads(json.dumps(witness.document())), where="r")


def test_data_roots_are_searched_and_a_missing_one_is_said(tmp_path):
    study = make_study(tmp_path)
    put(tmp_path, "runs/gen.jsonl", lines(ROW))
    put(study, "study.toml", b'name = "toy"\ntitle = "Toy"\ndata_roots = ["../runs", "../gone"]\n')
    witness = looked(study)
    assert [("data root ../runs", "gen.jsonl")] == [(one.place, one.path) for one in witness.found]
    assert ["absent"] == [place.state for place in witness.places if place.name == "data root ../gone"]


def test_a_data_root_may_be_a_link_but_links_inside_are_not_followed(tmp_path):
    study = make_study(tmp_path)
    put(tmp_path, "far/gen.jsonl", lines(ROW))
    (tmp_path / "runs").symlink_to(tmp_path / "far")
    (tmp_path / "far" / "loop").symlink_to(tmp_path / "far")
    put(study, "study.toml", b'name = "toy"\ntitle = "Toy"\ndata_roots = ["../runs"]\n')
    witness = looked(study)
    assert ["gen.jsonl"] == [one.path for one in witness.found]
    root = next(place for place in witness.places if place.name.startswith("data root"))
    assert ("read in part", "link to a folder not followed: loop") == (root.state, root.note)


def test_a_pipe_or_an_unreadable_file_does_not_stop_the_search(tmp_path):
    study = make_study(tmp_path)
    os.mkfifo(study / "pipe")
    (study / "broken").symlink_to("nowhere")
    put(study, "z.jsonl", lines(ROW))
    witness = looked(study)
    assert ["z.jsonl"] == [one.path for one in witness.found]
    assert "not readable: broken" in witness.places[0].note


def test_a_search_that_stops_says_what_it_did_not_read(tmp_path):
    study = make_study(tmp_path)
    for index in range(20):
        put(study, f"many/{index}.txt", b"x")
    ticks = iter(range(1000))
    by_count = looked(study, limits=Limits(files=7)).places[0]
    by_time = looked(study, limits=Limits(seconds=5), clock=lambda: float(next(ticks))).places[0]
    assert ("read in part", 7) == (by_count.state, by_count.files)
    assert "the rest was not read" in by_count.note
    assert "the rest was not read" in by_time.note


def test_data_that_were_committed_and_deleted_are_found_in_the_history(tmp_path):
    study = make_study(tmp_path, name="deep/toy")
    git(tmp_path, "init", "-q")
    put(tmp_path, "elsewhere/probe", lines(ROW))
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "probe")
    git(tmp_path, "rm", "-rq", "elsewhere")
    git(tmp_path, "commit", "-qm", "tidy")
    assert [("elsewhere/probe", "rows", ("?.toy",))] == seen(study)
    assert ["git history"] == [one.place for one in looked(study).found]


def test_git_hooks_and_monitors_do_not_run(tmp_path):
    study = make_study(tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "plan")
    trap = tmp_path / ".git" / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\n")
    trap.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(trap))
    for hook in ("post-index-change", "reference-transaction", "post-checkout"):
        (tmp_path / ".git" / "hooks" / hook).parent.mkdir(exist_ok=True)
        (tmp_path / ".git" / "hooks" / hook).symlink_to(trap)
    freeze(study, now=lambda: NOON)
    assert not (tmp_path / "sprung").exists()


def test_freeze_records_commit_roots_and_whether_the_study_was_dirty(tmp_path):
    study = make_study(tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "plan")
    clean = Repository.of(study).state(study)
    put(study, "notes", b"x")
    freeze(study, now=lambda: NOON)
    recorded = GitState.read(read_registration(study / "registration.json").git, where="r")
    assert (False, True) == (clean.dirty, recorded.dirty)
    assert (clean.commit, clean.roots) == (recorded.commit, recorded.roots)


def test_a_shallow_clone_is_said_to_be_one(tmp_path):
    study = make_study(tmp_path / "origin")
    git(tmp_path / "origin", "init", "-q")
    for message in ("one", "two"):
        put(study, message, b"x")
        git(tmp_path / "origin", "add", "-A")
        git(tmp_path / "origin", "commit", "-qm", message)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path}/origin", "copy")
    history = next(place for place in looked(tmp_path / "copy" / "toy").places if place.name == "git history")
    assert ("read in part", "a shallow clone: older commits are not here") == (history.state, history.note)


def test_money_booked_for_a_registered_unit_is_found(tmp_path):
    study = make_study(tmp_path)
    put(study, "ledger.csv", empty_ledger())
    assert () == looked(study).found
    Book(study / "ledger.csv", study_name="toy").append(
        booking(unit="sft.toy.main"), booking("job-2", unit="sft.other.main")
    )
    assert [("ledger.csv", "ledger", ("sft.toy",))] == seen(study)


class TinyHub:
    def data_files(self):
        return (("evals/sft/toy/main/rows.jsonl", lines(ROW)), ("README.md", b"# hello"))


def test_a_hub_that_is_given_is_looked_at(tmp_path):
    witness = looked(make_study(tmp_path), hub=TinyHub())
    assert [("Hub", ("sft.toy",))] == [(one.place, one.touches) for one in witness.found]


@pytest.mark.parametrize(
    "data",
    [
        b"PAR1garbagePAR1",
        b"PK\x03\x04garbage",
        b"\x1f\x8bgarbage",
        b"BZhgarbage",
        b"\xfd7zXZ\x00garbage",
        b"",
        b"\x00" * 100,
    ],
)
def test_damaged_containers_are_no_data_and_no_crash(data):
    assert recognise(data) is None


def test_a_frozen_study_with_no_data_has_an_empty_witness(tmp_path):
    record = read_registration(frozen_study(tmp_path) / "registration.json")
    assert (None, ()) == (record.acknowledged, Witness.read(record.witness, where="r").found)


def test_a_long_list_is_cut_after_what_touches_the_design(tmp_path, monkeypatch):
    monkeypatch.setattr("prereg.looking.MOST_LISTED", 3)
    study = make_study(tmp_path)
    for index in range(5):
        put(study, f"a{index}", lines({"id": f"x{index}", "score": 1}, {"id": "y", "score": 1}))
    put(study, "z", lines(ROW))
    witness = looked(study)
    assert ["a0", "a1", "z"] == [one.path for one in witness.found]
    assert ("not listed", 3) == (witness.places[-1].name, witness.places[-1].files)


def test_the_problem_files_themselves_are_no_data(tmp_path):
    study = make_study(tmp_path)
    problems = lines(
        *({"problem_id": f"p{index}", "text": "How many?", "family": "a"} for index in range(10))
    )
    put(study, "problems/toy.jsonl", problems)
    assert [] == seen(study)
    put(study, "copy", problems + lines({"problem_id": "p3", "text": "6", "ok": True}))
    assert [("copy", "rows", ("?.toy",))] == seen(study)


def test_rows_that_the_design_pins_are_found_like_any_others(tmp_path):
    study = make_study(tmp_path)
    put(study, "rows.jsonl", lines(ROW))
    plan = (study / "PREREGISTRATION.md").read_text()
    put(
        study,
        "PREREGISTRATION.md",
        plan.replace('format = "design/1"', 'format = "design/1"\npinned = ["rows.jsonl"]', 1).encode(),
    )
    assert ("rows.jsonl",) == load_design(study / "PREREGISTRATION.md").pinned
    assert [("rows.jsonl", "rows", ("?.toy",))] == seen(study)
    with pytest.raises(FindingsError, match="exist already"):
        freeze(study)


def packed_with_zstd(name, data):
    """A zip archive with one member that is packed as Inspect packs it: stored, and its method said to be 93."""
    stored = bytearray(zipped(**{name: pa.compress(data, codec="zstd", asbytes=True)}))
    directory = stored.rindex(b"PK\x01\x02")
    for at in (8, directory + 10):
        stored[at : at + 2] = (93).to_bytes(2, "little")
    for at in (22, directory + 24):
        stored[at : at + 4] = len(data).to_bytes(4, "little")
    return bytes(stored)


def test_an_inspect_log_packed_with_zstd_is_found(tmp_path):
    study = make_study(tmp_path)
    sample = json.dumps({"id": "p3", "epoch": 1, "output": {"completion": "6"}, "scores": {"match": {}}})
    put(study, "log.eval", packed_with_zstd("samples/p3_epoch_1.json", sample.encode()))
    assert [("log.eval", "rows", ("?.toy",))] == seen(study)


def test_an_archive_whose_members_cannot_be_unpacked_is_named(tmp_path):
    study = make_study(tmp_path)
    locked = bytearray(zipped(**{"samples/1.json": json.dumps(ROW)}))
    directory = locked.rindex(b"PK\x01\x02")
    locked[6] |= 1  # says that it is encrypted
    locked[directory + 8] |= 1
    put(study, "log.eval", bytes(locked))
    witness = looked(study)
    place = next(place for place in witness.places if place.name == "study")
    assert ("read in part", "not read to the end: log.eval (1 of 1 members cannot be unpacked)") == (
        place.state,
        place.note,
    )
    assert () == witness.found


def test_a_store_that_is_not_read_is_named(tmp_path):
    study = make_study(tmp_path)
    put(study, "study.toml", b'name = "toy"\ntitle = "Toy"\nstore = { hub = "someone/rows" }\n')
    hub = next(place for place in looked(study).places if place.name == "Hub")
    assert ("not looked at", "the store someone/rows is not read at the freeze") == (hub.state, hub.note)


def test_a_report_of_pending_units_is_no_data(tmp_path):
    from study_factory import freeze_study, make_study

    from report.build import build_and_write

    study = make_study(tmp_path / "s")
    build_and_write(study)
    freeze_study(study)
    assert (study / "registration.json").exists()
