"""Problems, preflight, generations, verdicts and rows of one unit, in this process with the toys."""

import json
import resource
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from run_study import DESIGN, UNIT, make_run_study

from ledger.book import read_ledger
from ledger.gate import OverCapError
from manifests.errors import BeforehandError, FindingsError, NotInOrderError
from manifests.rows import read_rows
from manifests.stores import LocalStore, check_files, load_record
from manifests.study import Study
from pipeline.bookkeeping import StageBooks
from pipeline.checking import check_units
from pipeline.heavy_lock import heavy_lock
from pipeline.journal import Journal, read_journal
from pipeline.problem_sets import ProblemFields, write_problem_set
from pipeline.stages import run_generate, run_rows, run_verify, standing
from pipeline.unit_work import open_unit

TESTS = str(Path(__file__).parent)


@pytest.fixture(autouse=True)
def _toys(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", TESTS)
    monkeypatch.setenv("BEFOREHAND_HEAVY_LOCK", str(tmp_path / "heavy.lock"))
    monkeypatch.delenv("TOY_ENGINE", raising=False)


def toy(monkeypatch, **options):
    monkeypatch.setenv("TOY_ENGINE", json.dumps(options))


def generate(study):
    return run_generate(study, UNIT, wait_s=0)


def verify(study):
    return run_verify(study, UNIT, wait_s=0)


def lines(study, name):
    return [line.value for line in read_journal(study / f"runs/{UNIT}/{name}.jsonl").lines]


def rewrite(study, name, change):
    path = study / f"runs/{UNIT}/{name}.jsonl"
    path.write_text("".join(json.dumps(change(one), sort_keys=True) + "\n" for one in lines(study, name)))


def ledger(study):
    return read_ledger(study / "ledger.csv", study_name="toy")


@contextmanager
def files_of_at_most(size):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_unit_goes_from_its_plan_to_rows_that_the_check_accepts(tmp_path):
    study = make_run_study(tmp_path / "study")
    assert (32, 0, 32) == ((done := generate(study)).planned, done.resumed, done.drawn)
    assert 32 == verify(study).judged
    done = run_rows(study, UNIT)
    assert (True, "pipeline", 32) == (done.written, done.record.origin.kind, done.record.origin.rows_read)
    assert {"greedy": (8, 8, 8), "main": (24, 24, 24)} == {
        name: (one.planned, one.got, one.judged) for name, one in done.record.counts.items()
    }
    assert () == check_units(Study.open(study))
    assert open_unit(study, UNIT).registration_sha256 == done.record.registration_sha256


def test_a_row_holds_what_was_drawn_and_what_was_judged(tmp_path):
    study = make_run_study(tmp_path / "study")
    generate(study), verify(study), run_rows(study, UNIT)
    row = read_rows(study / f"units/{UNIT}/rows.parquet").to_pylist()[8]
    drawn = next(one for one in lines(study, "generations") if one["sampling"] == "main")
    assert ("main", "p00", 0, 0, 32, 32) == tuple(
        row[name] for name in ("sampling", "problem_id", "sample_idx", "round", "cap_tokens", "max_tokens")
    )
    assert (
        0,
        drawn["completion_text"],
        drawn["code_sha256"],
        len(drawn["completion_ids"]),
        "last_number",
    ) == tuple(
        row[name] for name in ("seed", "completion", "code_sha256", "n_completion_tokens", "extractor")
    )


def test_greedy_samples_have_no_seed_and_drawn_ones_have_their_own(tmp_path):
    study = make_run_study(tmp_path / "study")
    generate(study)
    seeds = {(one["sampling"], one["sample_idx"]): one["seed"] for one in lines(study, "generations")}
    assert {("greedy", 0): None, ("main", 0): "0", ("main", 1): "1", ("main", 2): "2"} == seeds


def test_prompts_are_kept_as_text_and_token_ids_and_named_by_digest(tmp_path):
    study = make_run_study(tmp_path / "study")
    generate(study)
    prompts = {one["problem_id"]: one for one in lines(study, "prompts")}
    assert ("user: 0 and 3\n", list(map(ord, "user: 0 and 3\n"))) == (
        prompts["p00"]["text"],
        prompts["p00"]["token_ids"],
    )
    assert {
        prompts[one["problem_id"]]["sha256"] == one["prompt_sha256"] for one in lines(study, "generations")
    } == {True}


def test_a_stage_that_is_done_does_nothing_again(tmp_path):
    study = make_run_study(tmp_path / "study")
    generate(study), verify(study)
    before = [(study / f"runs/{UNIT}/{name}.jsonl").read_bytes() for name in ("generations", "verdicts")]
    assert (0, 32) == ((done := generate(study)).drawn, done.resumed)
    assert (0, 32) == ((again := verify(study)).judged, again.resumed)
    assert before == [
        (study / f"runs/{UNIT}/{name}.jsonl").read_bytes() for name in ("generations", "verdicts")
    ]
    assert (True, False) == (run_rows(study, UNIT).written, run_rows(study, UNIT).written)


@pytest.mark.parametrize("cut", [1, 40, 333, 2000])
def test_a_torn_tail_is_dropped_counted_and_drawn_again(tmp_path, cut):
    study = make_run_study(tmp_path / "study")
    generate(study)
    path = study / f"runs/{UNIT}/generations.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    torn = len(whole[:-cut]) - whole[:-cut].rfind(b"\n") - 1
    assert torn == generate(study).dropped_bytes
    assert sorted(whole.splitlines()) == sorted(path.read_bytes().splitlines())


def test_damage_in_the_middle_is_never_mended_silently(tmp_path):
    study = make_run_study(tmp_path / "study")
    generate(study)
    path = study / f"runs/{UNIT}/generations.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"seed"', b'"seed', 1))
    with pytest.raises(FindingsError, match="is damaged"):
        generate(study)


def test_a_key_that_stands_twice_is_an_error(tmp_path):
    study = make_run_study(tmp_path / "study")
    generate(study)
    path = study / f"runs/{UNIT}/generations.jsonl"
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(NotInOrderError, match="not what was generated"):
        generate(study)


def test_nothing_is_generated_without_a_freeze(tmp_path):
    study = make_run_study(tmp_path / "study", frozen=False)
    with pytest.raises(NotInOrderError, match="not frozen"):
        generate(study)
    assert not (study / "runs").exists()


@pytest.mark.parametrize("file", ["problems/sums.jsonl", "run.toml", "prompts.toml", "PREREGISTRATION.md"])
def test_nothing_is_generated_when_a_frozen_file_has_changed(tmp_path, file):
    study = make_run_study(tmp_path / "study")
    path = study / file
    path.write_text(
        path.read_text()
        .replace("short", "longer")
        .replace("0 and 3", "0 and 4")
        .replace("Why?", "Why not?")
        .replace("= 5", "= 6")
    )
    with pytest.raises(NotInOrderError):
        generate(study)


def test_a_design_that_pins_neither_settings_nor_prompts_cannot_be_run(tmp_path):
    study = make_run_study(
        tmp_path / "study", design=DESIGN.replace('pinned = ["run.toml", "prompts.toml"]', "")
    )
    with pytest.raises(NotInOrderError, match=r"does not pin prompts.toml and run.toml"):
        generate(study)


def test_a_model_other_than_the_registered_one_is_refused(tmp_path):
    study = make_run_study(tmp_path / "study")
    (study / "model/weights").write_text("others")
    with pytest.raises(NotInOrderError, match="tree digest"):
        generate(study)


def test_a_model_that_is_not_there_is_refused_with_the_place_it_comes_from(tmp_path):
    study = make_run_study(tmp_path / "study")
    (study / "model/weights").unlink()
    (study / "model").rmdir()
    with pytest.raises(NotInOrderError, match="is not there") as caught:
        generate(study)
    assert "it comes from: made for this test" == caught.value.mend


def test_prompts_over_the_window_are_listed_and_refused_before_anything_is_drawn(tmp_path, monkeypatch):
    study = make_run_study(tmp_path / "study")
    toy(monkeypatch, window=45)
    with pytest.raises(FindingsError, match="do not fit the window of 45") as caught:
        generate(study)
    assert ["short p00", "short p01"] == [finding.where for finding in caught.value.findings][:2]
    assert [] == [entry for entry in ledger(study).entries if entry.kind == "reserve"]


def test_declared_clipping_lowers_max_tokens_and_is_recorded(tmp_path, monkeypatch):
    study = make_run_study(tmp_path / "study", over_long="clip")
    toy(monkeypatch, window=24)
    generate(study), verify(study)
    record = run_rows(study, UNIT).record
    assert {10, 9, 8} >= {one["max_tokens"] for one in lines(study, "generations")}
    assert any("had less room than the cap" in text for text in record.deviations)


def test_a_prompt_that_leaves_no_room_gets_a_row_that_says_so(tmp_path, monkeypatch):
    study = make_run_study(tmp_path / "study", over_long="clip")
    toy(monkeypatch, window=14)
    generate(study), verify(study)
    record = run_rows(study, UNIT).record
    rows = read_rows(study / f"units/{UNIT}/rows.parquet")
    assert ({"error"}, {False}, {None}, {0}) == tuple(
        set(rows[name].to_pylist()) for name in ("finish_reason", "correct", "completion", "max_tokens")
    )
    assert any("no room at all" in text for text in record.deviations)


def test_samples_of_another_engine_version_are_not_mixed_in(tmp_path, monkeypatch):
    study = make_run_study(tmp_path / "study")
    generate(study)
    toy(monkeypatch, version="2")
    with pytest.raises(NotInOrderError, match="would be drawn otherwise"):
        generate(study)


def test_a_generation_that_was_drawn_again_makes_its_verdict_stale(tmp_path):
    from pipeline.generations import text_sha256

    study = make_run_study(tmp_path / "study")
    generate(study), verify(study)
    new = {"completion_text": "Answer: 999", "code_sha256": text_sha256("Answer: 999")}
    rewrite(study, "generations", lambda one: {**one, **new} if one["problem_id"] == "p03" else one)
    for stage in (verify, lambda where: run_rows(where, UNIT)):
        with pytest.raises(NotInOrderError, match="does not belong to the generations") as caught:
            stage(study)
        assert 4 == len(caught.value.findings)


def test_an_edited_completion_is_found(tmp_path):
    study = make_run_study(tmp_path / "study")
    generate(study)
    rewrite(study, "generations", lambda one: {**one, "completion_text": one["completion_text"] + "!"})
    with pytest.raises(NotInOrderError, match="not what was generated"):
        verify(study)


def test_foreign_problems_and_missing_samples_are_audited_together(tmp_path):
    study = make_run_study(tmp_path / "study")
    generate(study), verify(study)
    for name in ("generations", "verdicts"):
        rewrite(
            study, name, lambda one: {**one, "problem_id": "foreign"} if one["problem_id"] == "p05" else one
        )
    with pytest.raises(FindingsError, match="do not join") as caught:
        run_rows(study, UNIT)
    assert ["4 samples are planned and were not drawn", "4 samples were drawn and are not planned"] == [
        finding.what.partition(" (first")[0] for finding in caught.value.findings
    ]
    assert not (study / "manifests").exists()


def test_a_sample_cut_at_its_limit_is_rejected_whatever_it_holds(tmp_path, monkeypatch):
    study = make_run_study(tmp_path / "study", cap=20)
    toy(monkeypatch, text="3 5 7 9 11 13 15 17 " * 4)
    generate(study)
    assert {"rejected": 32} == dict(verify(study).by_status)
    assert any("truncated" in one["reasons"] for one in lines(study, "verdicts"))


def test_a_truncated_sample_that_was_accepted_all_the_same_makes_no_rows(tmp_path, monkeypatch):
    study = make_run_study(tmp_path / "study", cap=20)
    toy(monkeypatch, text="3 5 7 9 11 13 15 17 " * 4)
    generate(study), verify(study)
    rewrite(study, "verdicts", lambda one: {**one, "status": "accepted", "reasons": []})
    with pytest.raises(FindingsError) as caught:
        run_rows(study, UNIT)
    assert "32 samples were cut at their limit and accepted" in caught.value.findings[0].what


def test_infrastructure_leaves_rows_without_verdict_and_a_deviation(tmp_path, monkeypatch):
    study = make_run_study(tmp_path / "study")
    toy(monkeypatch, text="RAISE 7")
    generate(study)
    assert {"infrastructure": 32} == dict(verify(study).by_status)
    record = run_rows(study, UNIT).record
    rows = read_rows(study / f"units/{UNIT}/rows.parquet")
    assert ({None}, 0) == (set(rows["correct"].to_pylist()), record.counts["main"].judged)
    assert [["infra:RuntimeError"]] == rows["reasons"].to_pylist()[:1]
    assert any("no verdict" in text for text in record.deviations)


@pytest.mark.parametrize(
    ("text", "repeat"), [("nul\x00 7", 1), ("lone \ud800 7", 1), ("\u2028\x85 7", 1), ("1 MB 7 " * 16, 2**14)]
)
def test_any_text_survives_the_way_to_the_rows(tmp_path, monkeypatch, text, repeat):
    study = make_run_study(tmp_path / "study", n=2, samples=1, cap=2**22)
    toy(monkeypatch, text=text, repeat=repeat, window=2**23)
    generate(study), verify(study), run_rows(study, UNIT)
    kept = read_rows(study / f"units/{UNIT}/rows.parquet")["completion"].to_pylist()
    assert {(text * repeat).encode("utf-8", "surrogatepass").decode("utf-8", "replace")} == set(kept)
    assert () == check_units(Study.open(study))


def test_a_full_disk_leaves_what_was_finished_and_the_same_command_goes_on(tmp_path):
    study = make_run_study(tmp_path / "study", n=20)
    with files_of_at_most(9000), pytest.raises(BeforehandError, match="cannot be written"):
        generate(study)
    there = read_journal(study / f"runs/{UNIT}/generations.jsonl")
    assert (0, True) == (there.torn_bytes, 0 < len(there.lines) < 80)
    assert (len(there.lines), 80 - len(there.lines)) == ((done := generate(study)).resumed, done.drawn)


def test_an_append_that_the_disk_refuses_is_taken_back_whole(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    journal.append([{"a": 1}])
    with files_of_at_most(50), pytest.raises(BeforehandError):
        journal.append([{"b": "x" * 100}])
    journal.append([{"c": 3}])
    journal.close()
    assert [{"a": 1}, {"c": 3}] == [line.value for line in read_journal(tmp_path / "j.jsonl").lines]


def test_the_time_of_each_stage_is_reserved_booked_and_settled(tmp_path):
    study = make_run_study(tmp_path / "study", rate="36", cap_usd="99")
    generate(study), verify(study)
    found = ledger(study)
    assert () == found.findings
    kinds = ["cap", "reserve", "book", "release", "reserve", "book", "release"]
    assert kinds == [entry.kind for entry in found.entries]
    assert [f"run:{UNIT}:generate", f"run:{UNIT}:verify"] == [
        e.job_id for e in found.entries if e.kind == "book"
    ]
    assert {"completed unit"} == {entry.outcome for entry in found.entries if entry.kind == "book"}


def test_what_no_cap_allows_is_not_started(tmp_path):
    study = make_run_study(tmp_path / "study", rate="999999999", cap_usd="0.000001")
    with pytest.raises(OverCapError):
        generate(study)
    assert [] == lines(study, "generations")


def test_without_any_cap_nothing_is_started(tmp_path):
    study = make_run_study(tmp_path / "study", cap_usd=None)
    with pytest.raises(OverCapError):
        generate(study)


def test_a_start_that_was_killed_is_settled_by_the_next(tmp_path, monkeypatch):
    study = make_run_study(tmp_path / "study")
    monkeypatch.setattr(StageBooks, "settle", lambda *_, **__: None)  # as if killed before it could
    with files_of_at_most(6000), pytest.raises(BeforehandError):
        generate(study)
    monkeypatch.undo()
    monkeypatch.setenv("BEFOREHAND_HEAVY_LOCK", str(tmp_path / "heavy.lock"))
    generate(study)
    bookings = [entry for entry in ledger(study).entries if entry.kind == "book"]
    assert [(1, "failed nothing"), (2, "completed unit")] == [
        (entry.attempt, entry.outcome) for entry in bookings
    ]
    assert "killed without a word" in bookings[0].note


def test_the_estimate_of_the_preflight_is_one_that_the_ledger_can_compute(tmp_path):
    from decimal import Decimal

    from ledger.estimates import estimate
    from ledger.plans import Plan
    from manifests.documents import read_toml_document

    study = make_run_study(tmp_path / "study", rate="36")
    generate(study)
    computed = estimate(
        read_toml_document(Plan, study / f"runs/{UNIT}/estimate.toml"), price_of=lambda _flavor: Decimal(36)
    )
    assert ["unit"] == [line.name for line in computed.totals]
    assert 0 < computed.totals[0].usd.low < computed.totals[0].usd.central < computed.totals[0].usd.high


def test_the_standing_of_a_unit_lists_the_stages_that_are_left(tmp_path):
    study = make_run_study(tmp_path / "study")
    assert ("generate", "verify", "rows") == standing(study, UNIT).left
    generate(study)
    assert ("verify", "rows") == standing(study, UNIT).left
    verify(study), run_rows(study, UNIT)
    assert () == standing(study, UNIT).left


def test_a_subset_of_the_problems_is_generated_where_the_protocol_says_so(tmp_path):
    design = DESIGN.replace("[protocols.short]\n", "[protocols.short]\nproblems = {{ even = 4 }}\n").replace(
        "[protocols.long]\n", "[protocols.long]\nproblems = {{ even = 4 }}\n"
    )
    study = make_run_study(tmp_path / "study", design=design)
    generate(study)
    assert ["p00", "p02", "p04", "p06"] == sorted({one["problem_id"] for one in lines(study, "generations")})


def test_the_record_holds_the_digest_of_every_file_it_names(tmp_path):
    study = make_run_study(tmp_path / "study")
    generate(study), verify(study), run_rows(study, UNIT)
    record, _ = load_record(LocalStore(study), UNIT)
    assert () == check_files(LocalStore(study), record)
    assert ["generations.jsonl", "preflight.json", "prompts.jsonl", "verdicts.jsonl"] == sorted(
        source.name for source in record.origin.sources
    )


def test_a_problem_set_becomes_canonical_and_says_what_is_in_it(tmp_path):
    source = tmp_path / "raw.jsonl"
    source.write_text(
        '{"id": "b", "question": "2?", "answer": "2", "family": "x"}\n{"id": "a", "answer": "1", "question": "1?"}\n'
    )
    manifest = write_problem_set(source, tmp_path / "p/sums.jsonl", fields=ProblemFields(id="id"))
    assert ["a", "b"] == [
        json.loads(line)["problem_id"] for line in (tmp_path / "p/sums.jsonl").read_text().splitlines()
    ]
    assert (2, "answer", {"x": 1}) == (manifest.n, manifest.reference_field, manifest.families)
    again = write_problem_set(tmp_path / "p/sums.jsonl", tmp_path / "q.jsonl", fields=ProblemFields())
    assert manifest.sha256 == again.sha256


def test_a_problem_set_can_come_from_parquet(tmp_path):
    pq.write_table(pa.table({"problem_id": ["a"], "question": ["1?"], "gold": [1]}), tmp_path / "raw.parquet")
    assert 1 == write_problem_set(tmp_path / "raw.parquet", tmp_path / "p.jsonl", fields=ProblemFields()).n


def test_everything_wrong_with_a_problem_set_is_said_at_once(tmp_path):
    source = tmp_path / "raw.jsonl"
    rows = [
        {"problem_id": "a", "question": "same", "gold": 1}, {"problem_id": "a", "question": "same ", "gold": 1},
        {"problem_id": 3, "question": "x", "gold": 1}, {"problem_id": "c", "question": "", "gold": 1},
        {"problem_id": "d", "question": "y"},
    ]  # fmt: skip
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(FindingsError) as caught:
        write_problem_set(source, tmp_path / "p.jsonl", fields=ProblemFields())
    assert 5 == len(caught.value.findings)
    assert not (tmp_path / "p.jsonl").exists()


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (
            {"id": "a", "problem_id": "z"},
            "has 'id', named as its id, and 'problem_id', which it would become",
        ),
        ({"id": "a", "note": "\ud800"}, "cannot be written as JSON: it holds a lone surrogate"),
    ],
)
def test_a_problem_that_would_be_written_wrongly_is_refused(tmp_path, row, what):
    source = tmp_path / "raw.jsonl"
    source.write_text(json.dumps({"question": "1?", "gold": 1, **row}) + "\n")
    with pytest.raises(FindingsError) as caught:
        write_problem_set(source, tmp_path / "p.jsonl", fields=ProblemFields(id="id"))
    assert [what] == [finding.what for finding in caught.value.findings]
    assert not (tmp_path / "p.jsonl").exists()


