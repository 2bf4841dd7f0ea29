"""Numbers in messages have the right noun."""

import pytest

from headrace.nouns import counted


@pytest.mark.parametrize(
    ("number", "one", "expected"),
    [
        (0, "row", "0 rows"),
        (1, "row", "1 row"),
        (2000, "row", "2,000 rows"),
        (1, "process", "1 process"),
        (2, "process", "2 processes"),
    ],
)
def test_the_noun_agrees_with_its_number(number: int, one: str, expected: str) -> None:
    assert counted(number, one) == expected


def test_one_or_more_is_plural() -> None:
    assert counted(1, "dataset", " or more") == "1 or more datasets"
