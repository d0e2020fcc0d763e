"""Tokenizers against each other: whether two `tokenizer.json` give the same ids to the same text.

The gate of a study that scores one model's token ids with another model: every ordinary id must stand for the same
token, and the sections that cut text into tokens must be the same. Special ids may differ (chat models rename them);
they are listed, because a text that holds one is read in two ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from manifests.digests import sha256_document, sha256_file
from manifests.errors import BeforehandError, Finding
from manifests.jsonfile import read_json

SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokenizer:
    """What decides which ids a text gets. sections: part of the file -> digest over RFC 8785 of it."""

    name: str
    sha256: str
    ordinary: Mapping[int, str]
    special: Mapping[int, str]
    sections: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerComparison:
    """The gate's outcome: findings stop a study, notes are conditions to be written down."""

    first: Tokenizer
    second: Tokenizer
    n_ordinary: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """One line for people."""
        state = "compatible" if not self.findings else "not compatible"
        return f"{self.first.name} and {self.second.name}: {state}, {self.n_ordinary} ordinary ids compared"


def read_tokenizer(path: Path, *, name: str) -> Tokenizer:
    """Read a `tokenizer.json`; a file of another make is an error."""
    raw = read_json(path)
    model = raw.get("model") if isinstance(raw, dict) else None
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    added = raw.get("added_tokens") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(vocabulary, dict) or not isinstance(added, list):
        raise BeforehandError(
            "is no tokenizer.json with a vocabulary of token -> id",
            where=name,
            mend="compare tokenizers of this make only; for others compare the files' sha256",
        )
    special = {entry["id"]: entry["content"] for entry in added}
    # Ids that the vocabulary and the added tokens both name are special: the added token wins when text is read.
    ordinary = {number: token for token, number in vocabulary.items() if number not in special}
    sections = {key: sha256_document(raw.get(key)) for key in ("model", "normalizer", "pre_tokenizer")}
    return Tokenizer(
        name=name, sha256=sha256_file(path), ordinary=ordinary, special=special, sections=sections
    )


def compare_tokenizers(first: Tokenizer, second: Tokenizer) -> TokenizerComparison:
    """Every id of either, one by one, and the sections by digest."""
    where = f"{first.name} | {second.name}"
    special = set(first.special) | set(second.special)
    ids = sorted((set(first.ordinary) | set(second.ordinary)) - special)
    findings = []
    wrong = [number for number in ids if first.ordinary.get(number) != second.ordinary.get(number)]
    if wrong:
        findings.append(
            Finding(
                where=where,
                what=f"{len(wrong)} ordinary ids stand for other tokens: {_shown(wrong, first.ordinary, second.ordinary)}",
                mend="ids of one cannot be scored by the other: take models that share a tokenizer",
            )
        )
    if first.sections["model"] != second.sections["model"]:
        findings.append(
            Finding(
                where=where,
                what=f"the base model section differs: sha256 {first.sections['model']}, {second.sections['model']}",
                mend="the same text may be cut into other tokens: take models that share vocabulary and merges",
            )
        )
    notes = [
        f"the {section} section differs: sha256 {first.sections[section]}, {second.sections[section]}"
        for section in ("normalizer", "pre_tokenizer")
        if first.sections[section] != second.sections[section]
    ]
    other = [number for number in sorted(special) if _token(first, number) != _token(second, number)]
    if other:
        shown = _shown(other, {**first.ordinary, **first.special}, {**second.ordinary, **second.special})
        notes.append(f"{len(other)} special ids differ, in [{other[0]}, {other[-1]}]: {shown}")
    return TokenizerComparison(
        first=first, second=second, n_ordinary=len(ids), findings=tuple(findings), notes=tuple(notes)
    )


def _token(tokenizer: Tokenizer, number: int) -> str | None:
    return tokenizer.special.get(number, tokenizer.ordinary.get(number))


def _shown(numbers: list[int], first: Mapping[int, str], second: Mapping[int, str]) -> str:
    shown = [f"{number} {first.get(number)!r} | {second.get(number)!r}" for number in numbers[:SHOWN]]
    more = len(numbers) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
