import io
import json
import random
import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests import sorting
from manifests.errors import BeforehandError, FindingsError
from manifests.importers import plain_lines
from manifests.importers.mapped import Entry, MappedSource, batches_through_map
from manifests.importers.mapping import RowMap, describe, guess_map
from manifests.importers.plain_lines import PlainMap
from manifests.importers.reading import Defaults, Tally
from manifests.importers.recognition import recognise
from manifests.jsonlines import JsonLineReader
from manifests.rows import SCHEMA, in_key_order, read_rows
from manifests.sorting import RowsWriter

ONE = Defaults(sampling="main", cap_tokens=64, n_samples=1)
MANY = Defaults(sampling="main", cap_tokens=64, n_samples=8)


def write(tmp_path, *records, raw=None):
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        raw if raw is not None else "".join(json.dumps(record) + "\n" for record in records).encode()
    )
    return path


@dataclass
class Imported:
    """A log read to its end."""

    table: pa.Table
    row_map: RowMap
    guessed: bool
    n_read: int
    n_left_out: int


def read(path, row_map=None, defaults=ONE):
    given = None if row_map is None else RowMap.model_validate(row_map)
    (log,) = recognise([path], by_map=given is not None)
    reading = log.read(defaults=defaults, row_map=given)
    table = pa.Table.from_batches(reading.batches, schema=SCHEMA)
    return Imported(table, reading.row_map, reading.guessed, reading.tally.n_read, reading.tally.n_left_out)


def test_common_names_are_recognised_without_a_map(tmp_path):
    path = write(tmp_path, {"id": "p1", "sample": 3, "text": "x", "ok": True, "n_tokens": 5, "answer": 7})
    imported = read(path, defaults=MANY)
    row = imported.table.to_pylist()[0]
    assert ("p1", 3, "x", True, 5, "7", 64, "main") == (
        row["problem_id"], row["sample_idx"], row["completion"], row["correct"], row["n_completion_tokens"],
        row["answer"], row["cap_tokens"], row["sampling"],
    )  # fmt: skip
    assert imported.guessed
    assert "problem_id from id, sample_idx from sample" in describe(imported.row_map)


def test_the_likelier_name_wins_when_two_are_there():
    assert ("problem_id",) == guess_map({"id": 1, "problem_id": 2, "correct": True}, where="x").columns[
        "problem_id"
    ]


def test_a_log_without_known_names_asks_for_a_map(tmp_path):
    with pytest.raises(
        BeforehandError, match="no field is known to hold problem_id or correct; the fields are foo"
    ):
        read(write(tmp_path, {"foo": 1}))


def test_what_a_source_does_not_say_is_null_not_zero(tmp_path):
    row = read(write(tmp_path, {"id": "p", "ok": False})).table.to_pylist()[0]
    assert {None} == {
        row[name] for name in ("n_prompt_tokens", "n_completion_tokens", "seed", "finish_reason", "extractor")
    }


def test_nested_fields_constants_line_numbers_and_translations_are_declared(tmp_path):
    path = write(tmp_path, {"m": [{"v.1": {"ok": "yes"}}]}, {"m": [{"v.1": {"ok": "no"}}]})
    imported = read(path, {
        "format": "map/1",
        "columns": {
            "problem_id": {"line_number": True, "prefix": "q"},
            "correct": {"field": ("m", 0, "v.1", "ok"), "values": {"yes": True, "no": False}},
            "cap_tokens": {"value": 32},
        },
    })  # fmt: skip
    expected = [("q0", True, 32), ("q1", False, 32)]
    assert expected == [(r["problem_id"], r["correct"], r["cap_tokens"]) for r in imported.table.to_pylist()]


def test_rows_that_the_filter_leaves_out_are_counted(tmp_path):
    path = write(tmp_path, {"id": "a-1", "ok": True}, {"id": "b-1", "ok": True})
    where = {"field": "id", "matches": "a-.*"}
    imported = read(
        path, {"format": "map/1", "columns": {"problem_id": "id", "correct": "ok"}, "where": where}
    )
    assert (2, 1, 1) == (imported.n_read, imported.n_left_out, imported.table.num_rows)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"id":"a","ok":true}\n{"id":"b","o', r"log\.jsonl:2: is cut short"),
        (b'{"id":"a","ok":true}{"id":"b","ok":true}\n', r"log\.jsonl:1: holds more than one object"),
        (b'{"id":"a","ok":true}\n[1]\n', r"log\.jsonl:2: is no JSON object: a list"),
        (b'{"id":"a\xff","ok":true}\n', r"log\.jsonl:1: is not UTF-8"),
        (b"", "holds no row"),
        (b"\n\n", "holds no row"),
        (b'{"id":"a","ok":"true"}\n', r"log\.jsonl:1 correct: 'true' is no verdict"),
        (b'{"id":"a","ok":0.5}\n', "0.5 is no verdict"),
        (b'{"id":"a","ok":NaN}\n', "nan is no verdict"),
        (b'{"id":"","ok":true}\n', "'' is no problem id"),
        (b'{"id":true,"ok":true}\n', "True is no problem id"),
        (b'{"id":"a","ok":true,"text":"\\ud800"}\n', "lone surrogate"),
        (b'{"id":"a","ok":true,"n_tokens":3000000000}\n', "3000000000 is out of range"),
        (b'{"id":"a","ok":true,"n_tokens":1.5}\n', "1.5 is no whole number"),
        (b'{"id":"a","ok":true,"finish_reason":"eos"}\n', "'eos' is none of stop, length, error"),
        (b'{"id":"a","ok":true}\n{"id":"b"}\n', r"log\.jsonl:2 correct: has no field 'ok'"),
    ],
)
def test_a_line_that_cannot_become_a_row_is_named(tmp_path, raw, message):
    with pytest.raises(BeforehandError) as caught:
        read(write(tmp_path, raw=raw))

    assert re.search(message, str(caught.value)), str(caught.value)


