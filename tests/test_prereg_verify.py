import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from prereg_studies import frozen_study, make_study

from manifests.digests import sha256_document
from manifests.errors import BeforehandError
from manifests.jsonfile import dump_json
from prereg.registration import parse_registration
from prereg.strict import DamagedRecordError
from prereg.verification import unified_diff
from prereg.verify import main, verify

REPOSITORY = Path(__file__).parent.parent


def document(study):
    return study / "PREREGISTRATION.md"


def edit(path, old, new):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def whats(result):
    return [one.what for one in result.findings]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return frozen_study(tmp_path_factory.mktemp("frozen"))


def test_an_untouched_registration_is_unchanged(study):
    result = verify(study)
    assert ("unchanged", 0, (), "2026-08-26T12:00:00Z", "") == (
        result.status, result.exit_code, result.findings, result.frozen_at, result.diff,
    )  # fmt: skip


def test_prose_outside_the_block_is_free(tmp_path):
    study = frozen_study(tmp_path)
    edit(document(study), b"# Toy", b"# Toy, with a better title\n\n- and a list\n")
    edit(document(study), b"## Amendments", b"## Amendments\n\nnone so far")
    assert 0 == verify(study).exit_code


@pytest.mark.parametrize("ending", [b"\r\n", b"\r"])
def test_only_line_endings_is_a_state_of_its_own(tmp_path, ending):
    study = frozen_study(tmp_path)
    document(study).write_bytes(document(study).read_bytes().replace(b"\n", ending))
    assert ("line_endings_only", 1, "") == (verify(study).status, verify(study).exit_code, verify(study).diff)


def test_a_byte_order_mark_is_told_from_a_change(tmp_path):
    study = frozen_study(tmp_path)
    document(study).write_bytes(b"\xef\xbb\xbf" + document(study).read_bytes())
    assert ("line_endings_only", ["starts with a byte order mark"]) == (
        verify(study).status,
        whats(verify(study)),
    )


def test_a_change_is_shown_as_a_diff_against_the_frozen_text(tmp_path):
    study = frozen_study(tmp_path)
    edit(document(study), b'alpha = "0.05"', b'alpha = "0.10"')
    result = verify(study)
    assert ("changed", 1) == (result.status, result.exit_code)
    assert [True, True] == [line in result.diff.split("\n") for line in (
        '-test = { name = "mcnemar_exact", sides = 2, alpha = "0.05" }',
        '+test = { name = "mcnemar_exact", sides = 2, alpha = "0.10" }',
    )]  # fmt: skip


def test_crlf_and_a_change_together_are_a_change(tmp_path):
    study = frozen_study(tmp_path)
    edit(document(study), b"Is it better?", b"Is it worse?")
    document(study).write_bytes(document(study).read_bytes().replace(b"\n", b"\r\n"))
    assert "changed" == verify(study).status
    assert "+Is it worse?" in verify(study).diff


@pytest.mark.parametrize("marker", [b"<!-- PREREG:BEGIN -->\n", b"<!-- PREREG:END -->\n"])
def test_a_marker_that_is_gone_is_a_change(tmp_path, marker):
    study = frozen_study(tmp_path)
    edit(document(study), marker, b"")
    assert ("changed", 1) == (verify(study).status, verify(study).exit_code)


def test_a_registration_that_is_gone_is_a_change(tmp_path):
    study = frozen_study(tmp_path)
    document(study).unlink()
    assert ("changed", ["does not exist any more"]) == (verify(study).status, whats(verify(study)))


def test_an_unfrozen_study_is_not_frozen(tmp_path):
    study = make_study(tmp_path)
    assert ("not_frozen", 1, None) == (verify(study).status, verify(study).exit_code, verify(study).frozen_at)


def test_a_removed_record_is_noticed_by_the_hash_line(tmp_path):
    study = frozen_study(tmp_path)
    (study / "registration.json").unlink()
    assert "not_frozen" == verify(study).status
    assert "the record was removed" in whats(verify(study))[0]


def test_block_and_hash_line_rewritten_together_still_differ_from_the_record(tmp_path):
    study, other = frozen_study(tmp_path / "a"), make_study(tmp_path / "b", design=make_easier())
    from prereg.freeze import freeze

    freeze(other)
    document(study).write_bytes(document(other).read_bytes())
    result = verify(study)
    assert "changed" == result.status
    assert ["the PREREG_SHA256 line does not equal the record"] == whats(result)


def make_easier():
    from prereg_studies import DESIGN

    return DESIGN.replace('"0.05"', '"0.10"')


def test_the_hash_line_must_be_there_once_and_equal(tmp_path):
    study = frozen_study(tmp_path)
    line = next(line for line in document(study).read_bytes().split(b"\n") if line.startswith(b"PREREG"))
    edit(document(study), line, line + b"\n" + line)
    assert ["a further PREREG_SHA256 line"] == whats(verify(study))
    edit(document(study), line + b"\n" + line, b"")
    assert ["no PREREG_SHA256 line stands below the block"] == whats(verify(study))
    assert ("unchanged", 1) == (verify(study).status, verify(study).exit_code)


