"""README.md, report.html and provenance.json say the same, from one content."""

import base64
import hashlib
import json
import re

import pytest
from markdown_it import MarkdownIt
from study_factory import add_units, freeze_study, import_log, make_study, whole_study, worse, write_log

from report.build import build
from report.page import ORDER

HOSTILE = "|a|</script><script>alert(1)</script>`x` \x1b[31m\u202e [l](javascript:x) **b** ![i](http://h) =1+1 {{P1.gain}}"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return build(whole_study(tmp_path_factory.mktemp("page") / "s")).files


def html_tokens(readme):
    """Pieces of the Markdown that a reader would take as HTML."""
    tokens = MarkdownIt("commonmark").enable("table").parse(readme)
    every = [child for token in tokens for child in (token, *(token.children or ()))]
    return [token.content for token in every if token.type in {"html_block", "html_inline"}]


def text(files, name):
    return files[name].decode()


def test_the_readme_opens_with_title_conclusion_status_facts_and_labels_before_the_table(files):
    readme = text(files, "README.md")
    places = [
        readme.index(mark)
        for mark in ("# Does the toy", "On 12 problems", "> **PRIMARY.**", "- **Registered before data?**", "Labels:", "| Id |", "figures/gains.png")
    ]  # fmt: skip
    assert places == sorted(places)
    assert len(re.findall(r"^- \*\*", readme[: readme.index("Labels:")], re.MULTILINE)) == 6


def test_readme_and_page_have_the_same_sections_in_the_same_order(files):
    in_readme = re.findall(r"^## \d+\. (.+)$", text(files, "README.md"), re.MULTILINE)
    in_page = re.findall(
        r'<h2 id="h-\w+"><span class="no">\d+</span>([^<]+)</h2>', text(files, "report.html")
    )
    assert len(ORDER) == len(in_readme)
    assert in_readme == in_page


def test_every_number_of_the_readme_stands_in_the_page_with_the_same_pointer(files):
    lines = json.loads(files["provenance.json"])["lines"]["README.md"]
    in_readme = {pointer for pointers in lines.values() for pointer in pointers}
    in_page = set(re.findall(r'data-ptr="([^"]+)"', text(files, "report.html")))
    assert in_readme - in_page == set()
    assert {"P1.gain", "P1.p", "sft.toy.main/main.truncated_share", "units.planned"} - in_readme == {
        "sft.toy.main/main.truncated_share"  # the toy's rows do not say how they ended
    }


def test_a_line_of_the_map_holds_the_number_that_it_points_at(files):
    provenance = json.loads(files["provenance.json"])
    readme = text(files, "README.md").split("\n")
    for line, pointers in provenance["lines"]["README.md"].items():
        for pointer in pointers:
            name, _, field = pointer.rpartition(".")
            assert provenance["pointers"][name]["values"][field]["shown"] in readme[int(line) - 1]


def test_the_readme_holds_no_html_and_no_marks_of_pointers(files):
    assert html_tokens(text(files, "README.md")) == []
    assert not re.search("[\x00-\x08\x0b-\x1f]", text(files, "README.md"))


def test_the_policy_names_the_digests_of_the_one_style_and_the_one_script(files):
    page = text(files, "report.html")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        contents = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(contents[0].encode()).digest()).decode()
        assert (len(contents), f"{directive} 'sha256-{digest}'" in policy) == (1, True)
    assert policy.startswith("default-src 'none';")


def test_the_page_needs_nothing_from_outside_and_styles_no_element_by_itself(files):
    page = text(files, "report.html")
    body = page[page.index("<body") : page.index('<script type="application/json"')]
    assert not re.search(r"\s(style|on\w+)=", body)
    assert not re.search(r"<(img|link|iframe|object|embed|base|form)\b", page)
    targets = set(re.findall(r'(?:href|src)="([^"]+)"', body))
    assert all(re.fullmatch(r"#[^\s]+|[\w./-]+\.(json|sha256)", target) for target in targets), targets
    assert len(re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1].splitlines()) <= 80


def test_a_number_in_the_page_is_the_number_of_the_aggregate(files):
    aggregate = json.loads(files["aggregate.json"])
    page = text(files, "report.html")
    data = json.loads(re.search(r'id="prov-data">(.*?)</script>', page)[1])
    assert repr(aggregate["endpoints"]["P1"]["estimate"]["value"]) == data["P1"]["values"]["gain"]
    assert str(aggregate["endpoints"]["P1"]["estimate"]["paired"]["gained"]) == data["P1"]["values"]["gained"]


def test_hostile_text_is_data_in_the_page(tmp_path):
    study = make_study(
        tmp_path / "s",
        study_toml=f"[roster.'sft.toy.main']\nstatus='skipped'\ndecision='D1'\nreason={json.dumps(HOSTILE)}\n",
    )
    (study / "DECISIONS.md").write_text(f"# D\n\n## 2026-01-01 · DEVIATION · D1\n\n{HOSTILE}\n")
    (study / "narrative.md").write_text(f"A note: {HOSTILE.replace('{{P1.gain}}', '')}\n")
    freeze_study(study)
    import_log(study, "base.toy.main", write_log(tmp_path / "b.jsonl", worse, text=HOSTILE))
    page = build(study).files["report.html"].decode()
    assert page.count("<script") == 2
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_completions_of_a_model_are_shown_as_data(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    import_log(study, "base.toy.main", write_log(tmp_path / "b.jsonl", worse))
    import_log(study, "sft.toy.main", write_log(tmp_path / "c.jsonl", lambda _p, _s: True, text=HOSTILE))
    files = build(study).files
    page, readme = files["report.html"].decode(), files["README.md"].decode()
    assert "&lt;script&gt;alert(1)" in page
    assert page.count("<script") == 2
    assert "⟨ESC⟩" in readme
    assert html_tokens(readme) == []


@pytest.mark.parametrize("name", ["أهلا-1", "שלום", "問題一", "x\u202ey", "a|b", "`code`", "-1", "p" * 300])
def test_any_problem_id_is_printed_and_leaves_the_page_whole(tmp_path, name):
    ids = [name, *(f"p{number:03d}" for number in range(5))]
    study = make_study(tmp_path / "s", ids=ids)
    freeze_study(study)
    import_log(study, "base.toy.main", write_log(tmp_path / "b.jsonl", worse, ids=ids))
    import_log(
        study, "sft.toy.main", write_log(tmp_path / "c.jsonl", lambda problem, _s: problem == name, ids=ids)
    )
    files = build(study).files
    assert "\u202e" not in files["report.html"].decode()
    assert files["README.md"].decode().count("\n## ") == len(ORDER)


def test_sections_without_anything_to_say_say_in_one_line_why(tmp_path):
    study = make_study(tmp_path / "s")
    (study / "DECISIONS.md").write_text("")
    freeze_study(study)
    readme = build(study).files["README.md"].decode()
    for line in (
        "The decision log is empty.",
        "No unit is there yet.",
        "Nothing is booked in the ledger",
        "None is sealed.",
        "The design names no validity rule",
    ):
        assert line in readme


def test_a_study_with_both_units_and_a_dead_verifier_withholds_the_number_in_both_texts(tmp_path):
    study = make_study(tmp_path / "s")
    freeze_study(study)
    add_units(study, candidate=lambda problem, sample: None if problem == "p003" else True)
    files = build(study).files
    assert "incomplete" in text(files, "README.md")
    assert 'class="word open">incomplete' in text(files, "report.html")
