"""`headrace sla`: SLA status, history, forecasts and planned outages."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.slas.objectives import ObjectiveKind
from headrace.slas.status import SlaStatus
from headrace.terminal.arguments import AsJson, dataset_keys, examples, time_of
from headrace.terminal.errors import CommandError
from headrace.terminal.output import ago, emit, facts, show, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from headrace.slas.explanation import Step
    from headrace.slas.queries import Incident, SlaObjectiveStatus, SlaRecord

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
_QUARTER = timedelta(days=91)
_FEW, _MANY = 0.8, 1.25  # ratios to the usual rows between which forecasts hardly change

Subject = Annotated[
    str,
    typer.Argument(
        metavar="DATASET", help="The key of a dataset, or of a process.", autocompletion=dataset_keys
    ),
]


@app.command(
    "status", epilog=examples("headrace sla status", "headrace sla status --state LATE --domain flights")
)
def show_status(
    states: Annotated[
        list[SlaStatus] | None, typer.Option("--state", help="Only objectives with this status; repeatable.")
    ] = None,
    kinds: Annotated[list[ObjectiveKind] | None, typer.Option("--kind", help="Only of this kind.")] = None,
    domain: Annotated[
        str | None, typer.Option("--domain", metavar="DOMAIN", help="Only of this domain.")
    ] = None,
    owner: Annotated[str | None, typer.Option("--owner", metavar="OWNER", help="Only of this owner.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, metavar="N", help="Maximum number to list.")
    ] = 100,
    as_json: AsJson = False,
) -> None:
    """List SLA objectives and their status, worst first."""
    from headrace.database.connection import connect
    from headrace.slas.queries import sla_statuses

    found = sla_statuses(
        connect(), states or (), kinds or (), domain=domain, owner=owner, worst_first=True, limit=limit
    )
    if as_json:
        emit(found)
        return
    if not found:
        show(
            "No SLA has been evaluated yet. Declare one with `sla:`; the sensor `slas` of `headrace up` evaluates it."
            if not states
            else "None."
        )
        return
    rows = [
        (
            each.key,
            each.kind.value.lower().replace("_", " "),
            each.state.value,
            _due(each),
            _forecast(each),
            each.reason,
        )
        for each in found
    ]
    show(table(["subject", "objective", "status", "deadline", "expected", "reason"], rows))


@app.command(
    "history",
    epilog=examples(
        "headrace sla history flights/daily_delays",
        "headrace sla history flights/daily_delays --since 2026-07-01",
    ),
)
def show_history(
    subject: Subject,
    since: Annotated[
        datetime | None,
        typer.Option(
            "--since", metavar="TIME", parser=time_of, help="From this time. [default: 91 days ago]"
        ),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option("--until", metavar="TIME", parser=time_of, help="To this time. [default: now]"),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, metavar="N", help="Maximum number of outcomes and changes.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show how often objectives were met, and by what margin."""
    from headrace.database.connection import connect
    from headrace.slas.queries import sla_history

    end = until or datetime.now(UTC)
    found = sla_history(connect(), subject, since or end - _QUARTER, end, limit)
    if as_json:
        emit(found)
        return
    header = ["objective", "#deadlines", "#met", "#late", "#missed", "#paused", "met %", "usually", "worst"]
    parts: list[RenderableType] = [
        table(
            header,
            [_record(each) for each in found.records],
            f"{found.since:%Y-%m-%d} to {found.until:%Y-%m-%d}",
        )
    ]
    if found.outcomes:
        rows = [
            (
                f"{each.deadline:%Y-%m-%d %H:%M}",
                each.kind,
                each.partition,
                each.outcome,
                _length(each.late_by),
            )
            for each in found.outcomes
        ]
        parts.append(table(["deadline (UTC)", "objective", "partition", "outcome", "margin"], rows))
    if found.changes:
        changed = [
            (f"{each.at:%Y-%m-%d %H:%M}", each.kind, each.state, each.reason) for each in found.changes
        ]
        parts.append(table(["at (UTC)", "objective", "status", "reason"], changed))
    show(*parts)