def test_drift_and_loss_of_pinned_files_are_findings(tmp_path):
    study = frozen_study(tmp_path)
    (study / "configs/sft.toml").write_bytes(b"epochs = 3\n")
    (study / "problems/toy.jsonl").unlink()
    result = verify(study)
    assert ("unchanged", 1) == (result.status, result.exit_code)
    assert ["configs/sft.toml", "problems/toy.jsonl"] == [one.where for one in result.findings]
    assert "drifted" in result.findings[0].what
    assert "cannot be read: No such file" in result.findings[1].what


RECORD_EDITS = {
    "an unknown key": lambda record: {**record, "note": 1},
    "a missing key": lambda record: {key: value for key, value in record.items() if key != "tool"},
    "another time": lambda record: {**record, "frozen_at": "2020-01-01T00:00:00Z"},
    "a wrong type": lambda record: {**record, "pinned": {}},
    "another text": lambda record: {**record, "frozen_text": record["frozen_text"] + "x"},
    "a later format": lambda record: {**record, "format": "registration/2"},
    "a pinned file less": lambda record: {**record, "pinned": record["pinned"][1:]},
    "a pinned file that leaves": lambda record: {**record, "pinned": [{"path": 1, "sha256": "0"}]},
}


@pytest.mark.parametrize("name", RECORD_EDITS)
def test_an_altered_record_proves_nothing(tmp_path, name):
    study = frozen_study(tmp_path)
    path = study / "registration.json"
    path.write_bytes(dump_json(RECORD_EDITS[name](json.loads(path.read_bytes()))))
    assert ("record_altered", 1) == (verify(study).status, verify(study).exit_code)
    assert verify(study).findings


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b'{"a": 1, "a": 1}', b"\xff", b"[" * 100_000, b'{"study": "\\ud800"}']
)
def test_a_record_that_is_no_record_is_altered_and_no_crash(tmp_path, data):
    study = frozen_study(tmp_path)
    (study / "registration.json").write_bytes(data)
    assert "record_altered" == verify(study).status


def test_a_text_that_does_not_have_its_digest_is_found_though_the_record_was_sealed_again(study):
    record = json.loads((study / "registration.json").read_bytes())
    del record["record_sha256"]
    record["frozen_text"] += "x"
    data = dump_json({**record, "record_sha256": sha256_document(record)})
    with pytest.raises(DamagedRecordError, match="does not have the digest"):
        parse_registration(data, where="r")


def spoil(data, at, kind, byte):
    if kind == "delete":
        return data[:at] + data[at + 1 :]
    if kind == "insert":
        return data[:at] + bytes([byte]) + data[at:]
    return data[:at] + bytes([byte]) + data[at + 1 :]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["delete", "insert", "replace"]), st.floats(0, 1, exclude_max=True), st.integers(0, 255)
)
def test_any_one_byte_change_in_the_block_or_the_hash_line_is_found(study, kind, share, byte):
    path = document(study)
    good = path.read_bytes()
    start = good.index(b"<!-- PREREG:BEGIN -->")
    end = good.index(b"\n", good.index(b"PREREG_SHA256"))
    at = start + int(share * (end - start))
    hash_line = good.index(b"PREREG_SHA256")
    # A blank line above the BEGIN marker or above the hash line changes neither.
    assume(not (kind == "insert" and byte == 10 and at in {start, hash_line - 1, hash_line}))
    bad = spoil(good, at, kind, byte)
    try:
        path.write_bytes(bad)
        if bad != good:
            assert 1 == verify(study).exit_code
    finally:
        path.write_bytes(good)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["delete", "insert", "replace"]), st.floats(0, 1, exclude_max=True), st.integers(0, 255)
)
def test_any_one_byte_change_in_the_record_is_found(study, kind, share, byte):
    path = study / "registration.json"
    good = path.read_bytes()
    bad = spoil(good, int(share * len(good)), kind, byte)
    try:
        path.write_bytes(bad)
        if bad != good:
            assert "record_altered" == verify(study).status
    finally:
        path.write_bytes(good)


def test_a_folder_that_is_no_study_is_wrong_input(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(BeforehandError):
            verify(path)


def test_a_long_difference_is_cut_and_says_so():
    diff = unified_diff("a\n" * 10_000, "b\n" * 10_000)
    assert "not shown" in diff.split("\n")[-1]


def run(*arguments, env=None):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, check=False, env={**os.environ, **(env or {})}
    )


ISOLATED = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); before = set(sys.modules); import prereg.verify; code = prereg.verify.main();"
    "names = {name.partition('.')[0] for name in set(sys.modules) - before};"
    "print(sorted(names - sys.stdlib_module_names - {'prereg', 'manifests'}), file=sys.stderr); sys.exit(code)"
)


