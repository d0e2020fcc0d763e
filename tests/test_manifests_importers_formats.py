"""The formats of other tools: logs that the tools wrote themselves, and what is refused."""

import io
import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from manifests.digests import sha256_bytes
from manifests.errors import BeforehandError, FindingsError
from manifests.importers.archive import Archive
from manifests.importers.headlines import differing_headlines
from manifests.importers.mapping import RowMap
from manifests.importers.reading import Defaults, Headline
from manifests.importers.recognition import recognise
from manifests.rows import SCHEMA

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).resolve().parents[2] / "shared/data"
NO_PLAN = Defaults(sampling="log", cap_tokens=None, n_samples=None, number_samples=True, statements=True)
needs_shared = pytest.mark.skipif(
    not SHARED.exists(), reason="the shared data folder with public logs is absent"
)


def read(*paths, row_map=None, defaults=NO_PLAN):
    """The rows of the first log, as objects, and its reading."""
    given = None if row_map is None else RowMap.model_validate({"format": "map/1", **row_map})
    log = recognise([Path(path) for path in paths], by_map=given is not None)[0]
    reading = log.read(defaults=defaults, row_map=given)
    table = pa.Table.from_batches(reading.batches, schema=SCHEMA)
    return reading, table


def verdicts(table):
    return table["correct"].to_pylist()


def test_a_sample_of_inspect_that_died_keeps_its_row_and_its_place_in_the_denominator():
    reading, table = read(DATA / "inspect/adding.eval")
    (dead,) = [row for row in table.to_pylist() if row["correct"] is None]
    assert ("p3", 1, "error", ["infra:RuntimeError('server went away')"]) == (
        dead["problem_id"], dead["sample_idx"], dead["finish_reason"], dead["reasons"],
    )  # fmt: skip
    assert (12, "inspect@2", 3) == (table.num_rows, reading.importer, reading.facts.n_samples)
    assert differing_headlines(reading.facts.headlines, table) == (
        "headline differs: the source says accuracy = 0.625, which leaves out 1 of 12 rows: they have no verdict",
    )


def test_an_inspect_document_reads_like_an_archive():
    reading, table = read(DATA / "inspect/adding.json")
    assert (2, [True, True], (), "mockllm/model", 0.7, 64) == (
        table.num_rows, verdicts(table), reading.facts.deviations, reading.facts.system, reading.facts.temperature,
        reading.facts.cap_tokens,
    )  # fmt: skip


@needs_shared
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval", (10, 0, 0, ())),
        ("2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval", (10, 10, 8, ())),
    ],
)
def test_public_inspect_archives_give_their_own_coverage(name, expected):
    reading, table = read(SHARED / "inspect_logs" / name)
    found = verdicts(table)
    judged = [verdict for verdict in found if verdict is not None]
    assert expected == (
        len(found),
        len(judged),
        sum(judged),
        differing_headlines(reading.facts.headlines, table),
    )
    assert reading.facts.deviations == ("limit: 10 of the 100 problems of popularity",)


@needs_shared
def test_a_cancelled_run_with_an_accuracy_filled_in_says_what_is_missing():
    reading, table = read(SHARED / "inspect_logs/2025-05-12T20-28-13-04-00_popularity.json")
    assert table.num_rows == 3
    assert "status: cancelled" in reading.facts.deviations


def test_lm_eval_takes_one_filter_and_counts_the_rows_of_the_others():
    reading, table = read(*sorted((DATA / "lm_eval").iterdir()))
    assert (5, 5, 10, 2) == (
        table.num_rows,
        reading.tally.n_left_out,
        reading.tally.n_read,
        sum(verdicts(table)),
    )
    assert ("tiny_add", "exact_match,strict-match", ()) == (
        reading.facts.benchmark, reading.facts.verifier, differing_headlines(reading.facts.headlines, table),
    )  # fmt: skip


def test_lm_eval_multiple_choice_has_verdicts_and_no_completions():
    reading, table = read(next((DATA / "lm_eval").glob("*choice*")))
    assert (5, 1, {None}) == (table.num_rows, sum(verdicts(table)), set(table["completion"].to_pylist()))
    assert reading.facts.notes == ("verdicts are acc after the filter none; left out: acc_norm",)


def test_lm_eval_repeats_under_one_score_are_refused(tmp_path):
    line = json.loads(next((DATA / "lm_eval").glob("*add*.jsonl")).read_text().splitlines()[0])
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps({**line, "resps": [["a", "b"]]}) + "\n")
    with pytest.raises(BeforehandError, match="2 answers to one document under a single score"):
        read(path)


