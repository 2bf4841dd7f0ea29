"""Datasets beside jobs: when their triggers start them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace.simulation.datasets import DatasetTrigger
from headrace.simulation.durations import UsualEfforts
from headrace.simulation.nights import Period, simulate
from headrace.simulation.playing import Scene

from ..autosys.building import estate
from .playing import MONDAY, clock, job, rows

JOBS = clock("A", "02:00, 10:00") + clock("B", "03:00")


def datasets(*triggers: DatasetTrigger, minutes: float = 30) -> list[str]:
    return [row for row in played(JOBS, *triggers, minutes=minutes) if "/" in row]


def played(jobs: str, *triggers: DatasetTrigger, minutes: float = 30) -> list[str]:
    scene = Scene.of(estate(jobs)).with_datasets(triggers)
    efforts = UsualEfforts(given={each.name: minutes * 60 for each in triggers}, otherwise=1800)
    return rows(simulate(scene, Period(MONDAY, MONDAY + timedelta(days=1), efforts)).outcome)


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        (DatasetTrigger("d/x", processes=("A",)), ["02:30 03:00", "10:30 11:00"]),
        (DatasetTrigger("d/x", processes=("AUTOSYS/BOX/A", "B")), ["03:30 04:00"]),
        (
            DatasetTrigger("d/x", when="any_input", inputs={"d/a": ("A",), "d/b": ("B",)}),
            ["02:30 03:00", "03:30 04:00", "10:30 11:00"],
        ),
        (DatasetTrigger("d/x", when="all_inputs", inputs={"d/a": ("A",), "d/b": ("B",)}), ["03:30 04:00"]),
        (DatasetTrigger("d/x", schedule="0 5 * * *"), ["05:00 05:30"]),
        (DatasetTrigger("d/x", schedule="0 5 * * *", timezone="America/New_York"), ["10:00 10:30"]),
        (DatasetTrigger("d/x", when="any_input", schedule="0 5 * * *", inputs={"d/b": ("B",)}), ["05:00 05:30"]),
        (DatasetTrigger("d/x", when="all_inputs", processes=("B",), inputs={"d/other": ()}), ["03:30 04:00"]),
    ],
)  # fmt: skip
def test_a_trigger_starts_a_dataset(trigger: DatasetTrigger, expected: list[str]) -> None:
    assert datasets(trigger) == [f"{each} d/x SUCCESS" for each in expected]


def test_datasets_follow_each_other() -> None:
    first = DatasetTrigger("d/x", processes=("B",))
    second = DatasetTrigger("d/y", when="any_input", inputs={"d/x": ("d/x",)})
    assert datasets(first, second) == ["03:30 04:00 d/x SUCCESS", "04:00 04:30 d/y SUCCESS"]


def test_an_input_that_comes_while_the_dataset_runs_starts_it_again() -> None:
    trigger = DatasetTrigger("d/x", when="any_input", inputs={"d/a": ("A",), "d/b": ("B",)})
    assert datasets(trigger, minutes=90)[:2] == ["02:30 04:00 d/x SUCCESS", "04:00 05:30 d/x SUCCESS"]


@pytest.mark.parametrize(
    ("arguments", "started"),
    [
        (("-E", "FORCE_STARTJOB", "-J", "C"), True),
        (("-E", "STARTJOB", "-J", "C"), False),  # its condition does not hold
        (("-E", "SET_GLOBAL", "-G", "READY=1"), True),
        (("-E", "CHANGE_STATUS", "-s", "FAILURE", "-J", "B"), True),
    ],
)
def test_a_published_dataset_lets_a_job_start(arguments: tuple[str, ...], started: bool) -> None:
    condition = "v(READY) = 1" if "SET_GLOBAL" in arguments else "f(B)"
    trigger = DatasetTrigger("d/x", processes=("B",), sends=(arguments,))
    found = played(JOBS + job("C", f"condition: {condition}"), trigger)
    assert ("04:00 04:30 C SUCCESS" in found) is started