def test_verify_runs_on_a_bare_python_and_loads_no_third_party_module(tmp_path):
    study = frozen_study(tmp_path, name="Ärger mit Leerzeichen")
    edit(document(study), b"better", b"worse")
    finished = run("-I", "-S", "-c", ISOLATED, str(REPOSITORY), str(study))
    assert (1, b"[]\n") == (finished.returncode, finished.stderr)
    assert "-Is it better?" in finished.stdout.decode()


def test_json_is_one_document_in_every_outcome(tmp_path, capsys):
    study = frozen_study(tmp_path)
    assert 0 == main([str(study), "--json"])
    assert "unchanged" == json.loads(capsys.readouterr().out)["status"]
    edit(document(study), b"better", b"worse")
    assert 1 == main([str(study), "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert ("changed", "2026-08-26T12:00:00Z") == (shown["status"], shown["frozen_at"])
    assert 2 == main([str(tmp_path / "none"), "--json"])
    assert "is not a folder" == json.loads(capsys.readouterr().out)["error"]["what"]


@pytest.mark.parametrize(
    "arguments", [[], ["--nonsense", "x"], ["a", "b"], ["--json"], ["x", "--authority"], ["x", "--json=1"]]
)
def test_wrong_use_exits_2_and_says_how_it_is_used(arguments, capsys):
    assert 2 == main(arguments)
    printed = capsys.readouterr()
    assert "usage: verify-prereg STUDY" in printed.out + printed.err


def test_a_bug_of_ours_exits_70(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("prereg.verify.verify", lambda _: 1 / 0)
    assert 70 == main([str(tmp_path)])
    assert "please report it" in capsys.readouterr().err


def test_foreign_text_is_never_printed_raw(tmp_path, capsys):
    study = frozen_study(tmp_path)
    edit(document(study), b"better", b"\x1b[2Jbetter \xe2\x80\xae")
    main([str(study)])
    shown = capsys.readouterr().out
    assert ("\x1b" in shown, "\u202e" in shown) == (False, False)
    assert "⟨ESC⟩[2Jbetter" in shown


def test_an_ascii_terminal_does_not_stop_it(tmp_path):
    study = frozen_study(tmp_path)
    edit(document(study), b"better", "größer".encode())
    finished = run(
        "-m", "prereg.verify", str(study), env={"PYTHONPATH": str(REPOSITORY), "PYTHONIOENCODING": "ascii"}
    )
    assert 1 == finished.returncode
    assert b"gr\\xf6\\xdfer" in finished.stdout


def test_it_says_what_a_hash_does_not_prove(study, capsys):
    main([str(study)])
    assert "not identity and not time" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b"Is it better?", b"Is it better?  ", "only white space at the ends of lines differs"),
        (b"Is it better?", b"Is  it better?", "only white space differs"),
        (b"k = 8,", b"k   =  8 ,", "the design reads the same; its text or the prose around it differs"),
        (b'"0.05"', b"'0.05'", "the design reads the same; its text or the prose around it differs"),
        (b'"0.05"', b'"0.06"', ""),
    ],
)
def test_a_small_change_is_a_change_and_its_nature_is_said(tmp_path, old, new, says):
    study = frozen_study(tmp_path)
    edit(document(study), old, new)
    assert ("changed", 1, says) == (verify(study).status, verify(study).exit_code, verify(study).difference)


def test_a_bundle_that_was_built_on_another_block_is_found(tmp_path):
    study = frozen_study(tmp_path)
    (study / "report").mkdir()
    (study / "report/aggregate.json").write_bytes(
        b'{"registration": {"block_sha256": "' + verify(study).actual.encode() + b'"}}'
    )
    assert 0 == verify(study).exit_code
    (study / "report/MANIFEST.json").write_bytes(
        b'{"block_sha256": "' + b"a" * 64 + b'", "amendments_head": "2:' + b"b" * 64 + b'"}'
    )
    assert ["another registration", "a seal number 2"] == [
        part
        for part, what in zip(("another registration", "a seal number 2"), whats(verify(study)), strict=True)
        if part in what
    ]


@pytest.mark.parametrize(
    "moment",
    [
        "yesterday",
        "2026-13-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-01-01",
        "2026-01-01T24:00:00Z",
        "２026-01-01T00:00:00Z",
    ],
)
def test_a_sealed_record_whose_time_is_none_is_altered(tmp_path, moment):
    study = frozen_study(tmp_path)
    record = json.loads((study / "registration.json").read_bytes())
    del record["record_sha256"]
    record["frozen_at"] = moment
    (study / "registration.json").write_bytes(dump_json({**record, "record_sha256": sha256_document(record)}))
    assert ("record_altered", ["is no time in UTC"]) == (verify(study).status, whats(verify(study)))
