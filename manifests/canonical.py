"""RFC 8785 canonical JSON, on the standard library alone so that a registration can be verified anywhere.

The published implementation (`rfc8785`) checks this module in the tests.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

MAX_SAFE_INTEGER = 2**53 - 1
"""Largest integer that survives a round trip through a double; RFC 8785 inherits the limit from I-JSON (RFC 7493)."""


def canonical_json(value: object) -> bytes:
    """Return the one byte string that stands for `value` under RFC 8785.

    value: None, bool, int, float, str, sequences and mappings with string keys.
    Raises ValueError on NaN, infinity, integers beyond 2**53 - 1, lone surrogates and other types.
    """
    try:
        return _text(value).encode("utf-8")
    except UnicodeEncodeError as err:
        raise ValueError("a lone surrogate has no UTF-8 form") from err


def _text(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        if abs(value) > MAX_SAFE_INTEGER:
            raise ValueError(f"integer {value} does not fit a double: write it as a string")
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_string(key)}:{_text(value[key])}" for key in _sorted_keys(value)) + "}"
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return "[" + ",".join(_text(element) for element in value) + "]"
    raise ValueError(f"{type(value).__name__} has no place in JSON")


def _sorted_keys(mapping: Mapping[object, object]) -> list[str]:
    keys = []
    for key in mapping:
        if not isinstance(key, str):
            raise ValueError(f"key {key!r} is not a string")
        keys.append(key)
    # RFC 8785, 3.2.3: by UTF-16 code units, which differs from code point order above the BMP.
    return sorted(keys, key=lambda key: key.encode("utf-16-be", "surrogatepass"))


def _string(value: str) -> str:
    # json escapes exactly what RFC 8785, 3.2.2.2 asks for, once non-ASCII is left alone.
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """ECMAScript Number::toString (ECMA-262, 6.1.6.1.20): Python's shortest digits in another dress."""
    if not math.isfinite(value):
        raise ValueError(f"{value} has no place in JSON")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent_text = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent_text or 0)  # where the decimal point stands in `digits`
    digits = (whole + fraction).rstrip("0")
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    exponent = point - 1
    tail = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if exponent > 0 else '-'}{abs(exponent)}"
