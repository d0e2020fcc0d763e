"""The smallest p that is written as a number, and the rule below it."""

SMALLEST_P = 1e-300
"""Below this a double loses digits and then becomes 0: the p is then this bound, and log10_p has the value."""


def bounded(p_value: float) -> tuple[float, bool]:
    """(p, is bound): p itself, or the bound 1e-300 and True; never 0. A p above 1 by rounding is 1."""
    return (SMALLEST_P, True) if p_value < SMALLEST_P else (min(1.0, p_value), False)