def test_lighteval_details_read_with_their_results():
    reading, table = read(DATA / "lighteval/details_tinygen.parquet", DATA / "lighteval/results.json")
    assert ([False] * 5, "random baseline", "dummy", 64) == (
        verdicts(table), table["completion"][0].as_py(), reading.facts.system, reading.facts.cap_tokens,
    )  # fmt: skip
    _, choice = read(DATA / "lighteval/details_tinychoice.parquet")
    assert sum(verdicts(choice)) == 2


def test_a_companion_alone_asks_for_its_log():
    with pytest.raises(BeforehandError, match="holds no rows of its own"):
        read(DATA / "lighteval/results.json")


# --- generations and verifications


def generation(**changes):
    return {
        "problem_id": "p", "sample_idx": 0, "round": 0, "cap_tokens": 64, "prompt_text": "prove", "prompt_ids": [1, 2],
        "completion_text": "proof", "completion_ids": [1, 2, 3], "finish_reason": "stop", "lean_code": "code",
        "model_path": "m", "model_rev": "a" * 40, "sampling": {"temperature": 1.0, "max_tokens": 60}, **changes,
    }  # fmt: skip


def verification(code="code", **changes):
    return {
        "problem_id": "p", "sample_idx": 0, "round": 0, "cap_tokens": 64, "accepted": True, "reasons": [],
        "verify_s": 1.5, "code_sha256": sha256_bytes(code.encode()), **changes,
    }  # fmt: skip


def jsonl(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_generations_and_verdicts_are_joined_by_key(tmp_path):
    gen = jsonl(tmp_path / "gen.jsonl", generation(), generation(sample_idx=1))
    ver = jsonl(tmp_path / "ver.jsonl", verification(sample_idx=1, accepted=False, reasons=["timeout"]))
    reading, table = read(gen, ver)
    assert [(0, None, []), (1, False, ["timeout"])] == [
        (row["sample_idx"], row["correct"], row["reasons"]) for row in table.to_pylist()
    ]
    assert ("generations@1", 3, 60) == (
        reading.importer, table["n_completion_tokens"][0].as_py(), table["max_tokens"][0].as_py(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts_given", "message"),
    [
        ([verification(code="other")], "its verdict is for code with sha256"),
        ([verification(), verification()], "a second verdict on one sample"),
        ([verification(), verification(sample_idx=5)], "has a verdict, and no generation"),
    ],
)
def test_a_verdict_that_belongs_to_nothing_here_is_refused(tmp_path, verdicts_given, message):
    with pytest.raises(FindingsError, match=message):
        read(jsonl(tmp_path / "gen.jsonl", generation()), jsonl(tmp_path / "ver.jsonl", *verdicts_given))


# --- scores.json and generations.parquet


def test_scores_keep_seeds_as_sample_indices_and_deviations_word_for_word(tmp_path):
    table = pa.table(
        {
            "unique_id": ["a", "a", "b", "a"], "pass_name": ["sample4", "sample4", "sample4", "greedy"],
            "seed": [0, 3, 0, 42], "extractor": ["boxed", "none", "answer_line", "boxed"],
            "correct": [True, False, True, True], "truncated": [False, True, False, False], "text": ["x", "y", "z", "w"],
        }
    )  # fmt: skip
    pq.write_table(table, tmp_path / "generations.parquet")
    scores = {
        "deviations": ["limit_problems=100 (SMOKE ONLY)"], "resolved_sha": "b" * 40,
        "passes": {"sample4": {"accuracy": 66.67, "n_samples": 3}, "greedy": {"accuracy": 0.5, "n_samples": 1}},
    }  # fmt: skip
    (tmp_path / "scores.json").write_text(json.dumps(scores, indent=1))
    reading, rows = read(tmp_path / "generations.parquet", tmp_path / "scores.json")
    assert [
        ("sample4", 0, "stop"),
        ("sample4", 3, "length"),
        ("sample4", 0, "stop"),
        ("greedy", 0, "stop"),
    ] == [(row["sampling"], row["sample_idx"], row["finish_reason"]) for row in rows.to_pylist()]
    assert reading.facts.deviations == ("limit_problems=100 (SMOKE ONLY)",)
    (sentence,) = differing_headlines(reading.facts.headlines, rows)
    assert "greedy accuracy = 0.5 over 1 samples, 1 of 1 judged rows are correct" in sentence


# --- tables and documents through maps


def test_lists_of_samples_inside_a_row_become_rows(tmp_path):
    path = jsonl(tmp_path / "log.jsonl", {"id": "a", "s": [{"t": "x", "ok": True}, {"t": "y", "ok": False}]})
    _, table = read(
        path, row_map={"columns": {"problem_id": "id", "completion": "s.*.t", "correct": "s.*.ok"}}
    )
    assert [("a", 0, "x", True), ("a", 1, "y", False)] == [
        (row["problem_id"], row["sample_idx"], row["completion"], row["correct"]) for row in table.to_pylist()
    ]


def test_lists_of_different_lengths_are_refused(tmp_path):
    path = jsonl(tmp_path / "log.jsonl", {"id": "a", "t": ["x"], "ok": [True, False]})
    with pytest.raises(
        FindingsError, match=r"log\.jsonl:1: its lists of samples have different lengths: 1 and 2"
    ):
        read(path, row_map={"columns": {"problem_id": "id", "completion": "t.*", "correct": "ok.*"}})


def test_a_csv_record_over_many_lines_is_one_row(tmp_path):
    path = tmp_path / "log.csv"
    text = "line\nline, with a comma\n\u2028" * 11
    path.write_text(
        "id,text,ok,n_tokens\n" + "".join(f'p{i},"{text}",True,{i}\n' for i in range(40)), newline=""
    )
    _, table = read(path)
    assert (40, text, 39, True) == (
        table.num_rows, table["completion"][0].as_py(), table["n_completion_tokens"][39].as_py(), verdicts(table)[0],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('id,ok\na,True\nb,"Tr', "is no CSV"),
        ("id,ok\na,True\nb\n", r"row 2 \(ends on line 3\): has 1 cells, the header 2"),
        ("id,ok\n", "holds no row"),
        ("id,ok\na,maybe\n", "row 1 correct: 'maybe' is no verdict"),
    ],
)
def test_a_csv_that_is_cut_or_ragged_is_refused(tmp_path, text, message):
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(BeforehandError, match=message):
        read(path)


def test_a_parquet_cut_by_eight_bytes_is_refused(tmp_path):
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"id": ["a"], "ok": [True]}), path)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(BeforehandError, match="is no readable Parquet file"):
        read(path)


