"""`headrace alerts`: list, show, acknowledge, hand over and resolve alerts; test routes and destinations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.alert_cells import holder, recipient_text, show_history, subject_text
from headrace.terminal.arguments import AsJson, Dataset, current_user, dataset_keys, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.output import ago, emit, show, table

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Engine

    from headrace.alerts.records import Alert
    from headrace.alerts.rules import AlertRules

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
AlertId = Annotated[
    str, typer.Argument(metavar="ALERT", help="The alert's id, or its first 4 or more characters.")
]

Comment = Annotated[str | None, typer.Option(metavar="TEXT", help="A comment.")]
Lasts = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="DURATION",
        help="How long the acknowledgement lasts, such as 4h. [default: acknowledge_for of alerts.yaml]",
    ),
]


@app.command(
    "list", epilog=examples("headrace alerts list", "headrace alerts list --all --of flights/daily_delays")
)
def list_alerts(
    everything: Annotated[bool, typer.Option("--all", help="Include closed alerts.")] = False,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Only alerts about this dataset or process, or that affect it.",
            autocompletion=dataset_keys,
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, metavar="N", help="Maximum number to list.")
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """List alerts, newest first, and problems with alerting itself."""
    from headrace.alerts.heartbeat import alerting_status
    from headrace.alerts.queries import alerts
    from headrace.alerts.records import AlertState
    from headrace.database.connection import connect

    engine, now = connect(), datetime.now(UTC)
    states = () if everything else (AlertState.OPEN, AlertState.ACKNOWLEDGED)
    found = alerts(engine, states, subject=of, limit=limit)
    if as_json:
        emit(found)
        return
    if found:
        header = [
            "alert",
            "event",
            "subject",
            "state",
            "since",
            "#affected",
            "#sent",
            "#pending",
            "acknowledged by",
        ]
        show(
            table(
                header,
                [
                    (
                        str(each.alert.alert_id)[:8],
                        each.alert.kind,
                        subject_text(each.alert),
                        each.alert.state,
                        ago(each.alert.at, now),
                        len(each.alert.affected) or None,
                        each.sent,
                        each.pending or None,
                        each.alert.acknowledged_by,
                    )
                    for each in found
                ],
            )
        )
    else:
        typer.echo("No open alerts." if not everything else "No alerts.")
    for problem in alerting_status(engine, now).problems(now):
        typer.echo(problem)


@app.command("show", epilog=examples("headrace alerts show 3f9c21d0"))
def show_alert(alert: AlertId, as_json: AsJson = False) -> None:
    """Show an alert with its events and notifications."""
    from headrace.alerts.queries import history
    from headrace.database.connection import connect

    found = history(connect(), alert)
    if as_json:
        emit(found)
        return
    show_history(found)


@app.command(
    epilog=examples(
        "headrace alerts ack 3f9c21d0", "headrace alerts ack 3f9c21d0 --for 4h --comment 'on my way'"
    )
)
def ack(alert: AlertId, comment: Comment = None, lasts: Lasts = None, as_json: AsJson = False) -> None:
    """Acknowledge an alert, which stops its escalation for a time.

    The steps start again when the acknowledgement expires. Repeat the command to acknowledge for longer.
    """
    from headrace.alerts import outbox

    found = outbox.acknowledge(*_find(alert), current_user(), datetime.now(UTC), comment, _duration(lasts))
    done = f"acknowledged by {holder(found)}" if found.acknowledged_by else "already resolved"
    _show_change(found, done, as_json)


@app.command(
    "hand-over", epilog=examples("headrace alerts hand-over 3f9c21d0 bob --comment 'the load fails'")
)
def hand_over_alert(
    alert: AlertId,
    to: Annotated[
        str, typer.Argument(metavar="PERSON", help="The person or owner who works on it from now on.")
    ],
    comment: Comment = None,
    lasts: Lasts = None,
    as_json: AsJson = False,
) -> None:
    """Hand an acknowledged alert over to another person or owner.

    They are notified if `owners` in alerts.yaml has a destination for them.
    """
    from headrace.alerts import outbox

    found = outbox.hand_over(*_find(alert), current_user(), to, datetime.now(UTC), comment, _duration(lasts))
    _show_change(found, f"handed over to {holder(found)}", as_json)


@app.command(epilog=examples("headrace alerts resolve 3f9c21d0 --comment 'the vendor delivers tomorrow'"))
def resolve(alert: AlertId, comment: Comment = None, as_json: AsJson = False) -> None:
    """Close an alert whose cause is not gone.

    Anything new about its incident opens it again.
    """
    from headrace.alerts import outbox

    found = outbox.resolve(*_find(alert), current_user(), datetime.now(UTC), comment)
    _show_change(found, "resolved", as_json)


def _find(alert: str) -> tuple[Engine, UUID]:
    from headrace.alerts.queries import find
    from headrace.database.connection import connect

    engine = connect()
    return engine, find(engine, alert)


def _show_change(alert: Alert, done: str, as_json: bool) -> None:
    emit(alert) if as_json else typer.echo(f"{subject_text(alert)}: {done}.")


@app.command(
    "test",
    epilog=examples("headrace alerts test data_channel", "headrace alerts test mail --to alice@example.com"),
)
def send_test(
    destination: Annotated[
        str | None,
        typer.Argument(
            metavar="DESTINATION", help="A destination of alerts.yaml. [default: all that need no address]"
        ),
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="The owner's address, for a destination with {owner} in its URL."
        ),
    ] = "",
) -> None:
    """Send a test notification, even in quiet hours."""
    rules = _rules()
    known = ", ".join(rules.destinations) or "none; declare them in alerts.yaml"
    if destination is not None and destination not in rules.destinations:
        raise CommandError(f"unknown destination {destination!r}. Destinations: {known}")
    if destination is not None and rules.destinations[destination].is_personal and not to:
        raise CommandError(f"{destination} sends to an owner: give the address with --to")
    names = (
        [destination]
        if destination
        else [n for n, each in rules.destinations.items() if not each.is_personal]
    )
    if not names:
        raise CommandError(f"nothing to test. Destinations: {known}")
    from headrace.alerts.delivery import deliver_test
    from headrace.alerts.records import NotDelivered

    failed = []
    for name in names:
        try:
            deliver_test(rules.destinations[name], to)
        except NotDelivered as reason:
            failed.append(name)
            typer.echo(f"{name}: {reason}", err=True)
        else:
            typer.echo(f"{name}: delivered.")
    if failed:
        raise CommandError(f"not delivered: {', '.join(failed)}")


@app.command(
    epilog=examples(
        "headrace alerts route flights/flights_clean",
        "headrace alerts route flights/flights_clean --severity WARNING",
    )
)
def route(
    dataset: Dataset,
    severity: Annotated[
        str, typer.Option(metavar="NAME", help="INFO, WARNING, ERROR or CRITICAL.")
    ] = "ERROR",
    as_json: AsJson = False,
) -> None:
    """Show who would be notified about a dataset now, and when."""
    from headrace import queries
    from headrace.access.callers import domain_of
    from headrace.alerts.records import Purpose
    from headrace.database.connection import connect
    from headrace.severity import Severity

    if severity.upper() not in Severity.__members__:
        raise typer.BadParameter(f"{severity!r} is not a severity; use one of {', '.join(Severity)}")
    level, now, rules = Severity(severity.upper()), datetime.now(UTC), _rules()
    owners = queries.dataset(connect(), dataset).owners
    found = rules.route(domain_of(dataset), owners, level, now)
    begins = rules.not_before(level, now)
    steps = [
        (rules.not_before(level, begins + step.after), recipient_text(recipient))
        for step in (found.steps if found else ())
        for recipient in rules.recipients(step, owners)
    ]
    if as_json:
        emit({"route": found and found.name, "steps": [{"at": at, "to": to} for at, to in steps]})
        return
    if found is None:
        typer.echo("No route in alerts.yaml matches: no one would be notified.")
        return
    typer.echo(
        f"Route {found.name!r}, until the alert is acknowledged ({Purpose.ESCALATED.lower()} step by step):"
    )
    show(table(["at", "to"], steps) if steps else "The owners have no destination: no one would be notified.")


def _rules() -> AlertRules:
    """Return the project's rules, and print what is wrong with them."""
    from headrace.declarations.alerting.rules import load_rules
    from headrace.project import project_root

    loaded = load_rules(project_root())
    for problem in loaded.problems:
        typer.echo(problem, err=True)
    return loaded.rules


def _duration(text: str | None) -> timedelta | None:
    from headrace.durations import parse_duration

    try:
        return parse_duration(text) if text is not None else None
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
