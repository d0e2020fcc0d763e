import json
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ledger_rows import booking
from prereg_studies import DESIGN, NOON, frozen_study, make_study

import prereg.amend
from ledger.book import Book
from ledger.layout import empty_ledger
from manifests.documents import parse_toml, validate_mapping
from manifests.errors import BeforehandError, FindingsError, NotInOrderError
from prereg.amend import amend, seals_of
from prereg.amendment import TEMPLATE, Amendment
from prereg.block import find_block
from prereg.effective import effective_design
from prereg.freeze import freeze
from prereg.verify import verify

ROW = {"problem_id": "p3", "completion": "6", "correct": True}
STRICTER = """
[endpoints.P1]
role = "primary"
baseline = "base"
candidate = "sft"
benchmark = "toy"
protocol = "main"
sampling = "main"
metric = { name = "solved_at_k", k = 8 }
test = { name = "mcnemar_exact", sides = 2, alpha = "0.01" }
decide = "p_below_alpha"
"""


def amendment(**given):
    prose = {"registered": "as it was", "now": "as it is", "reason": "because", "seen": "nothing of it"}
    return validate_mapping(Amendment, {"id": "A1", "kind": "disclosure", **prose, **given}, where="a.toml")


def later(days):
    return lambda: NOON + timedelta(days=days)


def amended(study, **given):
    return amend(study, amendment(**given), now=later(len(seals_of(study).seals) + 1)).seal


def put(study, path, *records):
    (study / path).parent.mkdir(parents=True, exist_ok=True)
    (study / path).write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))


def document(study):
    return study / "PREREGISTRATION.md"


def effective(study):
    return effective_design(find_block(document(study).read_bytes(), where="P.md"), seals_of(study).seals)


def whats(study):
    return [one.what for one in verify(study).findings]


@pytest.fixture
def study(tmp_path):
    return frozen_study(tmp_path)


def test_an_amendment_stands_below_the_block_and_everything_above_stays(study):
    before = document(study).read_bytes()
    seal = amended(study, touches=["P1"], result_before="+2 points")
    after = document(study).read_bytes()
    assert after.startswith(before)
    assert b"### A1 \xc2\xb7 2026-08-27 \xc2\xb7 disclosure" in after
    assert ("nothing", ("P1",), 1) == (seal.evidence.seen, seal.touches, seal.n)
    assert ("unchanged", 0, ("A1",)) == (
        verify(study).status,
        verify(study).exit_code,
        tuple(one.id for one in verify(study).seals),
    )


def test_the_first_seal_hangs_on_the_freeze_and_each_on_the_one_before(study):
    from prereg.registration import read_registration

    first, second = amended(study), amended(study, id="A2")
    record = read_registration(study / "registration.json")
    assert (record.record_sha256, first.hash) == (first.prev, second.prev)
    assert f"2:{second.hash}" == seals_of(study).head


def test_a_change_replaces_whole_tables_and_the_registered_endpoint_stays(study):
    seal = amended(study, kind="change", design=STRICTER)
    result = effective(study)
    assert ("P1",) == seal.touches
    assert ("0.05", "0.01") == (
        str(result.registered.endpoints["P1"].test.alpha),
        str(result.in_force.endpoints["P1"].test.alpha),
    )
    assert ("amended-before-results", "registered") == (result.label("P1"), result.label("S1"))
    assert 0 == verify(study).exit_code


def test_a_changed_protocol_touches_every_endpoint_that_uses_it(study):
    tables = '[protocols.main]\ncap_tokens = 128\nsampling.main = { samples = 8, seeds = "0-7", temperature = 0.7, top_p = 0.95, prompt = "four-turns" }\n'
    assert ("P1", "S1") == amended(study, kind="change", design=tables).touches


def test_a_proposal_is_not_in_force_until_a_change_confirms_it(study):
    amended(study, kind="proposal", design=STRICTER)
    assert "0.05" == str(effective(study).in_force.endpoints["P1"].test.alpha)
    assert b"**Proposed, not in force.**" in document(study).read_bytes()
    seal = amended(study, id="A2", kind="change", confirms="A1")
    assert (("P1",), "0.01") == (seal.touches, str(effective(study).in_force.endpoints["P1"].test.alpha))
    with pytest.raises(BeforehandError, match="in force already"):
        amended(study, id="A3", kind="change", confirms="A1")


def test_what_had_been_seen_is_computed_and_may_be_raised_never_lowered(study):
    put(study, "out/sft.jsonl", ROW)
    with pytest.raises(BeforehandError, match="says that nothing had been seen; the data say verdicts"):
        amended(study, level="nothing")
    seal = amended(study, level="results")
    assert ("verdicts", "results") == (seal.evidence.seen, seal.evidence.stated)
    assert b"Seen: results, raised by the author above verdicts" in document(study).read_bytes()


