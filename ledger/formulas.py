"""Arithmetic over named inputs: numbers, names, + - * / and parentheses. Parsed here, never evaluated as code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

LONGEST = 500
DEEPEST = 50
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>[-+*/()]))"
)


class FormulaError(ValueError):
    """A formula that is not arithmetic, or cannot be computed."""


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Name:
    """An input."""

    name: str


@dataclass(frozen=True, slots=True)
class Operation:
    """Two terms and what joins them: + - * or /."""

    sign: str
    left: Term
    right: Term


Term = Number | Name | Operation


def parse(text: str) -> Term:
    """The formula as a tree; FormulaError names the character that does not belong."""
    if len(text) > LONGEST:
        raise FormulaError(f"is longer than {LONGEST} characters")
    reader = _Reader(_tokens(text))
    term = reader.sum(0)
    if reader.here is not None:
        raise FormulaError(f"does not go on with {reader.here!r}")
    return term


def names(term: Term) -> frozenset[str]:
    """The inputs that the formula needs."""
    if isinstance(term, Name):
        return frozenset({term.name})
    return names(term.left) | names(term.right) if isinstance(term, Operation) else frozenset()


def compute(term: Term, inputs: Mapping[str, Fraction]) -> Fraction:
    """The exact value; FormulaError on a division by zero. Every name must be in `inputs`."""
    if isinstance(term, Number):
        return term.value
    if isinstance(term, Name):
        return inputs[term.name]
    left, right = compute(term.left, inputs), compute(term.right, inputs)
    if term.sign == "+":
        return left + right
    if term.sign == "-":
        return left - right
    if term.sign == "*":
        return left * right
    if right == 0:
        raise FormulaError("divides by zero")
    return left / right


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            rest = text[place:].lstrip()
            raise FormulaError(
                f"has {rest[:10]!r} where only numbers, names, + - * / and parentheses may stand"
            )
        found.append(match[match.lastgroup or 0])
        place = match.end()
    return found


class _Reader:
    """Recursive descent: sum = product (+|- product)*, product = factor (*|/ factor)*."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._place = 0

    @property
    def here(self) -> str | None:
        """The next token, None at the end."""
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def sum(self, depth: int) -> Term:
        """A sum of products."""
        term = self._product(depth)
        while self.here in ("+", "-"):
            sign = self._take()
            term = Operation(sign, term, self._product(depth))
        return term

    def _product(self, depth: int) -> Term:
        term = self._factor(depth)
        while self.here in ("*", "/"):
            sign = self._take()
            term = Operation(sign, term, self._factor(depth))
        return term

    def _factor(self, depth: int) -> Term:
        if depth > DEEPEST:
            raise FormulaError(f"nests deeper than {DEEPEST}")
        piece = self._take()
        if piece == "(":
            term = self.sum(depth + 1)
            if self.here != ")":
                raise FormulaError("has an open parenthesis")
            self._take()
            return term
        if piece == "-":
            return Operation("-", Number(Fraction(0)), self._factor(depth + 1))
        if piece and piece[0].isdigit():
            return Number(Fraction(Decimal(piece)))
        if piece and (piece[0].isalpha() or piece[0] == "_"):
            return Name(piece)
        raise FormulaError(f"has {piece!r} where a number or a name belongs" if piece else "ends too early")

    def _take(self) -> str:
        token = self.here or ""
        self._place += 1
        return token