@app.command("explain", epilog=examples("headrace sla explain flights/daily_delays"))
def explain(subject: Subject, as_json: AsJson = False) -> None:
    """Show the critical path, forecast and incidents."""
    from headrace.database.connection import connect
    from headrace.errors import UnknownSla
    from headrace.slas.explanation import critical_path
    from headrace.slas.queries import incidents, sla_statuses

    engine = connect()
    objectives = sla_statuses(engine, keys=[subject])
    if not objectives:
        raise UnknownSla(f"{subject} has no SLA: `headrace sla status` lists those with one")
    zone = next((each.definition["timezone"] for each in objectives if "timezone" in each.definition), "UTC")
    path = critical_path(engine, subject, zone, datetime.now(UTC))
    wrong = incidents(engine, key=subject)
    if as_json:
        emit({"objectives": objectives, "critical_path": path, "incidents": wrong})
        return
    for each in objectives:
        show(facts(_objective_facts(each)))
    if path:
        show(
            table(
                ["waits for", "usually", "expected", "80% interval", "#late by", "input rows"],
                [_step(step) for step in path],
            )
        )
    for incident in wrong:
        show(*_incident(incident))


@app.command(
    "outage",
    epilog=examples(
        "headrace sla outage 'flights/*' 2026-12-05T20:00 2026-12-06T06:00 --reason 'the cluster moves'"
    ),
)
def outage(
    subjects: Annotated[
        str, typer.Argument(metavar="PATTERN", help="Keys of datasets and processes; `*` matches any text.")
    ],
    begins: Annotated[datetime, typer.Argument(metavar="FROM", parser=time_of, help="When it begins.")],
    ends: Annotated[datetime, typer.Argument(metavar="TO", parser=time_of, help="When it ends.")],
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="The reason, shown with paused SLAs.")
    ],
) -> None:
    """Plan an outage, during which SLAs are paused."""
    from headrace.database.connection import connect
    from headrace.slas.outages import plan_outage

    try:
        plan_outage(connect(), subjects, begins, ends, reason, getpass.getuser())
    except ValueError as error:
        raise CommandError(str(error)) from error
    show(f"SLAs of {subjects} are paused from {begins:%Y-%m-%d %H:%M} to {ends:%Y-%m-%d %H:%M} UTC.")


def _due(objective: SlaObjectiveStatus) -> str | None:
    if objective.deadline is None:
        return None
    return f"{objective.deadline:%Y-%m-%d %H:%M}" + (
        f" ({objective.partition})" if objective.partition else ""
    )


def _forecast(objective: SlaObjectiveStatus) -> str | None:
    if objective.expected_at is None or objective.expected_from is None or objective.expected_to is None:
        return None
    between = f"{objective.expected_from:%H:%M} to {objective.expected_to:%H:%M}"
    return f"{objective.expected_at:%H:%M} ({between})"


def _objective_facts(objective: SlaObjectiveStatus) -> list[tuple[str, object]]:
    return [
        ("objective", f"{objective.key} {objective.kind.value.lower().replace('_', ' ')}"),
        ("status", objective.state.value),
        ("since", ago(objective.since)),
        ("reason", objective.reason),
        ("deadline", _due(objective)),
        ("expected", _forecast(objective)),
        (
            "miss probability",
            None if objective.miss_probability is None else f"{objective.miss_probability:.0%}",
        ),
        ("waits for", objective.waits_for),
        ("late by", f"{objective.waits_minutes:.0f} min" if objective.waits_minutes else None),
        ("owners", ", ".join(objective.owners)),
    ]


def _record(record: SlaRecord) -> tuple[object, ...]:
    usually = f"{_length(record.earlier)} before" if record.earlier is not None else None
    if record.late is not None and record.met_late > record.met:
        usually = f"{_length(record.late)} after"
    return (
        record.kind,
        record.deadlines,
        record.met,
        record.met_late,
        record.missed,
        record.paused,
        None if record.kept is None else f"{record.kept:.1%}",
        usually,
        f"{_length(record.latest)} after" if record.latest is not None else None,
    )


def _step(step: Step) -> tuple[object, ...]:
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


def _incident(incident: Incident) -> list[RenderableType]:
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


def _length(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    minutes = round(abs(seconds) / 60)
    span = f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
    return f"-{span}" if seconds < 0 else span
