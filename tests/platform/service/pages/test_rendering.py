"""Values as pages show them."""

from __future__ import annotations

import pytest

from headrace.pages.rendering import figure


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (49.666666666666664, "49.6667"),
        (-18.833333333333332, "-18.8333"),
        (0.00012345678901, "0.000123457"),
        (1e300, 1e300),
        (78.0, 78.0),
        (1_234_567.1234567, "1234567.1235"),
        (12_345_678_901, 12_345_678_901),
        ("49.666666666666664", "49.666666666666664"),
        (None, None),
    ],
)
def test_a_number_with_many_decimals_is_rounded(value: object, shown: object) -> None:
    assert figure(value) == shown