def test_all_bad_lines_are_reported_at_once(tmp_path):
    with pytest.raises(FindingsError) as caught:
        read(write(tmp_path, {"id": "a", "ok": "x"}, {"id": "b", "ok": 1}, {"id": "c", "ok": "y"}))
    assert ["log.jsonl:1 correct", "log.jsonl:3 correct"] == [
        finding.where for finding in caught.value.findings
    ]


def test_line_separators_inside_a_completion_do_not_end_a_line(tmp_path):
    text = "a\u2028b\u0085c\x0bd\re"
    raw = (json.dumps({"id": "p", "ok": True, "text": text}, ensure_ascii=False) + "\n").encode()
    assert text == read(write(tmp_path, raw=raw)).table["completion"][0].as_py()


def test_a_bom_and_crlf_line_ends_are_read(tmp_path):
    raw = b'\xef\xbb\xbf{"id":"a","ok":true}\r\n{"id":"b","ok":false}\r\n'
    assert ["a", "b"] == read(write(tmp_path, raw=raw)).table["problem_id"].to_pylist()


def test_several_samples_need_a_sample_index(tmp_path):
    with pytest.raises(BeforehandError, match="nothing says the sample_idx"):
        read(write(tmp_path, {"id": "a", "ok": True}), defaults=MANY)


def test_an_unnamed_sampling_is_asked_for(tmp_path):
    with pytest.raises(BeforehandError, match="SAMPLING=FILE"):
        read(
            write(tmp_path, {"id": "a", "ok": True}),
            defaults=Defaults(sampling=None, cap_tokens=1, n_samples=1),
        )


@pytest.mark.parametrize(
    ("row_map", "message"),
    [
        ({"columns": {"foo": "x"}}, "foo is no column"),
        ({"columns": {"problem_id": {"field": "a", "value": 1}}}, "exactly one of"),
        ({"columns": {"problem_id": "a"}, "where": {"field": "a", "matches": "("}}, "no regular expression"),
        ({"columns": {}}, "at least 1"),
        ({"columns": {"problem_id": "a"}, "extra": 1}, "extra"),
    ],
)
def test_a_map_that_cannot_work_is_refused(row_map, message):
    with pytest.raises(ValueError, match=message):
        RowMap.model_validate({"format": "map/1", **row_map})


def test_a_value_that_the_map_does_not_list_is_named(tmp_path):
    row_map = {
        "format": "map/1",
        "columns": {"problem_id": "id", "correct": {"field": "ok", "values": {"1": True}}},
    }
    with pytest.raises(FindingsError, match="do not list 'null'"):
        read(write(tmp_path, {"id": "a", "ok": None}), row_map)


KEYS = {
    "id": "problem_id",
    "n": "n_completion_tokens",
    "text": "completion",
    "ok": "correct",
    "why": "finish_reason",
    "s": "verify_s",
}
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "id": st.one_of(st.text(max_size=4), st.integers(-5, 5)),
        "n": st.one_of(st.integers(-(2**33), 2**33), st.floats(), st.none()),
        "text": st.one_of(st.text(max_size=6), st.none(), st.just({"id": "x"})),
        "ok": st.sampled_from([True, False, 0, 1, None, "true"]),
        "why": st.sampled_from(["stop", "length", "eos", None]),
        "s": st.one_of(st.floats(), st.integers(0, 3), st.none(), st.floats(0, 1e6, width=32)),
        "other": st.one_of(st.just({"n": 1}), st.text(max_size=3), st.just([{"why": None}])),
    },
)
WHOLE = st.fixed_dictionaries(
    {
        "id": st.text(min_size=1, max_size=4), "n": st.integers(0, 99), "text": st.text(max_size=6), "ok": st.booleans(),
        "why": st.sampled_from(["stop", None]), "s": st.floats(0, 1e6),
    }
)  # fmt: skip


