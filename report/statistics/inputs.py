"""What a caller may hand over: arrays are checked once, at the door, and refused instead of coerced.

Every error says what is wrong, where it stands, and how to mend it.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

_INTEGER_MEND = "pass whole numbers as integers (for a mean over samples, pass the count and n_samples)"


def checked_level(level: float, name: str = "level") -> float:
    """`level` lies strictly between 0 and 1, and is a float. Errors: ValueError otherwise."""
    if not 0.0 < float(level) < 1.0:
        raise ValueError(f"{name} is {level!r}: it must lie strictly between 0 and 1 (95 % is 0.95)")
    return float(level)


def tail_probabilities(level: float) -> tuple[float, float]:
    """The two quantiles that leave `level` between them, free of the rounding of 1 - level.

    0.95 gives exactly the doubles 0.025 and 0.975, so the bounds equal those of `percentile([2.5, 97.5])`.
    """
    tail = (1 - Fraction(repr(checked_level(level)))) / 2
    return float(tail), float(1 - tail)


def vector(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """`values` as finite float64, one dimension.

    Errors: ValueError for another shape, a null, NaN or infinity (with the first place).
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as err:
        raise ValueError(f"{name} holds something that is not a number: drop or judge nulls first") from err
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions: pass one value per problem")
    finite = np.isfinite(array)
    if not finite.all():
        first = int(np.flatnonzero(~finite)[0])
        raise ValueError(f"{name}[{first}] is {array[first]}: drop or judge missing values first")
    return array


def fractions(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """`values` as float64 in [0, 1]. Errors: ValueError with the first value outside."""
    array = vector(name, values)
    outside = (array < 0.0) | (array > 1.0)
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"{name}[{first}] is {array[first]}, outside [0, 1]: pass fractions, or pass counts and n_samples"
        )
    return array


def counts(name: str, values: ArrayLike, *, at_most: int | None = None) -> NDArray[np.int64]:
    """`values` as int64 >= 0, one dimension; booleans count as 0 and 1.

    Errors: ValueError for a float (even 3.0: a count that went through a float may have lost its integer), a
    negative value, or one above `at_most`.
    """
    array = np.asarray(values)
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iub":
        raise ValueError(f"{name} is of type {array.dtype}, not integer: {_INTEGER_MEND}")
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions: pass one count per problem")
    whole = array.astype(np.int64)
    wrong = whole < 0 if at_most is None else (whole < 0) | (whole > at_most)
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        limit = "" if at_most is None else f" and at most {at_most}"
        raise ValueError(f"{name}[{first}] is {whole[first]}: a count must be at least 0{limit}")
    return whole


def whole_number(name: str, value: int, *, at_least: int = 0) -> int:
    """`value` as an int >= `at_least`. Errors: ValueError for a float, a bool or a smaller number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} is {value!r}: {_INTEGER_MEND}")
    if value < at_least:
        raise ValueError(f"{name} is {value}: it must be at least {at_least}")
    return int(value)


def outcomes(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    """`values` as booleans, one per problem; only True, False, 0 and 1 pass.

    Errors: ValueError for null (an unjudged problem is neither solved nor unsolved) and for anything else.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions: pass one outcome per problem")
    if array.dtype.kind == "b":
        return array
    number = vector(name, array)
    wrong = (number != 0.0) & (number != 1.0)
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{name}[{first}] is {number[first]}: an outcome is 0 or 1; threshold the score first"
        )
    return np.equal(number, 1.0)


def same_length(**arrays: NDArray[np.generic]) -> int:
    """The common length of `arrays`. Errors: ValueError that names every length."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"lengths differ ({told}): pair both sides by problem id first")
    return next(iter(lengths.values()))


def labels(
    name: str, values: Sequence[object] | NDArray[np.generic]
) -> tuple[NDArray[np.int64], list[object]]:
    """(code of each element, the distinct labels in sorted order). Strings sort by code point.

    Errors: ValueError for a missing label (None or NaN: dropped or merged, it would change the number without
    a word) and for labels that have no common order.
    """
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions: pass one label per element")
    if array.dtype.kind == "O":
        missing = np.array([value is None or value != value for value in array.tolist()], dtype=bool)  # noqa: PLR0124 - NaN is the one value unequal to itself
    elif array.dtype.kind == "f":
        missing = np.isnan(array)
    else:
        missing = np.zeros(len(array), dtype=bool)
    if missing.any():
        first = int(np.flatnonzero(missing)[0])
        raise ValueError(f"{name}[{first}] is missing: give every element a label, or leave the element out")
    try:
        distinct, codes = np.unique(array, return_inverse=True)
    except TypeError as err:
        raise ValueError(f"{name} mixes types that have no common order: pass all labels as strings") from err
    return codes.astype(np.int64), distinct.tolist()