@pytest.mark.parametrize(
    ("record", "level", "label"),
    [
        ({"problem_id": "p3", "completion": "6"}, "generations", "amended-before-results"),
        (ROW, "verdicts", "amended-after-results"),
        ({"unit": "sft.toy.main", "format": "aggregate/1"}, "results", "amended-after-results"),
    ],
)
def test_the_label_follows_from_the_data(study, record, level, label):
    put(study, "x", record)
    seal = amended(study, kind="change", design=STRICTER)
    assert (level, label) == (seal.evidence.seen, effective(study).label("P1"))


def test_what_was_once_seen_stays_seen_when_the_data_are_gone(study):
    put(study, "x", ROW)
    amended(study)
    (study / "x").unlink()
    assert "verdicts" == amended(study, id="A2").evidence.seen


def test_data_that_the_freeze_saw_count_though_they_are_gone(tmp_path):
    study = make_study(tmp_path)
    put(study, "x", ROW)
    freeze(study, acknowledge="a probe", now=lambda: NOON)
    (study / "x").unlink()
    assert "verdicts" == amended(study).evidence.seen


def test_a_result_in_the_decision_log_counts_as_seen(study):
    (study / "DECISIONS.md").write_text("## 2026-08-26 · RESULT · D1\n+3 points\n", encoding="utf-8")
    with pytest.raises(BeforehandError, match="D1 is a RESULT"):
        amended(study, level="nothing")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"touches": ["P9"]}, "no endpoint"),
        ({"kind": "change", "confirms": "A9"}, "no sealed proposal"),
        ({"kind": "change", "design": "[endpoints.P1]\nrole = 1\n"}, "cannot be carried out"),
        ({"kind": "change", "design": "[nonsense]\n"}, "no table of a design"),
        ({"kind": "change", "design": 'format = "design/1"\n'}, "no table of a design"),
        ({"kind": "change", "design": "[endpoints"}, "is not TOML"),
        ({"now": "x\n<!-- PREREG:END -->\ny"}, "how the registration is read"),
        ({"now": "x\n<!-- AMENDMENT:END A1 -->\ny"}, "how the registration is read"),
        ({"now": "x\n```\ny"}, "how the registration is read"),
        ({"now": "x\nPREREG_SHA256: " + "a" * 64}, "how the registration is read"),
        ({"now": "x\n```toml design\n```\ny"}, "how the registration is read"),
    ],
)
def test_an_amendment_that_makes_no_sense_is_refused_and_nothing_is_written(study, given, says):
    before = document(study).read_bytes()
    with pytest.raises(BeforehandError, match=says):
        amended(study, **given)
    assert (before, False) == (document(study).read_bytes(), (study / "amendments.jsonl").exists())


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "disclosure", "design": STRICTER},
        {"kind": "disclosure", "confirms": "A1"},
        {"kind": "change", "confirms": "A1", "design": STRICTER},
        {"kind": "whim"},
        {"reason": ""},
        {"id": "a b"},
        {"level": "little"},
    ],
)
def test_a_kind_that_does_not_fit_is_refused(given):
    with pytest.raises(FindingsError):
        amendment(**given)


def test_an_id_is_sealed_once(study):
    amended(study)
    with pytest.raises(BeforehandError, match="is taken"):
        amended(study)


def test_only_a_frozen_and_unchanged_registration_is_amended(tmp_path, study):
    with pytest.raises(NotInOrderError, match="not frozen"):
        amend(make_study(tmp_path / "other"), amendment())
    document(study).write_bytes(document(study).read_bytes().replace(b"better", b"worse"))
    with pytest.raises(NotInOrderError, match="is changed"):
        amend(study, amendment())


def test_a_clock_that_jumps_back_is_refused(study):
    with pytest.raises(BeforehandError, match="the clock says 2026-08-25T12:00:00Z"):
        amend(study, amendment(), now=later(-1))


def test_a_date_that_has_not_come_is_found(study):
    amended(study)
    assert ["was frozen at 2026-08-26T12:00:00Z, which has not come yet", "A1 was sealed at 2026-08-27T12:00:00Z, which has not come yet"] == [
        one.what for one in verify(study, now="2026-01-01T00:00:00Z").findings
    ]  # fmt: skip