def test_a_document_says_where_its_rows_lie(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"runs": [{"id": "a", "ok": True}], "other": [{"x": 1}]}, indent=1))
    columns = {"problem_id": "id", "correct": "ok"}
    with pytest.raises(BeforehandError, match="2 of its fields hold a list of objects"):
        read(path, row_map={"columns": columns})
    assert [True] == verdicts(read(path, row_map={"columns": columns, "rows": "runs"})[1])


def test_another_statement_under_one_id_is_noted_with_its_place(tmp_path):
    path = jsonl(
        tmp_path / "log.jsonl",
        *(
            {"id": "a", "ok": True, "sample": index, "question": text}
            for index, text in enumerate(["x", "x", "y"])
        ),
    )
    reading, _ = read(path)
    assert reading.tally.restated == {"a": "log.jsonl:3"}


def test_samples_that_nobody_numbered_are_numbered_as_they_stand(tmp_path):
    path = jsonl(tmp_path / "log.jsonl", *({"id": name, "ok": True} for name in "abab"))
    assert [0, 0, 1, 1] == read(path)[1]["sample_idx"].to_pylist()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"scores": {', b'"scores": 5, "q": {'),
        (b'"output": {', b'"output": "t", "q": {'),
        (b'"message": {', b'"message": 7, "q": {'),
        (b'"results": {', b'"results": 3, "q": {'),
        (b'"dataset": {', b'"dataset": 7, "q": {'),
    ],
)
def test_a_log_of_another_shape_is_wrong_input_and_no_bug(tmp_path, old, new):
    path = tmp_path / "log.json"
    data = (DATA / "inspect/adding.json").read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    with pytest.raises(BeforehandError, match="does not have the shape that inspect@2 expects"):
        read(path)


