import json
import re

import pytest

from manifests.errors import BeforehandError, FindingsError
from manifests.importers.jsonl import Defaults, read_jsonl
from manifests.importers.mapping import RowMap, describe, guess_map

ONE = Defaults(sampling="main", cap_tokens=64, n_samples=1)
MANY = Defaults(sampling="main", cap_tokens=64, n_samples=8)


def write(tmp_path, *records, raw=None):
    path = tmp_path / "log.jsonl"
    path.write_bytes(raw if raw is not None else "".join(json.dumps(record) + "\n" for record in records).encode())
    return path


def read(path, row_map=None, defaults=ONE):
    return read_jsonl(path, row_map=None if row_map is None else RowMap.model_validate(row_map), defaults=defaults)


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
    assert ("problem_id",) == guess_map({"id": 1, "problem_id": 2, "correct": True}, where="x").columns["problem_id"]


def test_a_log_without_known_names_asks_for_a_map(tmp_path):
    with pytest.raises(BeforehandError, match="no field is known to hold problem_id or correct; the fields are foo"):
        read(write(tmp_path, {"foo": 1}))


def test_what_a_source_does_not_say_is_null_not_zero(tmp_path):
    row = read(write(tmp_path, {"id": "p", "ok": False})).table.to_pylist()[0]
    assert {None} == {row[name] for name in ("n_prompt_tokens", "n_completion_tokens", "seed", "finish_reason", "extractor")}


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
    imported = read(path, {"format": "map/1", "columns": {"problem_id": "id", "correct": "ok"}, "where": where})
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
    assert ["log.jsonl:1 correct", "log.jsonl:3 correct"] == [finding.where for finding in caught.value.findings]


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
        read(write(tmp_path, {"id": "a", "ok": True}), defaults=Defaults(sampling=None, cap_tokens=1, n_samples=1))


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
    row_map = {"format": "map/1", "columns": {"problem_id": "id", "correct": {"field": "ok", "values": {"1": True}}}}
    with pytest.raises(FindingsError, match="do not list 'null'"):
        read(write(tmp_path, {"id": "a", "ok": None}), row_map)
