"""`headrace sla`: how promises stand, how they were kept, and what a late dataset waits for."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.common.arguments import AsJson, dataset_keys, examples, time_of
from headrace.cli.common.errors import CommandError
from headrace.cli.common.output import ago, emit, facts, show, table
from headrace.slas.objectives import PromiseKind
from headrace.slas.status import OUT_OF_ORDER, State

if TYPE_CHECKING:
    from rich.console import RenderableType

    from headrace.slas.explanation import Step
    from headrace.slas.queries import Incident, SlaRecord, SlaStanding

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
_QUARTER = timedelta(days=91)
_FEW, _MANY = 0.8, 1.25  # times the usual rows: between these a forecast hardly moves

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
        list[State] | None, typer.Option("--state", help="Only promises that stand so; may be repeated.")
    ] = None,
    kinds: Annotated[list[PromiseKind] | None, typer.Option("--kind", help="Only of this kind.")] = None,
    domain: Annotated[
        str | None, typer.Option("--domain", metavar="DOMAIN", help="Only of this domain.")
    ] = None,
    owner: Annotated[str | None, typer.Option("--owner", metavar="OWNER", help="Only of this owner.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="How many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List promises and how they stand; what is out of order first."""
    from headrace.database.connection import connect
    from headrace.slas.queries import sla_standings

    engine = connect()
    found = sla_standings(engine, states or (), kinds or (), domain=domain, owner=owner, limit=limit)
    if not states:
        wrong = sla_standings(
            engine, tuple(OUT_OF_ORDER), kinds or (), domain=domain, owner=owner, limit=limit
        )
        known = {(each.key, each.kind, each.ordinal) for each in wrong}
        found = [*wrong, *(each for each in found if (each.key, each.kind, each.ordinal) not in known)][
            :limit
        ]
    if as_json:
        emit(found)
        return
    if not found:
        show(
            "Nothing has been judged yet. `sla:` in a declaration promises; the sensor `slas` of `headrace up` judges."
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
            _foreseen(each),
            each.reason,
        )
        for each in found
    ]
    show(table(["about", "promise", "state", "deadline", "expected", "why"], rows))


@app.command(
    "history",
    epilog=examples(
        "headrace sla history mart/delays", "headrace sla history mart/delays --since 2026-07-01"
    ),
)
def show_history(
    subject: Subject,
    since: Annotated[
        datetime | None,
        typer.Option(
            "--since", metavar="TIME", parser=time_of, help="From this time on. Default: 91 days ago."
        ),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option("--until", metavar="TIME", parser=time_of, help="To this time. Default: now."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, metavar="N", help="Outcomes and changes.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show how often promises were kept, and by how much."""
    from headrace.database.connection import connect
    from headrace.slas.queries import sla_history

    end = until or datetime.now(UTC)
    found = sla_history(connect(), subject, since or end - _QUARTER, end, limit)
    if as_json:
        emit(found)
        return
    header = ["promise", "#deadlines", "#in time", "#late", "#missed", "#paused", "kept", "usually", "worst"]
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
        parts.append(table(["deadline (UTC)", "promise", "partition", "outcome", "against it"], rows))
    if found.changes:
        changed = [
            (f"{each.at:%Y-%m-%d %H:%M}", each.kind, each.state, each.reason) for each in found.changes
        ]
        parts.append(table(["at (UTC)", "promise", "became", "why"], changed))
    show(*parts)


@app.command("explain", epilog=examples("headrace sla explain mart/delays"))
def explain(subject: Subject, as_json: AsJson = False) -> None:
    """Show what a dataset or process waits for, when it will be there, and what is wrong on the way."""
    from headrace.database.connection import connect
    from headrace.errors import UnknownSla
    from headrace.slas.explanation import critical_path
    from headrace.slas.queries import incidents, sla_standings

    engine = connect()
    standings = sla_standings(engine, keys=[subject])
    if not standings:
        raise UnknownSla(f"{subject} has no SLA: `headrace sla status` lists what has one")
    zone = next((each.definition["timezone"] for each in standings if "timezone" in each.definition), "UTC")
    path = critical_path(engine, subject, zone, datetime.now(UTC))
    wrong = incidents(engine, key=subject)
    if as_json:
        emit({"standings": standings, "critical_path": path, "incidents": wrong})
        return
    for each in standings:
        show(facts(_standing(each)))
    if path:
        show(
            table(
                ["waits for", "usually", "expected", "four of five", "#late by", "has to read"],
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
    subjects: Annotated[str, typer.Argument(metavar="PATTERN", help="Keys; `*` stands for anything.")],
    begins: Annotated[datetime, typer.Argument(metavar="FROM", parser=time_of, help="When it begins.")],
    ends: Annotated[datetime, typer.Argument(metavar="TO", parser=time_of, help="When it ends.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; shown with what is paused.")],
) -> None:
    """Plan an outage: until it ends, nothing is expected of these datasets and processes."""
    from headrace.database.connection import connect
    from headrace.slas.outages import plan_outage

    try:
        plan_outage(connect(), subjects, begins, ends, reason, getpass.getuser())
    except ValueError as error:
        raise CommandError(str(error)) from error
    show(f"Nothing is expected of {subjects} from {begins:%Y-%m-%d %H:%M} to {ends:%Y-%m-%d %H:%M} UTC.")


def _due(standing: SlaStanding) -> str | None:
    if standing.deadline is None:
        return None
    return f"{standing.deadline:%Y-%m-%d %H:%M}" + (f" ({standing.partition})" if standing.partition else "")


def _foreseen(standing: SlaStanding) -> str | None:
    if standing.expected_at is None or standing.expected_from is None or standing.expected_to is None:
        return None
    between = f"{standing.expected_from:%H:%M} to {standing.expected_to:%H:%M}"
    return f"{standing.expected_at:%H:%M} ({between})"


def _standing(standing: SlaStanding) -> list[tuple[str, object]]:
    return [
        ("promise", f"{standing.key} {standing.kind.value.lower().replace('_', ' ')}"),
        ("state", standing.state.value),
        ("since", ago(standing.since)),
        ("why", standing.reason),
        ("deadline", _due(standing)),
        ("expected", _foreseen(standing)),
        ("chance of a miss", None if standing.chance is None else f"{standing.chance:.0%}"),
        ("all wait for", standing.waits_for),
        ("which is late by", f"{standing.waits_minutes:.0f} min" if standing.waits_minutes else None),
        ("owners", ", ".join(standing.owners)),
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
    """How many rows there are to read, where that is worth a word: about as many as usual are none."""
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
        table(["hit", "owners", "state"], list(dict.fromkeys(hit))),
    ]


def _length(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    minutes = round(abs(seconds) / 60)
    said = f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
    return f"-{said}" if seconds < 0 else said