def test_killed_between_seal_and_text_the_same_command_finishes(study, monkeypatch):
    written = []

    def killed(path, data):
        if path.name == "PREREGISTRATION.md":
            raise KeyboardInterrupt
        written.append(path.name)
        path.write_bytes(data)

    with monkeypatch.context() as patch:
        patch.setattr(prereg.amend, "write_atomically", killed)
        with pytest.raises(KeyboardInterrupt):
            amended(study)
    assert ["amendments.jsonl"] == written
    assert ["the amendment A1 is sealed, and its text is not in PREREGISTRATION.md"] == whats(study)
    amending = amend(study, amendment(), now=later(9))
    assert (True, "2026-08-27T12:00:00Z", 0) == (
        amending.finished_interrupted,
        amending.seal.sealed_at,
        verify(study).exit_code,
    )


def test_an_amendment_that_was_killed_is_finished_before_another_is_sealed(study, monkeypatch):
    def killed(path, data):
        if path.name == "PREREGISTRATION.md":
            raise KeyboardInterrupt
        path.write_bytes(data)

    with monkeypatch.context() as patch:
        patch.setattr(prereg.amend, "write_atomically", killed)
        with pytest.raises(KeyboardInterrupt):
            amended(study)
    amended(study, id="A7")
    assert (0, ["A1", "A7"]) == (verify(study).exit_code, [seal.id for seal in verify(study).seals])


@pytest.fixture
def thrice(study):
    for name in ("A1", "A2", "A3"):
        amended(study, id=name)
    return study


def without_entry(study, name):
    data = document(study).read_bytes()
    start, end = (
        data.index(f"<!-- AMENDMENT:BEGIN {name}".encode()),
        data.index(f"<!-- AMENDMENT:END {name} -->\n".encode()),
    )
    document(study).write_bytes(data[:start] + data[end + len(f"<!-- AMENDMENT:END {name} -->\n") :])


def without_seal(study, number):
    lines = (study / "amendments.jsonl").read_bytes().splitlines(keepends=True)
    (study / "amendments.jsonl").write_bytes(b"".join(lines[: number - 1] + lines[number:]))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_removing_any_seal_is_found_the_last_one_too(thrice, number):
    without_seal(thrice, number)
    assert any(f"the amendment A{number} has no seal" in what for what in whats(thrice))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_removing_any_entry_is_found(thrice, number):
    without_entry(thrice, f"A{number}")
    assert [f"the amendment A{number} is sealed, and its text is not in PREREGISTRATION.md"] == whats(thrice)


@pytest.mark.parametrize("number", [1, 2])
def test_removing_entry_and_seal_together_breaks_the_chain(thrice, number):
    without_entry(thrice, f"A{number}")
    without_seal(thrice, number)
    assert any("does not follow the seal before it" in what for what in whats(thrice))


def test_removing_all_seals_leaves_entries_without_one(thrice):
    (thrice / "amendments.jsonl").unlink()
    assert 3 == len([what for what in whats(thrice) if "has no seal" in what])


def test_an_edited_entry_is_found(thrice):
    document(thrice).write_bytes(document(thrice).read_bytes().replace(b"because", b"by chance", 1))
    assert ["the text of the amendment A1 is not the one that was sealed"] == whats(thrice)


def test_swapped_entries_are_found(thrice):
    data = document(thrice).read_bytes()
    parts = data.split(b"<!-- AMENDMENT:BEGIN ")
    document(thrice).write_bytes(b"<!-- AMENDMENT:BEGIN ".join([parts[0], parts[2], parts[1], parts[3]]))
    assert "the amendments stand in another order than they were sealed in" in whats(thrice)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["delete", "replace", "insert"]), st.floats(0, 1, exclude_max=True), st.integers(0, 255)
)
def test_any_one_byte_change_of_the_seals_is_found(thrice, kind, share, byte):
    path = thrice / "amendments.jsonl"
    good = path.read_bytes()
    at = int(share * len(good))
    middle = {"delete": b"", "replace": bytes([byte]), "insert": bytes([byte]) + good[at : at + 1]}[kind]
    bad = good[:at] + middle + good[at + 1 :]
    try:
        path.write_bytes(bad)
        if bad != good:
            assert 1 == verify(thrice).exit_code
    finally:
        path.write_bytes(good)


def test_a_ledger_that_was_cut_behind_a_seal_is_found(study):
    ledger = study / "ledger.csv"
    ledger.write_bytes(empty_ledger())
    Book(ledger, study_name="toy").append(booking(), booking("job-2"))
    whole = ledger.read_bytes()
    seal = amended(study)
    assert ("2", []) == (seal.evidence.ledger_head.partition(":")[0], whats(study))
    ledger.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    assert ["A1 saw row 2 of the ledger, which is not there as it was"] == whats(study)


def test_text_of_any_kind_is_sealed_and_found_again(study):
    amended(study, now="Größe | <b>x</b> \u2028 \u202e `code`\n\n```\nfenced\n```\n", reason="\u0000")
    assert 0 == verify(study).exit_code