@given(
    records=st.one_of(st.lists(WHOLE, min_size=1, max_size=4), st.lists(VALUES, min_size=1, max_size=3)),
    joined=st.booleans(),
)
def test_the_quick_way_and_the_exact_way_give_the_same_rows(records, joined, tmp_path_factory):
    lines = [
        json.dumps(record, ensure_ascii=index % 2 == 0).encode("utf-8", "surrogatepass")
        for index, record in enumerate(records)
    ]
    raw = (b"" if joined else b"\n").join(lines) + b"\n"
    row_map = RowMap.model_validate(
        {"format": "map/1", "columns": {column: key for key, column in KEYS.items()}}
    )
    quick = PlainMap.of(row_map, ONE).batch(raw)
    if quick is not None:
        exact = io.BytesIO(raw)
        source = MappedSource(path=tmp_path_factory.getbasetemp() / "x", place_of=str)
        entries = (Entry(line.number, line.value, line.size) for line in JsonLineReader(exact, where="x"))
        expected = pa.Table.from_batches(list(batches_through_map(entries, source, row_map, ONE, Tally())))
        assert expected.equals(pa.Table.from_batches([quick]))


def test_a_plain_block_goes_the_quick_way():
    row_map = RowMap.model_validate(
        {"format": "map/1", "columns": {"problem_id": "id", "correct": "ok", "answer": "a"}}
    )
    plain = PlainMap.of(row_map, ONE)
    assert plain.batch(b'{"id":"a","ok":true,"a":null}\n{"id":"b","ok":false,"a":"3"}\n').num_rows == 2
    assert plain.batch(b'{"id":"a","ok":true}\n{"id":"b","ok":false,"a":"3"}\n') is None


@pytest.mark.parametrize("text", ["a\u2028b\u0085c", "nul \x00 inside", "x" * 1_000_000, "\U0001f600", ""])
def test_any_completion_that_is_text_comes_back_as_it_was(tmp_path, text):
    assert text == read(write(tmp_path, {"id": "p", "ok": True, "text": text})).table["completion"][0].as_py()


@pytest.mark.parametrize("escape", ["\\ud800", "\\udc00", "\\ud800x"])
def test_half_a_surrogate_pair_is_refused_with_its_line(tmp_path, escape):
    raw = f'{{"id":"a","ok":true,"text":"fine"}}\n{{"id":"b","ok":true,"text":"{escape}"}}\n'.encode()
    with pytest.raises(FindingsError, match=r"log\.jsonl:2 completion: holds a lone surrogate"):
        read(write(tmp_path, raw=raw))


def test_line_numbers_count_on_from_the_blocks_before(tmp_path, monkeypatch):
    monkeypatch.setattr(plain_lines, "BLOCK_BYTES", 64)
    good = b'{"id":"a","ok":true,"text":"fine"}\n' * 9
    with pytest.raises(FindingsError, match=r"log\.jsonl:10 correct: 'no' is no verdict"):
        read(write(tmp_path, raw=good + b'{"id":"b","ok":"no","text":"x"}\n'))


@pytest.mark.parametrize("order", ["sorted", "reversed", "shuffled"])
def test_rows_written_through_many_runs_are_the_bytes_of_one_run(tmp_path, monkeypatch, order):
    rows = [
        {"id": f"p{i // 4:03d}", "sample": i % 4, "ok": i % 3 == 0, "text": f"t{i} " * (i % 7)}
        for i in range(400)
    ]
    table = read(write(tmp_path, *rows), defaults=MANY).table
    whole = RowsWriter(tmp_path / "a")
    whole.add(table.combine_chunks().to_batches()[0])
    whole.write(tmp_path / "whole.parquet")
    places = list(range(400))
    {
        "sorted": lambda: None,
        "reversed": places.reverse,
        "shuffled": lambda: random.Random(1).shuffle(places),
    }[order]()
    monkeypatch.setattr(sorting, "RUN_BYTES", 4_000)
    monkeypatch.setattr(sorting, "SLICE_BYTES", 500)
    in_runs = RowsWriter(tmp_path / "b")
    for first in range(0, 400, 23):
        in_runs.add(table.take(places[first : first + 23]).combine_chunks().to_batches()[0])
    assert in_key_order(table).drop_columns(["completion"]).equals(in_runs.light_rows())
    in_runs.write(tmp_path / "runs.parquet")
    assert (tmp_path / "whole.parquet").read_bytes() == (tmp_path / "runs.parquet").read_bytes()
    assert list((tmp_path / "b").glob("run-*"))
    assert in_key_order(table).equals(read_rows(tmp_path / "runs.parquet"))


def test_a_row_group_ends_by_rows_or_by_bytes(monkeypatch, tmp_path):
    monkeypatch.setattr(sorting, "GROUP_ROWS", 3)
    monkeypatch.setattr(sorting, "GROUP_BYTES", 10)
    sizes = [1, 1, 1, 1, 20, 1, 9]
    assert [(0, 3), (3, 4), (4, 5), (5, 7)] == list(sorting._cuts(np.array(sizes)))
    assert [(0, 0)] == list(sorting._cuts(np.array([], dtype=np.int64)))
