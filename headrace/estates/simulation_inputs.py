"""Inputs of a simulation from the catalog: past runs, recorded nights, and the deadlines of declared SLAs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, tzinfo
from itertools import groupby
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.sql import Statement
from headrace.queries.sql import statement as query
from headrace.simulation.comparison import Span
from headrace.simulation.datasets import DatasetTrigger
from headrace.simulation.deadlines import Deadline
from headrace.simulation.durations import History, PastRun
from headrace.simulation.replay import RecordedRun
from headrace.slas import calendars
from headrace.slas.calendars import Calendars, UnknownCalendar
from headrace.slas.deadlines import NoDeadline, following, preceding
from headrace.slas.objectives import Clock, ObjectiveKind, objectives, terms
from headrace.slas.sql import statement as sla_statement

_DAYS = 400  # of history, so that there are several ends of months
_EACH = 8  # runs of a job on each kind of day
_STATES = {"FAILED": "FAILURE"}


def history(
    engine: Engine, instance: str, zone: tzinfo, before: datetime, names: Collection[str] | None = None
) -> History:
    """Return the last runs before a time on each kind of day, of all jobs by default. zone: of the days."""
    parameters = {
        "before": before,
        "instance": instance,
        "zone": str(zone),
        "names": None if names is None else list(names),
        "days": _DAYS,
        "each": _EACH,
    }
    found: dict[str, list[PastRun]] = {}
    for row in _rows(engine, query("runs/past_runs"), parameters):
        found.setdefault(row["name"], []).append(PastRun(row["started_at"], row["ended_at"]))
    return History(found, zone)


def dataset_triggers(engine: Engine, instance: str) -> list[DatasetTrigger]:
    """Return the declared triggers of datasets, by the key of the process that computes them."""
    rows = _rows(engine, query("runs/triggered_datasets"), {"instance": instance})
    found = []
    for name, inputs in groupby(rows, lambda row: str(row["name"])):
        each = list(inputs)
        declared = each[0]["trigger"]
        found.append(
            DatasetTrigger(
                name,
                declared.get("when"),
                declared.get("schedule"),
                declared.get("timezone", "UTC"),
                tuple(declared.get("process", ())),
                {row["input"]: tuple(row["producers"]) for row in each if row["input"] is not None},
                tuple(map(tuple, each[0]["sends"])),
            )
        )
    return found


def recorded_runs(engine: Engine, instance: str, since: datetime, until: datetime) -> list[RecordedRun]:
    """Return the runs that began in a period, by their starts."""
    rows = _rows(engine, query("runs/recorded_runs"), {"instance": instance, "since": since, "until": until})
    return [
        RecordedRun(
            Span(
                row["external_name"],
                row["started_at"],
                row["ended_at"],
                _STATES.get(row["state"], row["state"]),
            ),
            row["exit_code"] if row["exit_code"] is not None else int(row["state"] != "SUCCESS"),
            row["ending"] == "FORCED",
        )
        for row in rows
    ]


def sla_deadlines(engine: Engine, instance: str, since: datetime, until: datetime) -> tuple[Deadline, ...]:
    """Return the deadlines of declared SLAs in a period: of jobs, and of datasets by their keys."""
    with transaction(engine) as cursor:
        known = calendars.load(cursor)
    return tuple(
        deadline
        for row in _rows(engine, sla_statement("objectives/declared"), {"instance": instance})
        for kind, _, definition in objectives(row["definition"])
        if kind in (ObjectiveKind.DELIVERY, ObjectiveKind.START)
        for deadline in _deadlines(row["name"], kind, definition, known, since, until)
    )


def _deadlines(
    name: str,
    kind: ObjectiveKind,
    definition: dict[str, Any],
    known: Calendars,
    since: datetime,
    until: datetime,
) -> Iterator[Deadline]:
    """Yield the deadlines of an objective; none if its terms are invalid, which its SLA status reports."""
    try:
        clock = terms(kind, definition)
        if not isinstance(clock, Clock):
            return
        before = preceding(clock, known, since)
        due = following(clock, known, since)
        while due < until:
            opens = max(due - clock.within, since) if clock.within is not None else before
            yield Deadline(
                name, "SLA", due.timestamp(), opens.timestamp(), is_start=kind is ObjectiveKind.START
            )
            before, due = due, following(clock, known, due)
    except (ValidationError, UnknownCalendar, NoDeadline):
        return


def _rows(engine: Engine, statement: Statement, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    parameters["organisation"] = current_context().organisation_id
    with transaction(engine) as cursor:
        return statement.execute(cursor, parameters).fetchall()