def test_the_template_is_an_amendment(tmp_path):
    assert (
        "disclosure" == validate_mapping(Amendment, parse_toml(TEMPLATE.encode(), where="t"), where="t").kind
    )


def test_the_command_prints_its_head_and_exits_as_the_contract_says(study, capsys):
    from test_prereg_cli import call, exit_code

    from prereg.cli import prereg as commands

    (study / "a.toml").write_text(TEMPLATE, encoding="utf-8")
    assert "disclosure" in call(commands, "amend", "--template").stdout
    assert "head of the chain 1:" in call(commands, "amend", study, study / "a.toml").stdout
    capsys.readouterr()
    assert [2, 2] == [exit_code(commands, "amend", study, study / "a.toml"), exit_code(commands, "amend")]


def test_a_registered_design_without_amendments_is_in_force(study):
    result = effective(study)
    assert (result.registered, {}) == (result.in_force, dict(result.amended))
    assert DESIGN.startswith('format = "design/1"')


def test_a_chain_that_was_sealed_again_without_its_first_seal_is_found(thrice):
    from dataclasses import replace

    from prereg.seals import dumps

    seals = seals_of(thrice).seals
    again = [replace(seals[1], n=1)]
    again.append(replace(seals[2], n=2, prev=again[0].hash))
    (thrice / "amendments.jsonl").write_bytes(dumps(tuple(again)))
    without_entry(thrice, "A1")
    assert ["A2 does not follow the seal before it: a seal was removed, added or moved"] == whats(thrice)


def test_seals_whose_times_run_backwards_are_found(thrice):
    from dataclasses import replace

    from prereg.seals import dumps

    first, second, third = seals_of(thrice).seals
    second = replace(second, sealed_at="2026-08-20T00:00:00Z")
    third = replace(third, prev=second.hash)
    (thrice / "amendments.jsonl").write_bytes(dumps((first, second, third)))
    assert ["A2 was sealed at 2026-08-20T00:00:00Z, before what it follows (2026-08-27T12:00:00Z)"] == whats(
        thrice
    )


@pytest.mark.parametrize(
    "marker",
    [b"<!-- AMENDMENT:BEGIN A2 -->\n", b"<!-- AMENDMENT:END A2 -->\n", b"<!-- AMENDMENT:END A3 -->\n"],
)
def test_a_marker_of_an_amendment_that_is_gone_is_named(thrice, marker):
    document(thrice).write_bytes(document(thrice).read_bytes().replace(marker, b""))
    assert any("marker" in what for what in whats(thrice))


def test_one_amendment_after_results_makes_the_label(study):
    amended(study, kind="change", design=STRICTER)
    put(study, "x", ROW)
    amended(study, id="A2", kind="change", design=STRICTER.replace("0.01", "0.02"))
    result = effective(study)
    assert (("A1", "A2"), "amended-after-results") == (result.amended["P1"], result.label("P1"))


def test_changed_rules_and_changed_benchmarks_touch_every_endpoint(study):
    rules = '[[validity]]\nrule = "same_verifier"\n'
    benchmark = f'[benchmarks.toy]\nproblems = "problems/toy.jsonl"\nsha256 = "{"a" * 64}"\nn = 10\n'
    assert ("P1", "S1") == amended(study, kind="change", design=rules).touches
    assert ("P1", "S1") == amended(study, id="A2", kind="change", design=benchmark).touches


def test_a_new_endpoint_is_an_amended_one(study):
    assert ("P2",) == amended(study, kind="change", design=STRICTER.replace("P1", "P2")).touches
    assert "amended-before-results" == effective(study).label("P2")


def test_two_amendments_at_once_are_both_sealed(tmp_path):
    import subprocess
    import sys
    from pathlib import Path

    from study_factory import freeze_study, make_study

    root = Path(__file__).resolve().parent.parent
    study = make_study(tmp_path / "s")
    freeze_study(study)
    files = []
    for number in (1, 2):
        files.append(tmp_path / f"a{number}.toml")
        files[-1].write_text(
            f'id = "A{number}"\nkind = "disclosure"\nregistered = "x"\nnow = "y"\nreason = "z"\nseen = "nothing"\ntouches = ["P1"]\n'
        )
    commands = [
        [sys.executable, str(root / "beforehand.py"), "prereg", "amend", str(study), str(file)]
        for file in files
    ]
    running = [
        subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for one in commands
    ]
    said = [one.communicate(timeout=120) for one in running]
    assert [0, 0] == [one.returncode for one in running], said
    assert 2 == len((study / "amendments.jsonl").read_bytes().splitlines())
    done = subprocess.run(
        [sys.executable, str(root / "beforehand.py"), "prereg", "verify", str(study)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "unchanged" in done.stdout
    assert "has no seal" not in done.stdout
