"""How numbers are printed: decimals, signs, bounds, intervals, p-values. Rounded once, half away from zero."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

MINUS = "−"
NO_BREAK = "\u00a0"
DASH = "–"
P_FLOOR = 1e-15


def significant(value: float, digits: int = 12) -> float:
    """`value` with 12 significant digits: a processor's last bit does not show in a file."""
    return float(f"{value:.{digits - 1}e}")


def _rounded(value: float, decimals: int) -> Decimal:
    """From the shortest decimal that names the double, so that 11.25 rounds as a reader would."""
    return Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)


def decimal(value: float, decimals: int, *, signed: bool = False) -> str:
    """A fixed number of decimals, U+2212 for minus, `+` when signed; zero has no sign."""
    rounded = _rounded(significant(value), decimals)
    text = f"{abs(rounded):,f}"
    if rounded == 0:
        return text
    if rounded < 0:
        return MINUS + text
    return f"+{text}" if signed else text


def percent(fraction: float, decimals: int = 1) -> str:
    """A rate in per cent, without the sign `%`."""
    return decimal(significant(fraction) * 100, decimals)


def points(fraction: float, decimals: int = 1) -> str:
    """A difference in percentage points, always signed. A value that prints as 0 but is not gets one more digit."""
    value = significant(fraction) * 100
    if value and not _rounded(value, decimals):
        decimals += 1
    return decimal(value, decimals, signed=True)


def interval(low: float | None, high: float | None, *, signed: bool, decimals: int = 1) -> str:
    """`[low, high]` in per cent or points; "not estimable" when there is none."""
    if low is None or high is None:
        return "not estimable"
    form = points if signed else percent
    return f"[{form(low, decimals)},{NO_BREAK}{form(high, decimals)}]"


def p_value(value: float | None, *, at_floor: bool = False, log10_p: float | None = None) -> str:
    """Two significant digits with a leading zero; a bound where the method or a double ends; never 0."""
    if value is None and log10_p is None:
        return DASH
    if value is None or value < P_FLOOR:
        return f"<{NO_BREAK}1e{MINUS}15"
    if at_floor:
        return f"≤{NO_BREAK}{_two_digits(value)}"
    return _two_digits(value)


def p_phrase(text: str) -> str:
    """`p = 0.03`, `p ≤ 0.0002`, `p < 1e−15`: the sign stands once."""
    return f"p{NO_BREAK}{text}" if text[0] in "<≤" else f"p{NO_BREAK}={NO_BREAK}{text}"


def _two_digits(value: float) -> str:
    if value >= 1:
        return "1"
    exponent = math.floor(math.log10(value))
    if exponent < -5:
        mantissa = _rounded(value / 10.0**exponent, 1)
        return f"{mantissa}e{MINUS}{-exponent}"
    rounded = _rounded(value, 1 - exponent)
    return format(rounded.normalize(), "f")


def count(value: int) -> str:
    """Thousands with a comma."""
    return f"{value:,d}"


def caps(baseline: int, candidate: int) -> str:
    """The cap in tokens of both sides; both caps where they differ, the baseline's first."""
    return f"cap {' and '.join(count(one) for one in dict.fromkeys((baseline, candidate)))}"


def usd(amount: Decimal) -> str:
    """`USD 41.20`."""
    return f"USD{NO_BREAK}{amount.quantize(Decimal('0.01'), rounding=ROUND_HALF_UP):,f}"
