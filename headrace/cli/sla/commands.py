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
from headrace.terminal.output import emit, facts, show, table
from headrace.terminal.sla_cells import (
    due,
    forecast,
    incident_parts,
    margin,
    objective_facts,
    record_cells,
    step_cells,
)

if TYPE_CHECKING:
    from rich.console import RenderableType


app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
_QUARTER = timedelta(days=91)

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
            due(each),
            forecast(each),
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
            [record_cells(each) for each in found.records],
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
                margin(each.late_by),
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
        show(facts(objective_facts(each)))
    if path:
        show(
            table(
                ["waits for", "usually", "expected", "80% interval", "#late by", "input rows"],
                [step_cells(step) for step in path],
            )
        )
    for incident in wrong:
        show(*incident_parts(incident))


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