def test_the_clock_of_a_stage_is_the_machine_s_and_in_utc(tmp_path):
    study = make_run_study(tmp_path / "study")
    generate(study)
    booked = next(entry for entry in ledger(study).entries if entry.kind == "book")
    assert abs((datetime.now(UTC) - booked.time_utc).total_seconds()) < 60


def test_another_verifier_than_the_registered_one_judges_nothing(tmp_path):
    study = make_run_study(tmp_path / "study", design=DESIGN.replace('toy = "1"', 'toy = "2"'))
    generate(study)
    with pytest.raises(NotInOrderError, match="toy: the design says '2', here is '1'"):
        verify(study)
    assert [] == lines(study, "verdicts")


def test_verdicts_of_another_verifier_make_no_rows(tmp_path):
    study = make_run_study(tmp_path / "study")
    generate(study), verify(study)
    rewrite(study, "verdicts", lambda one: {**one, "pins": {"toy": "0"}})
    with pytest.raises(NotInOrderError, match="the design pins"):
        run_rows(study, UNIT)


def test_verdicts_of_two_verifiers_make_no_rows(tmp_path):
    study = make_run_study(tmp_path / "study")
    generate(study), verify(study)
    rewrite(study, "verdicts", lambda one: {**one, "pins": {"toy": "1", "more": one["sampling"]}})
    with pytest.raises(NotInOrderError, match="more than one verifier"):
        run_rows(study, UNIT)


def test_a_sampling_without_temperature_is_refused_before_a_library_s_default_decides(tmp_path):
    design = DESIGN.replace("temperature = 1.0, ", "")
    with pytest.raises(BeforehandError, match="names no temperature"):
        generate(make_run_study(tmp_path / "study", design=design))


def test_a_number_left_over_in_the_environment_is_no_lock(tmp_path, monkeypatch):
    with (
        (tmp_path / "other").open("w") as other,
        heavy_lock("the first", wait_s=0),
        monkeypatch.context() as patched,
    ):
        patched.setenv("BEFOREHAND_HEAVY_LOCK_FD", str(other.fileno()))
        with pytest.raises(BeforehandError, match="the first"), heavy_lock("the second", wait_s=0):
            pass
