"""Tables fit the terminal, and never break an identifier."""

from __future__ import annotations

import pytest

from headrace.terminal.output import show, table

KEY, TAG = "flights/aircraft_rotations_of_a_long_name", "20261129T164420Z-da474ae7"
REASON = "a reason in words that may be folded over several lines"


@pytest.mark.parametrize("columns", ["20", "80", "200"])
def test_keys_and_tags_are_never_folded(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    show(table(["dataset", "version", "#rows", "reason"], [[KEY, TAG, 1234567, REASON]] * 2))
    lines = capsys.readouterr().out.splitlines()
    assert sum(KEY in line for line in lines) == sum(TAG in line for line in lines) == 2
    assert sum("1,234,567" in line for line in lines) == 2


def test_a_table_that_does_not_fit_is_a_block_for_each_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    show(table(["dataset", "version", "#rows"], [[KEY, TAG, 7], ["flights/planes", TAG, None]]))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        f"dataset  {KEY}",
        f"version  {TAG}",
        "rows     7",
        "",
        "dataset  flights/planes",
        f"version  {TAG}",
        "rows     -",
        "",
    ]


def test_text_is_folded_to_the_width_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    show(table(["dataset", "reason"], [["flights/airlines", REASON * 3]]))
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60
