"""narrative.md: numbers are looked up, never typed; `report lint` finds what an author should mend."""

import pytest
from study_factory import whole_study

from report.build import build
from report.lint import check_prose, lint
from report.narrative import narrative_parts


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return whole_study(tmp_path_factory.mktemp("narrative") / "s")


def built_with(study, narrative):
    (study / "narrative.md").write_text(narrative)
    return build(study)


def test_a_reference_becomes_the_number_with_its_pointer(study):
    files = built_with(study, "The gain is {{P1.gain}} pp.\n").files
    assert "> **Author's note.** The gain is +83.3 pp." in files["README.md"].decode()
    assert (
        '<span class="n" data-ptr="P1.gain"><a href="#ptr-P1">+83.3</a></span> pp.'
        in files["report.html"].decode()
    )


def test_a_number_changes_with_its_rows_and_the_prose_follows(study):
    before = built_with(study, "{{units.found}} units.\n").files["README.md"].decode()
    assert "2 units." in before


def test_notes_go_to_the_section_of_their_heading(study):
    readme = (
        built_with(study, "## limitations\n\nOne seed.\n\n- first\n- second\n\n## cost\n\nNothing.\n")
        .files["README.md"]
        .decode()
    )
    limitations = readme[readme.index("## 11. Limitations") : readme.index("## 12. Cost")]
    assert "> **Author's note.** One seed.\n\n- first\n- second" in limitations
    assert "> **Author's note.** Nothing." in readme[readme.index("## 12. Cost") :]


@pytest.mark.parametrize("reference", ["{{P9.gain}}", "{{P1.nothing}}", "{{P1}}", "{{ P1.gain.x }}"])
def test_an_unknown_reference_is_a_finding_and_is_shown_as_unknown(study, reference):
    built = built_with(study, f"It is {reference}.\n")
    assert any("names no number" in finding.what for finding in built.findings)
    assert "unknown: " in built.files["README.md"].decode()


@pytest.mark.parametrize("text", ["{{ 7*7 }}", "{{''.__class__}}", "{% if x %}", "{{P1.gain|upper}}"])
def test_what_is_no_reference_is_text_and_is_never_evaluated(study, text):
    readme = built_with(study, f"It says {text} here.\n").files["README.md"].decode()
    assert "49" not in readme.split("Author's note.")[1].split("\n")[0]


def test_an_unknown_section_is_a_finding(study):
    built = built_with(study, "## results\n\nHm.\n")
    assert [finding.where for finding in built.findings] == ["narrative.md:3"]


@pytest.mark.parametrize(
    "prose",
    ["a gain of 23.2 pp", "50 % of samples", "p = 0.03", "p<.05", "480 of 960", "+3.2", "USD 41.20", "0.87 on average", "12 percentage points"],
)  # fmt: skip
def test_a_bare_numeral_that_looks_like_a_result_is_found(prose):
    assert check_prose(f"We saw {prose} there.\n".encode()) != ()


@pytest.mark.parametrize(
    "prose",
    ["in 2026", "see P1 and S5a", "of three arms", "4 samples", "`math-verify 0.9`", "{{P1.gain}} pp", "{{P1.baseline}} %", "section 7", "SmolLM2-135M", "v1.2.3"],
)  # fmt: skip
def test_years_names_settings_and_references_are_no_results(prose):
    assert check_prose(f"This is {prose} here.\n".encode()) == ()


def test_words_that_only_a_rule_may_say_are_found():
    assert [finding.where for finding in check_prose(b"a\n\nA significant trend.\n")] == [
        "narrative.md:3"
    ] * 2


def test_lint_names_every_place_and_an_empty_narrative_is_clean(study):
    (study / "narrative.md").write_text("Up by 5.2 pp.\n\n{{P7.gain}}\n")
    assert {finding.where for finding in lint(study)} == {"narrative.md:1", "narrative.md:3"}
    (study / "narrative.md").unlink()
    assert lint(study) == ()


def test_parts_know_their_lines():
    found = [(part.section, part.line, part.text) for part in narrative_parts(b"a\nb\n\n## cost\n- x\n- y\n")]
    assert found == [("summary", 1, "a b"), ("cost", 5, "x"), ("cost", 6, "y")]
