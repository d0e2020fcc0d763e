from datetime import date

import pytest

from manifests.errors import FindingsError
from prereg.decisions import parse_decisions, read_decisions
from prereg.new import TEMPLATE

LOG = """# Decisions

## 2026-08-26 · DECISION · D1
We run B.

```
## 2026-08-26 · NOTE · quoted
```

## 2026-08-27 · DEVIATION · D2
Text with | a pipe.
## 2026-08-28 · ERRATUM · D3 · mends D2
It was a comma.
"""


def findings(text):
    return [f"{one.where} {one.what}" for one in parse_decisions(text.encode(), where="D.md").findings]


def test_entries_are_read_in_order_with_their_text_verbatim():
    log = parse_decisions(LOG.encode(), where="D.md")
    assert ((), ("D1", "D2", "D3")) == (log.findings, log.ids)
    first, second, third = log.entries
    assert ("DECISION", date(2026, 8, 26), 3, None) == (first.kind, first.day, first.line, first.mends)
    assert "We run B.\n\n```\n## 2026-08-26 · NOTE · quoted\n```\n\n" == first.text
    assert "Text with | a pipe.\n" == second.text
    assert "D2" == third.mends


def test_the_template_is_an_empty_log():
    log = parse_decisions((TEMPLATE / "DECISIONS.md").read_bytes(), where="D.md")
    assert ((), ()) == (log.entries, log.findings)


@pytest.mark.parametrize(
    ("heading", "says"),
    [
        ("## 2026-08-29 - NOTE - D4", "is malformed"),
        ("##2026-08-29 · NOTE · D4", "is malformed"),
        ("## Later", "is malformed"),
        ("## 2026-02-30 · NOTE · D4", "is no day"),
        ("## 2026-08-29 · MOOD · D4", "is no kind"),
        ("## 2026-08-29 · NOTE · D1", "stands on line 3 already"),
        ("## 2026-08-29 · ERRATUM · D4", "does not say what it mends"),
        ("## 2026-08-29 · ERRATUM · D4 · mends D9", "does not stand above it"),
        ("## 2026-08-29 · NOTE · D4 · mends D1", "a NOTE mends nothing"),
    ],
)
def test_a_doubtful_entry_is_a_finding_with_its_line(heading, says):
    found = findings(f"{LOG}{heading}\ntext\n")
    assert 1 == len(found)
    assert found[0].startswith("D.md:14 ")
    assert says in found[0]


def test_an_entry_without_text_is_a_finding():
    assert ["D.md:14 D4 says nothing below its heading"] == findings(LOG + "## 2026-08-29 · NOTE · D4\n\n")


def test_all_findings_come_at_once_and_reading_refuses_the_log(tmp_path):
    path = tmp_path / "DECISIONS.md"
    path.write_text(LOG + "## x\n## y\n", encoding="utf-8")
    with pytest.raises(FindingsError) as caught:
        read_decisions(path)
    assert 2 == len(caught.value.findings)


def test_a_log_that_is_not_utf_8_is_a_finding():
    assert ["is not UTF-8 (byte 2: 0xff)"] == [
        one.what for one in parse_decisions(b"# \xff", where="D.md").findings
    ]


def test_crlf_headings_are_read():
    assert ("D1", "D2", "D3") == parse_decisions(LOG.replace("\n", "\r\n").encode(), where="D.md").ids