def test_a_cost_counter_that_starts_anew_is_said_with_the_sum_of_its_segments(tmp_path):
    path = tmp_path / "log.json"
    costs = [1.0, 2.5, 0.5, 0.75, 0.25]
    path.write_text(
        json.dumps(
            [{"id": i, "ok": True, "usage_so_far": {"cost": cost}} for i, cost in enumerate(costs)], indent=1
        )
    )
    (sentence,) = read(path)[0].facts.deviations
    assert sentence == (
        "counter: usage_so_far.cost starts anew 2 times (first at object 2): its last value is 0.25, its segments sum to 3.5"
    )


@needs_shared
def test_the_public_game24_log_was_resumed_once_and_cost_47_usd():
    (path,) = (SHARED / "tot_game24").glob("*naive_cot*")
    reading, _ = read(path, row_map={"columns": {"problem_id": "idx", "correct": "infos.*.r"}})
    assert any(
        "cost starts anew 1 times (first at object 32): its last value is 32.1" in one
        and "sum to 47.0467" in one
        for one in reading.facts.deviations
    )


def test_an_inspect_sample_that_was_tried_again_says_so(tmp_path):
    path = tmp_path / "log.json"
    data = (DATA / "inspect/adding.json").read_bytes()
    path.write_bytes(data.replace(b'"error_retries": []', b'"error_retries": [{"message": "x"}]', 1))
    assert [["retried:1"], []] == read(path)[1]["reasons"].to_pylist()


# --- archives


def archive(tmp_path, *members, compression=zipfile.ZIP_DEFLATED):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", compression) as stream:
        for name, data in (("header.json", b"{}"), *members):
            stream.writestr(name, data)
    return path


@pytest.mark.parametrize("name", ["/etc/passwd", "../up.json", "samples/../../x", "C:/x", "a\\b"])
def test_a_name_that_leaves_the_archive_is_refused(tmp_path, name):
    with pytest.raises(BeforehandError, match="has a name that leaves its archive"):
        Archive.open(archive(tmp_path, (name, b"{}")))


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    with pytest.raises(BeforehandError, match="would unpack from"):
        Archive.open(archive(tmp_path, ("samples/1.json", b" " * 32 * 1024**2)))


def test_a_member_that_lies_about_its_size_is_refused(tmp_path):
    path = archive(tmp_path, ("samples/1.json", b"x" * 1000))
    data = path.read_bytes()
    at = data.rindex(b"PK\x01\x02")
    at += 24  # the size unpacked, in the table of contents
    path.write_bytes(data[:at] + (10).to_bytes(4, "little") + data[at + 4 :])
    with pytest.raises(BeforehandError, match=r"cannot be unpacked|unpacks to other than"):
        Archive.open(path).read("samples/1.json")


