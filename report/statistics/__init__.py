"""Estimators, tests, intervals and planning over plain arrays.

What lives here: pure functions (numpy and scipy only) that take arrays and return frozen results. What does
not: rows, files, designs, endpoints and the choice of a method, which are the registration's business.
Two conventions hold everywhere. "Not estimable" is None with a `reason`, never NaN and never 0. A p that is
below what can be shown is a bound: the result says so (`p_is_bound`, `p_at_floor`), and the number is that bound.
Source of formulas and checks: docs/statistics.md.
"""
