"""The extractor ladder: which rung finds the answer, and what it finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.verify.ladder import RUNGS, STANDARD, Extracted, extract, rungs_from_words

ALL = ("answer_line", "boxed", "last_number")


@pytest.mark.parametrize(
    ("text", "rung", "answer"),
    [
        ("Answer: 4\nno\nAnswer: 5\n", "answer_line", "5"),
        ("thus \\boxed{4}\nAnswer: 5", "answer_line", "5"),
        ("**Answer:** $\\frac12$", "answer_line", "$\\frac12$"),
        ("Answer: \\boxed{7}.", "answer_line", "7"),
        ("Answer:\n\\boxed{6}", "boxed", "6"),
        ("\\boxed{1} then \\boxed{\\frac{1}{2}}", "boxed", "\\frac{1}{2}"),
        ("\\boxed{\\{1, 2\\}}", "boxed", "\\{1, 2\\}"),
        ("\\boxed{3} and \\boxed{never closed", "boxed", "3"),
        ("it is 1,234.5 of 7", "last_number", "7"),
        ("it is 1,234.5", "last_number", "1234.5"),
        ("The Answer is: nothing", "none", None),
        ("", "none", None),
    ],
)
def test_the_first_rung_that_finds_an_answer_is_named(text, rung, answer):
    assert Extracted(rung, answer) == extract(text, ALL)


def test_a_rung_that_is_not_declared_is_not_climbed():
    assert Extracted("none", None) == extract("so it is 7", STANDARD)


def test_an_unknown_rung_is_refused():
    with pytest.raises(ValueError, match="no rung 'guess'"):
        extract("x", ("guess",))
    with pytest.raises(ValueError, match="no rung 'vibes'"):
        rungs_from_words("last boxed, vibes")


def test_the_words_of_a_pin_name_the_rungs():
    assert ALL == rungs_from_words("last Answer: line, last boxed, last number")


@given(st.text())
def test_any_text_has_one_outcome(text):
    found = extract(text, ALL)
    assert (found.rung == "none") == (found.answer is None)
    assert found.rung in {*RUNGS, "none"}


@given(st.text(alphabet="ab1{}\\", max_size=8))
def test_braces_inside_a_box_are_balanced(inside):
    found = RUNGS["boxed"]("\\boxed{" + inside + "}")
    if found is not None:
        plain = found.replace("\\{", "").replace("\\}", "")
        assert plain.count("{") == plain.count("}")