def test_a_cut_archive_is_refused(tmp_path):
    path = archive(tmp_path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(BeforehandError):
        read(path)


def test_members_packed_with_zstd_are_read():
    found = Archive.open(DATA / "inspect/adding.eval")
    assert {93} == {info.compress_type for info in found.members}
    assert json.load(io.BytesIO(found.read("header.json")))["status"] == "success"


# --- public logs through maps


@needs_shared
def test_qwen_math_reads_without_a_map():
    _, table = read(SHARED / "qwen25math_math100x8/math_cot_100.jsonl")
    assert (800, 728, {0, 7}) == (
        table.num_rows,
        sum(verdicts(table)),
        {min(table["sample_idx"].to_pylist()), 7},
    )


@needs_shared
@pytest.mark.parametrize(
    ("name", "correct", "solved", "n"),
    [("naive_standard_sample_100", "accs.*", 33, 100), ("naive_cot_sample_100", "infos.*.r", 49, 100), ("propose1_value3_greedy5", "infos.*.r", 69, 5)],
)  # fmt: skip
def test_game24_logs_read_through_a_map(name, correct, solved, n):
    (path,) = (SHARED / "tot_game24").glob(f"*{name}*.json")
    _, table = read(
        path, row_map={"columns": {"problem_id": "idx", "completion": "ys.*", "correct": correct}}
    )
    hits = {
        row["problem_id"] for row in table.select(["problem_id", "correct"]).to_pylist() if row["correct"]
    }
    assert (100 * n, solved) == (table.num_rows, len(hits))


# --- what a foreign log must not be taken to say


def test_lm_eval_s_filter_none_is_no_extractor_of_ours():
    _, table = read(next((DATA / "lm_eval").glob("*choice*")))
    assert ({None}, 1) == (set(table["extractor"].to_pylist()), sum(verdicts(table)))


def inspect_log(path, *scores, scorers=("match", "other")):
    log = {
        "version": 2, "status": "success", "plan": {},
        "eval": {"task": "t", "model": "m", "scorers": [{"name": name} for name in scorers]},
        "samples": [{"id": f"p{i}", "epoch": 1, "scores": one} for i, one in enumerate(scores)],
    }  # fmt: skip
    path.write_text(json.dumps(log, indent=1))
    return path


def test_where_the_chosen_scorer_is_silent_another_s_verdict_is_not_taken(tmp_path):
    right, wrong = {"value": "C"}, {"value": "I"}
    path = inspect_log(tmp_path / "log.json", {"match": wrong, "other": right}, {"other": right}, {})
    assert [False, None, None] == verdicts(read(path)[1])


def test_the_only_score_of_the_only_scorer_is_taken_whatever_its_name(tmp_path):
    right = {"value": "C"}
    path = inspect_log(tmp_path / "log.json", {"match1": right}, {"a": right, "b": right}, scorers=["match"])
    assert [True, None] == verdicts(read(path)[1])


def test_a_headline_that_is_no_number_agrees_with_nothing(tmp_path):
    path = jsonl(tmp_path / "log.jsonl", {"id": "a", "ok": True})
    (sentence,) = differing_headlines([Headline(name="accuracy", value=float("nan"))], read(path)[1])
    assert "accuracy = nan, 1 of 1 judged rows are correct" in sentence


def test_a_csv_with_one_column_name_twice_is_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("id,ok,ok\na,True,False\n")
    with pytest.raises(BeforehandError, match="has the column 'ok' 2 times"):
        read(path)


# --- bad input is said to be bad, and is no crash


def test_a_member_without_a_name_of_a_file_is_refused(tmp_path):
    with pytest.raises(BeforehandError, match="has a name of no file"):
        Archive.open(archive(tmp_path, (".", b"{}")))


@pytest.mark.parametrize(
    ("at", "change"),
    [("data", lambda byte: byte ^ 0xFF), ("flags", lambda byte: byte | 1)],
    ids=["damaged", "encrypted"],
)
def test_a_member_that_cannot_be_unpacked_is_refused(tmp_path, at, change):
    path = archive(tmp_path, ("samples/1.json", bytes(range(256)) * 40))
    data = bytearray(path.read_bytes())
    directory = data.rindex(b"PK\x01\x02")
    start = data.rindex(b"PK\x03\x04", 0, directory)
    for place in (start + 6, directory + 8) if at == "flags" else range(start + 44, start + 60):
        data[place] = change(data[place])
    path.write_bytes(bytes(data))
    with pytest.raises(BeforehandError, match="cannot be unpacked"):
        Archive.open(path).read("samples/1.json")


def test_a_zstd_member_that_is_cut_in_its_header_is_refused(tmp_path):
    path = tmp_path / "log.eval"
    data = bytearray((DATA / "inspect/adding.eval").read_bytes())
    info = Archive.open(DATA / "inspect/adding.eval").members[-1]
    data[info.header_offset + 26 : info.header_offset + 28] = b"\xff\xff"  # the length of its name
    path.write_bytes(bytes(data))
    with pytest.raises(BeforehandError, match=r"cannot be unpacked|unpacks to other than"):
        Archive.open(path).read(info.filename)


def test_seconds_beyond_any_float_are_refused_with_their_place(tmp_path):
    path = jsonl(tmp_path / "log.jsonl", {"id": "a", "ok": True, "s": 10**400})
    with pytest.raises(FindingsError, match=r"log\.jsonl:1 verify_s: .* is no number of seconds"):
        read(path, row_map={"columns": {"problem_id": "id", "correct": "ok", "verify_s": "s"}})


def test_a_counter_beyond_any_float_is_passed_over(tmp_path):
    path = tmp_path / "log.json"
    rows = [{"id": i, "ok": True, "so_far": cost} for i, cost in enumerate([1, 10**400, 2])]
    path.write_text(json.dumps(rows, indent=1))
    assert () == read(path)[0].facts.deviations


def test_a_headline_beyond_any_float_is_a_log_of_another_shape(tmp_path):
    path = inspect_log(tmp_path / "log.json", {"match": {"value": "C"}})
    log = json.loads(path.read_text())
    log["results"] = {"scores": [{"name": "match", "metrics": {"accuracy": {"value": 10**400}}}]}
    path.write_text(json.dumps(log, indent=1))
    with pytest.raises(BeforehandError, match="does not have the shape"):
        read(path)
