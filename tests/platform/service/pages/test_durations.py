"""The durations of runs, in a chart and in words."""

from __future__ import annotations

from typing import Any

from headrace.pages.durations import durations


def _run(name: str, minutes: int | None, state: str = "SUCCESS") -> dict[str, Any]:
    end = None if minutes is None else f"2026-01-01T01:{minutes:02}:00Z"
    return {"run_id": name, "state": state, "started_at": "2026-01-01T01:00:00Z", "ended_at": end}


def test_a_run_is_compared_with_the_successful_others() -> None:
    runs = [
        _run("here", 8),
        _run("live", None),
        _run("d", 10),
        _run("bad", 1, "FAILED"),
        _run("c", 6),
        _run("b", 2),
    ]

    found = durations(runs, "here")

    assert [(bar.run_id, bar.share) for bar in found.bars] == [
        ("b", 0.2),
        ("c", 0.6),
        ("bad", 0.1),
        ("d", 1.0),
        ("here", 0.8),
    ]
    assert found.sentence == (
        "This run took 8 min, longer than 2 of 3: of 3 successful runs, half took 6 min or less, "
        "the shortest 2 min, the longest 10 min."
    )
    assert durations(runs).sentence.startswith("Of 4 successful runs, half took 7 min or less")


def test_few_or_instant_runs_are_not_compared() -> None:
    assert durations([_run("here", 8), _run("a", 1)], "here").sentence == (
        "Too few successful runs to compare with."
    )
    assert durations([_run("a", 0)]).sentence == (
        "How long its runs took is unknown: their starts were not reported."
    )


def test_a_failed_run_is_not_said_to_be_slow_or_fast() -> None:
    runs = [_run("here", 1, "FAILED"), _run("c", 10), _run("b", 6), _run("a", 2)]

    assert durations(runs, "here").sentence.startswith("This run ended after 1 min; of 3 successful runs")
