import math

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from manifests.canonical import canonical_json

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda children: st.lists(children) | st.dictionaries(TEXT, children),
)


@given(VALUES)
def test_any_value_has_the_bytes_of_the_published_implementation(value):
    assert rfc8785.dumps(value) == canonical_json(value)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        # RFC 8785, appendix B
        (b"0", -0.0),
        (b"5e-324", 5e-324),
        (b"-1.7976931348623157e+308", -1.7976931348623157e308),
        (b"9007199254740992", 9007199254740992.0),
        (b"295147905179352830000", 295147905179352830000.0),
        (b"9.999999999999997e+22", 9.999999999999997e22),
        (b"1e+23", 1e23),
        (b"333333333.3333332", 333333333.3333332),
        (b"0.000001", 0.000001),
        (b"1e-7", 1e-7),
    ],
)
def test_numbers_are_written_as_ecmascript_writes_them(expected, value):
    assert expected == canonical_json(value)


def test_keys_are_sorted_by_utf16_code_units():
    # U+1D306 has the surrogates D834 DF06 and so comes before U+FB33
    assert '{"\U0001d306":1,"\ufb33":2}'.encode() == canonical_json({"\ufb33": 2, "\U0001d306": 1})


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, 2**53, "\ud800", {"\udfff": 1}, {1: "a"}, b"bytes", object(), {1, 2}]
)
def test_what_has_no_place_in_json_is_refused(value):
    with pytest.raises(ValueError, match=r"."):
        canonical_json(value)
