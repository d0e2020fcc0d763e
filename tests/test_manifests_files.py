import errno
import os
from pathlib import Path

import pytest

from manifests.documents import Document, parse_toml, validate_mapping
from manifests.errors import BeforehandError
from manifests.files import decode_utf8, inside, read_bytes, write_atomically
from manifests.jsonfile import dump_json, parse_json
from manifests.text import printable


def test_a_written_file_holds_the_new_bytes_and_leaves_no_partial(tmp_path):
    target = tmp_path / "deep" / "a.json"
    write_atomically(target, b"one")
    write_atomically(target, b"two")
    assert (b"two", ["a.json"]) == (target.read_bytes(), [path.name for path in target.parent.iterdir()])


def test_a_full_disk_leaves_the_old_bytes_whole(tmp_path, monkeypatch):
    target = tmp_path / "a.json"
    write_atomically(target, b"old")

    def full(_descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BeforehandError, match="No space left on device"):
        write_atomically(target, b"new")
    assert (b"old", ["a.json"]) == (target.read_bytes(), [path.name for path in tmp_path.iterdir()])


@pytest.mark.parametrize(
    "path",
    ["../x", "a/../../x", "/etc/passwd", "", "C:\\x", "a\\..\\x", "..", "a/\x00b", "//host/x", "c:/x"],
)
def test_a_path_that_leaves_its_root_is_refused(tmp_path, path):
    with pytest.raises(BeforehandError, match="leaves its folder"):
        inside(tmp_path, path, where="record")


def test_a_link_that_leaves_its_root_is_refused(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    with pytest.raises(BeforehandError, match="leaves its folder"):
        inside(root, "link/x", where="record")


def test_a_path_below_its_root_is_taken(tmp_path):
    assert tmp_path / "units/a b/rows.parquet" == inside(tmp_path, "units/a b/rows.parquet", where="record")


def test_a_missing_file_is_named_with_the_mend():
    with pytest.raises(BeforehandError) as caught:
        read_bytes(Path("nowhere.json"), mend="make it")
    assert ("does not exist", "nowhere.json", "make it") == (
        caught.value.what,
        caught.value.where,
        caught.value.mend,
    )


def test_bytes_that_are_not_utf8_are_named():
    with pytest.raises(BeforehandError, match="byte 1: 0xff"):
        decode_utf8(b"a\xff", where="x")


@pytest.mark.parametrize("data", [b'{"a":1,"a":2}', b'{"a":NaN}', b"{", b'{"a":Infinity}', b"\xef\xbb\xbf{}"])
def test_json_that_two_readers_could_read_differently_is_refused(data):
    with pytest.raises(BeforehandError, match="is not the JSON"):
        parse_json(data, where="x.json")


def test_json_is_written_for_people_and_diffs():
    assert '{\n "a": [\n  1\n ],\n "é": null\n}\n'.encode() == dump_json({"é": None, "a": [1]})


def test_control_and_direction_characters_are_made_visible():
    assert "a⟨ESC⟩[31m⟨U+202E⟩b⟨LF⟩⟨U+2028⟩" == printable("a\x1b[31m\u202eb\n\u2028")


def test_a_lone_surrogate_can_be_shown():
    assert "a?" == printable("a\ud800")


@pytest.mark.parametrize("parse", [parse_json, parse_toml])
def test_what_is_nested_too_deeply_is_refused(parse):
    nested = b"[" * 100_000 if parse is parse_json else b"a = " + b"[" * 100_000
    with pytest.raises(BeforehandError, match="is nested too deeply to be read"):
        parse(nested, where="x")


def test_a_toml_table_below_a_thousand_others_is_refused():
    with pytest.raises(BeforehandError, match="cannot be taken"):
        validate_mapping(Document, parse_toml(b"a." * 5000 + b"a = 1", where="x"), where="x")


def test_a_toml_number_of_too_many_digits_is_refused():
    with pytest.raises(BeforehandError, match="is not TOML"):
        parse_toml(b"a = " + b"1" * 5000, where="x")
