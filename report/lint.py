"""Lint: what an author should mend in `narrative.md` before anybody reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from manifests.errors import Finding
from report.build import build
from report.narrative import FILE_NAME, REFERENCE, NarrativePart, narrative_parts

NUMERAL = re.compile(
    r"""
    (?P<share>[+\-−]?\d[\d,]*(?:\.\d+)?\s*(?:%|pp\b|per\ ?cent|percent|percentage\ points|points\b))
    | (?P<p>\bp\s*[=<>≤≥]\s*\.?\d[\d.e\-−]*)
    | (?P<money>(?:USD|EUR|\$|€)\s*\d[\d,.]*)
    | (?P<of>\b\d[\d,]*\s+(?:of|out\ of)\s+(?:the\s+)?\d[\d,]*)
    | (?P<signed>(?<![\w.])[+\-−]\d+(?:\.\d+)?)
    | (?P<decimal>(?<![\w.@])\d+\.\d+(?![\w.]))
    """,
    re.VERBOSE,
)
"""What looks like a result: shares, p values, money, `a of b`, signed numbers, decimals. Years, counts of one and ids do not."""
CODE = re.compile(r"`[^`]*`")
MEND = "refer to it as {{ID.field}}, or set it in backticks where it is a setting, not a result"
WORDS = ("significant", "significantly", "trend", "trending", "marginal", "marginally")
WORD = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)


def lint(study_root: Path) -> tuple[Finding, ...]:
    """Unknown references and sections, numerals that look like results, and words that only the registered rule may say."""
    built = build(study_root)
    path = study_root / FILE_NAME
    unresolved = tuple(one for one in built.findings if one.where.startswith(f"{FILE_NAME}:"))
    return (*unresolved, *check_prose(path.read_bytes() if path.is_file() else b""))


def check_prose(data: bytes) -> tuple[Finding, ...]:
    """Findings that need no numbers."""
    return tuple(finding for part in narrative_parts(data) for finding in (*_numerals(part), *_words(part)))


def _numerals(part: NarrativePart) -> Iterator[Finding]:
    prose = CODE.sub(" ", REFERENCE.sub(" ", part.text))
    for match in NUMERAL.finditer(prose):
        what = f"{match[0].strip()!r} looks like a result and says not where it comes from"
        yield Finding(where=f"{FILE_NAME}:{part.line}", what=what, mend=MEND)


def _words(part: NarrativePart) -> Iterator[Finding]:
    for match in WORD.finditer(CODE.sub(" ", part.text)):
        yield Finding(
            where=f"{FILE_NAME}:{part.line}",
            what=f"{match[0]!r} is no conclusion of a registered rule",
            mend="say what the rule says: improved, degraded, no detectable difference",
        )
