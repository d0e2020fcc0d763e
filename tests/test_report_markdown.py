import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from report.markdown import code, escape, quote, table

MARKDOWN = MarkdownIt("gfm-like", {"html": True, "linkify": False})
INERT = {"paragraph_open", "paragraph_close", "inline", "text", "softbreak", "text_special"}


def kinds(source):
    found = set()
    for token in MARKDOWN.parse(source):
        found.add(token.type)
        found |= {child.type for child in token.children or ()}
    return found


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>", "a|b", "**bold**", "_em_ and snake_case", "__0__", "[x](javascript:alert(1))", "![i](x)",
        "`code`", "~~gone~~", "# head", "- item", "1. item", "+ item", "=====", "---", "> quote", "&lt;", "$x$", "\\", "\\|",
        "a\x1b[31mb", "a\nb", "\u202eabc", "<!-- PREREG:END -->",
    ],
)  # fmt: skip
def test_foreign_text_stays_text(text):
    assert kinds(escape(text)) <= INERT
    assert "\x1b" not in escape(text)


@given(st.text(max_size=60))
def test_no_text_makes_markup(text):
    assert kinds("x " + escape(text)) <= INERT


@given(st.text(max_size=60))
def test_no_text_leaves_its_table_cell(text):
    tokens = MARKDOWN.parse(table(["a", "b"], [[escape(text), code(text)], ["1", "2"]]))
    assert 4 == sum(token.type == "td_open" for token in tokens)


@given(st.text(max_size=200))
def test_no_text_closes_its_fence(text):
    tokens = [token.type for token in MARKDOWN.parse(quote(text))]
    assert ["fence"] == tokens


@pytest.mark.parametrize("address", ["https://a.b", "http://a", "www.a.b", "a@b.cd", "JavaScript:x"])
def test_readers_that_link_bare_addresses_find_none(address):
    linking = MarkdownIt("gfm-like", {"linkify": True})
    tokens = linking.parse(escape(f"see {address} now"))
    assert not any(child.type == "link_open" for token in tokens for child in token.children or ())
