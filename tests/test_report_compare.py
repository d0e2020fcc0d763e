"""`compare`: two logs, what cannot be paired, then the numbers."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from manifests.errors import BeforehandError, FindingsError
from prereg.methods import MeanCorrect, PassAtK, SolvedAtK
from report.compare import compare
from report.compare_cli import compare_command
from report.compare_sides import read_side

SHARED = Path(__file__).resolve().parents[2] / "shared/data"
DATA = Path(__file__).parent / "data"
PILOT = Path(__file__).resolve().parents[1] / "studies/smollm2-raft-pilot/raw"
MEAN = MeanCorrect(name="mean_correct")
needs_shared = pytest.mark.skipif(
    not SHARED.exists(), reason="the shared data folder with public logs is absent"
)


def log(path, *rows, **common):
    """rows: (problem id, sample, verdict)."""
    lines = ({"id": name, "sample": sample, "ok": ok, **common} for name, sample, ok in rows)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def sides(a, b, **maps):
    return (
        read_side("A", (a,), row_map=maps.get("a"), sampling=None),
        read_side("B", (b,), row_map=maps.get("b"), sampling=None),
    )


def said(found):
    return "\n".join(found.said)


def grid(solved, n_samples=1):
    return [(f"p{index}", sample, ok) for index, ok in enumerate(solved) for sample in range(n_samples)]


def test_the_pilot_gives_the_figures_of_its_readme():
    a, b = sides(PILOT / "base_eval_sample8.jsonl", PILOT / "raft-step38_eval_sample8.jsonl")
    found = compare(a, b, SolvedAtK(name="solved_at_k", k=8))
    assert (144, 1152, 8) == (found.n_shared, found.n_paired_samples, found.samples_per_problem)
    assert [1, 2, 4, 8] == [one.k for one in found.pass_at_k]
    assert round(found.pass_at_k[0].a, 4) == round(found.a.value, 4)


@needs_shared
@pytest.mark.parametrize(
    ("a", "b", "discordant", "p"),
    [("175b_finetuning", "175b_verification", (76, 360), 2.9e-45), ("175b_finetuning", "6b_verification", (152, 209), 0.00315)],
)  # fmt: skip
def test_gsm8k_gives_the_published_pairs(tmp_path, a, b, discordant, p):
    path = SHARED / "gsm8k_openai_2021/example_model_solutions.jsonl"
    maps = []
    for name in (a, b):
        map_path = tmp_path / f"{name}.toml"
        map_path.write_text(
            'format = "map/1"\nstatement = "question"\n[columns]\nproblem_id = { line_number = true, prefix = "q" }\n'
            f'correct = "{name}.is_correct"\n'
        )
        maps.append(str(map_path))
    result = CliRunner().invoke(
        compare_command, [str(path), str(path), "--map-a", maps[0], "--map-b", maps[1], "--json"]
    )
    document = json.loads(result.stdout)
    assert (1319, *discordant) == (
        document["n_shared"], document["mcnemar"]["n_lost"], document["mcnemar"]["n_gained"],
    )  # fmt: skip
    assert document["mcnemar"]["p_value"] == pytest.approx(p, rel=0.02)
    assert ("exploratory", False) == (document["label"], document["regraded"])


@needs_shared
def test_game24_any_of_100_gives_the_published_pair_and_other_n_is_said(tmp_path):
    folder = SHARED / "tot_game24"
    standard, chain, tree = (next(folder.glob(f"*{name}*")) for name in ("standard", "cot", "propose"))
    maps = {}
    for name, correct in (("accs", "accs.*"), ("infos", "infos.*.r")):
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f'format = "map/1"\n[columns]\nproblem_id = "idx"\ncompletion = "ys.*"\ncorrect = "{correct}"\n'
        )
        maps[name] = str(path)
    flags = ["--map-a", maps["accs"], "--map-b", maps["infos"], "--by", "solved_at_k", "--k", "100", "--json"]
    found = json.loads(CliRunner().invoke(compare_command, [str(standard), str(chain), *flags]).stdout)
    table = found["mcnemar"]
    assert (10, 26, pytest.approx(0.0113, rel=0.01)) == (table["n_lost"], table["n_gained"], table["p_value"])
    flags = ["--map", maps["infos"], "--json"]
    found = json.loads(CliRunner().invoke(compare_command, [str(chain), str(tree), *flags]).stdout)
    assert (5, 100) == (found["samples_per_problem"], found["n_shared"])
    assert any("9500 samples have no counterpart" in sentence for sentence in found["said"])


def test_files_that_belong_to_a_log_are_named_beside_it():
    log_path, results = (next((DATA / "lm_eval").glob(name)) for name in ("*add*", "results*"))
    flags = ["--with-a", str(results), "--with-b", str(results), "--json"]
    result = CliRunner().invoke(compare_command, [str(log_path), str(log_path), *flags])
    document = json.loads(result.stdout)
    assert ("lm-eval@1", 5, 2) == (
        document["sides"][0]["importer"], document["n_shared"], document["sides"][1]["n_correct"],
    )  # fmt: skip


def test_what_differs_is_said(tmp_path):
    a = log(tmp_path / "a.jsonl", *grid([True] * 3, 2), question="one", cap_tokens=64)
    b = log(tmp_path / "b.jsonl", *grid([True, False], 4), question="other", cap_tokens=128)
    found = compare(*sides(a, b), MEAN)
    assert "2 of 2 shared ids ask another text on the other side" in said(found)
    assert "caps differ: [64] for A, [128] for B" in said(found)
    assert "1 problems are on one side only" in said(found)
    assert "6 samples have no counterpart" in said(found)
    assert "samples a problem differ: up to 2 for A, 4 for B" in said(found)
    assert (2, 4) == (found.n_shared, found.n_paired_samples)


def test_samples_that_died_are_said_and_stay_in_no_denominator_in_silence(tmp_path):
    a = log(tmp_path / "a.jsonl", *grid([True] * 8), ("p8", 0, None), ("p9", 0, None))
    b = log(tmp_path / "b.jsonl", *grid([True] * 10))
    found = compare(*sides(a, b), MEAN)
    assert "2 of 10 rows have no verdict" in said(found)
    assert (10, 8, 8) == (found.a.n_rows, found.a.n_judged, found.n_shared)


def test_pass_at_k_beyond_the_samples_is_null_with_a_reason(tmp_path):
    a = log(tmp_path / "a.jsonl", *grid([True, False], 2), ("p2", 0, True))
    b = log(tmp_path / "b.jsonl", *grid([True, False], 2), ("p2", 0, True))
    found = compare(*sides(a, b), MEAN)
    assert (None, "1 of 3 problems have fewer than 2 paired samples") == (
        found.pass_at_k[1].a,
        found.pass_at_k[1].reason,
    )
    with pytest.raises(BeforehandError, match="1 of 3 problems have fewer than 2 samples"):
        compare(*sides(a, b), PassAtK(name="pass_at_k", k=2))


def test_pass_at_one_divides_by_the_samples_that_exist(tmp_path):
    a = log(tmp_path / "a.jsonl", ("p", 0, True), ("p", 1, False), ("q", 0, True))
    found = compare(*sides(a, a), MEAN)
    assert (0.75, 0.75) == (found.a.value, found.pass_at_k[0].a)
    assert "problems have from 1 to 2 judged samples" in said(found)


def test_a_sample_that_stands_twice_is_refused(tmp_path):
    a = log(tmp_path / "a.jsonl", ("p", 0, True), ("p", 0, False))
    with pytest.raises(FindingsError, match="1 keys stand more than once"):
        sides(a, a)


def test_logs_that_share_nothing_are_refused(tmp_path):
    a, b = log(tmp_path / "a.jsonl", ("p", 0, True)), log(tmp_path / "b.jsonl", ("q", 0, True))
    with pytest.raises(BeforehandError, match="share no sample of any problem"):
        compare(*sides(a, b), MEAN)
    c = log(tmp_path / "c.jsonl", ("p", 0, None))
    with pytest.raises(BeforehandError, match="none of its 1 rows has a verdict"):
        compare(*sides(a, c), MEAN)


def test_an_empty_file_is_an_error_not_a_table(tmp_path):
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(BeforehandError, match="holds no row"):
        sides(tmp_path / "a.jsonl", tmp_path / "a.jsonl")


@given(outcomes=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=12))
def test_swapping_the_logs_mirrors_every_number(outcomes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    a = log(folder / "a.jsonl", *grid([left for left, _ in outcomes]))
    b = log(folder / "b.jsonl", *grid([right for _, right in outcomes]))
    one, other = compare(*sides(a, b), MEAN), compare(*sides(b, a), MEAN)
    assert (one.mcnemar.n_gained, one.mcnemar.p_value) == (other.mcnemar.n_lost, other.mcnemar.p_value)
    assert one.bootstrap.gain == -other.bootstrap.gain
    assert (
        len(outcomes)
        == one.mcnemar.n_both + one.mcnemar.n_neither + one.mcnemar.n_lost + one.mcnemar.n_gained
    )


def test_what_is_said_stands_before_the_first_number(tmp_path):
    a = log(tmp_path / "a.jsonl", *grid([True] * 3))
    b = log(tmp_path / "b|`x`.jsonl", *grid([False] * 3))
    for flags in ([], ["--markdown"]):
        result = CliRunner().invoke(compare_command, [str(a), str(b), *flags])
        assert result.exit_code == 0
        assert (
            result.stdout.index("Exploratory")
            < result.stdout.index("Before any number")
            < result.stdout.index("problems")
        )
    assert "b\\|\\`x\\`.jsonl" in result.stdout


@pytest.mark.parametrize(
    ("flags", "message"), [(["--by", "solved_at_k"], "needs a k"), (["--k", "2"], "takes no k")]
)
def test_a_metric_and_its_k_belong_together(tmp_path, flags, message):
    a = log(tmp_path / "a.jsonl", ("p", 0, True))
    result = CliRunner().invoke(compare_command, [str(a), str(a), *flags])
    assert message in str(result.exception)


def test_unequal_limits_are_said_where_no_log_names_a_cap(tmp_path):
    logs = []
    for name, limit in (("a", 512), ("b", 128)):
        logs.append(tmp_path / f"{name}.jsonl")
        rows = [{"id": f"p{number}", "ok": True, "max_tokens": limit} for number in range(4)]
        logs[-1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    printed = CliRunner().invoke(compare_command, [str(log) for log in logs]).output
    assert "the largest max_tokens differs: 512 for A, 128 for B" in printed
    assert "no log says its cap" not in printed
