"""SLA statuses, forecasts and incidents as words and table cells, as of the last evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.slas.status import SlaStatus
from headrace.terminal.output import STYLES, ago, facts, moment, table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from headrace.queries.rows import DatasetStatus
    from headrace.slas.explanation import Step
    from headrace.slas.queries import Incident, SlaObjectiveStatus, SlaRecord

_FEW, _MANY = 0.8, 1.25  # ratios to the usual rows between which forecasts hardly change


def sla_status_text(objective: DatasetStatus, objectives: Sequence[SlaObjectiveStatus]) -> Text:
    """Return the worst SLA status of a dataset in words."""
    from rich.text import Text

    if objective.sla is None:
        return Text("no SLA", style="dim")
    if not objectives:
        return Text("not evaluated yet", style="dim")
    worst = objectives[0]
    words = worst.state.value.lower().replace("_", " ")
    if worst.state is SlaStatus.ON_TRACK and worst.deadline is not None and worst.met_at is None:
        return Text(f"{words}, due {moment(worst.deadline)}", style=STYLES[worst.state])
    return Text(f"{words}: {worst.reason}", style=STYLES[worst.state])


def due(objective: SlaObjectiveStatus) -> str | None:
    """Return the deadline with its partition."""
    if objective.deadline is None:
        return None
    return f"{objective.deadline:%Y-%m-%d %H:%M}" + (
        f" ({objective.partition})" if objective.partition else ""
    )


def forecast(objective: SlaObjectiveStatus) -> str | None:
    """Return when it is expected, with the interval."""
    if objective.expected_at is None or objective.expected_from is None or objective.expected_to is None:
        return None
    between = f"{objective.expected_from:%H:%M} to {objective.expected_to:%H:%M}"
    return f"{objective.expected_at:%H:%M} ({between})"


def objective_facts(objective: SlaObjectiveStatus) -> list[tuple[str, object]]:
    """Return the facts of an objective, in the order shown."""
    return [
        ("objective", f"{objective.key} {objective.kind.value.lower().replace('_', ' ')}"),
        ("status", objective.state.value),
        ("since", ago(objective.since)),
        ("reason", objective.reason),
        ("deadline", due(objective)),
        ("expected", forecast(objective)),
        (
            "miss probability",
            None if objective.miss_probability is None else f"{objective.miss_probability:.0%}",
        ),
        ("waits for", objective.waits_for),
        ("late by", f"{objective.waits_minutes:.0f} min" if objective.waits_minutes else None),
        ("owners", ", ".join(objective.owners)),
    ]


def record_cells(record: SlaRecord) -> tuple[object, ...]:
    """Return the counts and margins of an objective."""
    usually = f"{margin(record.earlier)} before" if record.earlier is not None else None
    if record.late is not None and record.met_late > record.met:
        usually = f"{margin(record.late)} after"
    return (
        record.kind,
        record.deadlines,
        record.met,
        record.met_late,
        record.missed,
        record.paused,
        None if record.kept is None else f"{record.kept:.1%}",
        usually,
        f"{margin(record.latest)} after" if record.latest is not None else None,
    )


def step_cells(step: Step) -> tuple[object, ...]:
    """Return one step of the critical path."""
    return (
        step.key,
        None if step.usually is None else f"{step.usually:%H:%M}",
        f"{step.expected:%Y-%m-%d %H:%M}",
        f"{step.earliest:%H:%M} to {step.latest:%H:%M}",
        None if step.late_by is None else f"{step.late_by:.0f} min",
        _rows(step.times_usual_rows),
    )


def _rows(times_usual: float | None) -> str | None:
    """Describe the number of rows to read if it is unusual."""
    if times_usual is None or _FEW < times_usual < _MANY:
        return None
    return f"{times_usual:.1f} times the usual rows"


def incident_parts(incident: Incident) -> list[RenderableType]:
    """Return the facts of an incident and the table of what it affects."""
    hit = [
        (each.key, ", ".join(each.owners), each.state or None)
        for each in (*incident.members, *incident.downstream)
    ]
    return [
        facts(
            [
                ("incident", str(incident.incident_id)[:8]),
                ("cause", incident.cause),
                ("why", incident.reason),
                ("since", ago(incident.opened_at)),
            ]
        ),
        table(["affected", "owners", "status"], list(dict.fromkeys(hit))),
    ]


def margin(seconds: float | None) -> str | None:
    """Return a signed length, in minutes or hours."""
    if seconds is None:
        return None
    minutes = round(abs(seconds) / 60)
    span = f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
    return f"-{span}" if seconds < 0 else span
