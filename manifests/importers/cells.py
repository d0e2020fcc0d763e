"""Cells: what a foreign value must be to stand in a column of a row. Refused where it is something else, never coerced."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from manifests.digests import is_sha256
from manifests.rows import FINISH_REASONS


def _problem_id(value: Any) -> str:  # noqa: ANN401 - foreign JSON, as in all casts below
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise ValueError(f"{_shown(value)} is no problem id")
    return _text(str(value))


def _text(value: Any) -> str:  # noqa: ANN401
    if not isinstance(value, str):
        raise ValueError(f"{_shown(value)} is no text")
    if not value.isascii():  # quick for most text
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as err:
            raise ValueError(
                f"holds a lone surrogate (\\u{ord(value[err.start]):04x}), which no UTF-8 file can hold"
            ) from err
    return value


def _text_or_null(value: Any) -> str | None:  # noqa: ANN401
    return None if value is None else _text(value)


def _answer(value: Any) -> str | None:  # noqa: ANN401
    """Extracted answers are kept as text; a number keeps the digits that JSON gave it."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    return _text_or_null(value)


def _integer(bits: int) -> Callable[[Any], int]:
    limit = 2 ** (bits - 1)

    def cast(value: Any) -> int:  # noqa: ANN401
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{_shown(value)} is no whole number")
        if not -limit <= value < limit:
            raise ValueError(f"{value} is out of range")
        return value

    return cast


def _integer_or_null(bits: int) -> Callable[[Any], int | None]:
    cast = _integer(bits)
    return lambda value: None if value is None else cast(value)


def _verdict(value: Any) -> bool | None:  # noqa: ANN401
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in {0, 1}:
        return bool(value)
    raise ValueError(f"{_shown(value)} is no verdict: true, false, 0, 1 or null")


def _finish_reason(value: Any) -> str | None:  # noqa: ANN401
    if value is None or value in FINISH_REASONS:
        return None if value is None else str(value)
    raise ValueError(
        f"{_shown(value)} is none of {', '.join(FINISH_REASONS)}; translate it with `values` in the map"
    )


def _seconds(value: Any) -> float | None:  # noqa: ANN401
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
        raise ValueError(f"{_shown(value)} is no number of seconds")
    return float(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _reasons(value: Any) -> list[str]:  # noqa: ANN401
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise ValueError(f"{_shown(value)} is no list of reasons")
    return [_text(reason) for reason in value]


def _sha256_or_null(value: Any) -> str | None:  # noqa: ANN401
    if value is None or (isinstance(value, str) and is_sha256(value)):
        return value
    raise ValueError(f"{_shown(value)} is no sha256: 64 lower-case hex digits")


Cast = Callable[[Any], object]

CASTS: dict[str, Cast] = {
    "sampling": _text,
    "problem_id": _problem_id,
    "sample_idx": _integer(32),
    "round": _integer(16),
    "cap_tokens": _integer(32),
    "max_tokens": _integer_or_null(32),
    "seed": _integer_or_null(64),
    "n_prompt_tokens": _integer_or_null(32),
    "n_completion_tokens": _integer_or_null(32),
    "finish_reason": _finish_reason,
    "completion": _text_or_null,
    "answer": _answer,
    "extractor": _text_or_null,
    "correct": _verdict,
    "reasons": _reasons,
    "code_sha256": _sha256_or_null,
    "verify_s": _seconds,
}
"""One cast a column of `SCHEMA`; each raises ValueError with the reason."""
