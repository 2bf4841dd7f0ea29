"""`headrace alerts`: what people were told, who is at it, who would be told, and whether a destination works."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from headrace.cli.common.arguments import AsJson, Dataset, dataset_keys, examples
from headrace.cli.common.errors import CommandError
from headrace.cli.common.output import ago, emit, facts, show, table

if TYPE_CHECKING:
    from headrace.alerts.records import Alert, Message
    from headrace.alerts.rules import AlertRules, Recipient

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
PANEL = "Alerts and SLAs"
AlertId = Annotated[
    str, typer.Argument(metavar="ALERT", help="The alert's id, or how it begins (4 characters or more).")
]


@app.command("list", epilog=examples("headrace alerts list", "headrace alerts list --all --of mart/delays"))
def list_alerts(
    everything: Annotated[bool, typer.Option("--all", help="Also those that are closed.")] = False,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Only those about this dataset or process, or that hit it.",
            autocompletion=dataset_keys,
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="How many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List alerts, the newest first, and say what is wrong with alerting itself."""
    from headrace.alerts.heartbeat import standing
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
        header = ["alert", "what", "about", "state", "since", "#hit", "#told", "#waiting", "at it"]
        show(
            table(
                header,
                [
                    (
                        str(each.alert.alert_id)[:8],
                        each.alert.kind,
                        _subject(each.alert),
                        each.alert.state,
                        ago(each.alert.at, now),
                        len(each.alert.hit) or None,
                        each.told,
                        each.waiting or None,
                        each.alert.acknowledged_by,
                    )
                    for each in found
                ],
            )
        )
    else:
        typer.echo("No alert is open." if not everything else "There never was an alert.")
    for problem in standing(engine, now).problems(now):
        typer.echo(problem)


@app.command("show", epilog=examples("headrace alerts show 3f9c21d0"))
def show_alert(alert: AlertId, as_json: AsJson = False) -> None:
    """Show an alert: what happened, who was told what and when, and who is at it."""
    from headrace.alerts.queries import history
    from headrace.database.connection import connect

    found = history(connect(), alert)
    if as_json:
        emit(found)
        return
    one = found.alert
    show(
        facts(
            [
                ("alert", one.alert_id),
                ("about", _subject(one)),
                ("what", one.kind),
                ("state", one.state),
                ("since", one.at),
                ("why", one.facts.get("reason")),
                ("owners", one.subject.owners),
                ("also hit", tuple(one.hit)),
                ("route", one.route or "none fits: nobody is told"),
                ("acknowledged by", one.acknowledged_by),
                ("at", one.acknowledged_at),
                ("comment", one.comment),
                ("over since", one.closed_at),
            ]
        )
    )
    if found.happenings:
        rows = [
            (each.happening.at, each.happening.kind, each.happening.subject.key) for each in found.happenings
        ]
        show(table(["happened at", "what", "to"], rows))
    if found.messages:
        header = ["message", "to", "state", "due", "sent", "#tries", "why"]
        show(table(header, [_message(each) for each in found.messages]))


@app.command(
    epilog=examples("headrace alerts ack 3f9c21d0", "headrace alerts ack 3f9c21d0 --comment 'on my way'")
)
def ack(
    alert: AlertId,
    comment: Annotated[str | None, typer.Option(metavar="TEXT", help="What to say to it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say that you are at an alert: it escalates no further."""
    from headrace.alerts.outbox import acknowledge
    from headrace.alerts.queries import find
    from headrace.database.connection import connect

    engine = connect()
    me = f"operator:{getpass.getuser()}"
    found = acknowledge(engine, find(engine, alert), me, datetime.now(UTC), comment)
    if as_json:
        emit(found)
    elif found.acknowledged_by is None:
        typer.echo(f"{_subject(found)}: it is over already.")
    else:
        typer.echo(f"{_subject(found)}: {found.acknowledged_by} is at it; it escalates no further.")


@app.command(
    "test",
    epilog=examples("headrace alerts test data_channel", "headrace alerts test mail --to alice@example.com"),
)
def send_test(
    destination: Annotated[
        str | None,
        typer.Argument(metavar="DESTINATION", help="One of alerts.yaml. [default: all that need no address]"),
    ] = None,
    to: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The owner, of a destination with {owner} in it.")
    ] = "",
) -> None:
    """Send a message that says that it is a test, at once and whatever the hour."""
    rules = _rules()
    known = ", ".join(rules.destinations) or "none: write them into alerts.yaml"
    if destination is not None and destination not in rules.destinations:
        raise CommandError(f"there is no destination {destination!r}. There are: {known}")
    if destination is not None and rules.destinations[destination].is_personal and not to:
        raise CommandError(f"{destination} goes to an owner: say to whom with --to")
    names = (
        [destination]
        if destination
        else [n for n, each in rules.destinations.items() if not each.is_personal]
    )
    if not names:
        raise CommandError(f"there is nothing to test. Destinations: {known}")
    failed = [name for name in names if not _sends(rules, name, to)]
    if failed:
        raise CommandError(f"not taken: {', '.join(failed)}")


@app.command(
    epilog=examples(
        "headrace alerts route flights/flights_clean", "headrace alerts route a/b --severity WARNING"
    )
)
def route(
    dataset: Dataset,
    severity: Annotated[str, typer.Option(metavar="NAME", help="INFO, WARNING or ERROR.")] = "ERROR",
    as_json: AsJson = False,
) -> None:
    """Say who would be told if something happened to a dataset now, and when."""
    from headrace.access.callers import domain_of
    from headrace.alerts.records import Purpose
    from headrace.catalog import queries
    from headrace.database.connection import connect
    from headrace.slas.events import Urgency

    if severity.upper() not in Urgency.__members__:
        raise typer.BadParameter(f"{severity!r} is no severity: one of {', '.join(Urgency)}")
    grave, now, rules = Urgency(severity.upper()), datetime.now(UTC), _rules()
    owners = queries.dataset(connect(), dataset).owners
    found = rules.route(domain_of(dataset), owners, grave, now)
    begins = rules.not_before(grave, now)
    steps = [
        (rules.not_before(grave, begins + step.after), _recipient(recipient))
        for step in (found.steps if found else ())
        for recipient in rules.recipients(step, owners)
    ]
    if as_json:
        emit({"route": found and found.name, "steps": [{"at": at, "to": to} for at, to in steps]})
        return
    if found is None:
        typer.echo("No route of alerts.yaml fits: nobody would be told.")
        return
    typer.echo(
        f"By the route {found.name!r}, until somebody acknowledges ({Purpose.ESCALATED.lower()} step by step):"
    )
    show(table(["at", "to"], steps) if steps else "its owners have no destination: nobody would be told.")


def _sends(rules: AlertRules, name: str, to: str) -> bool:
    from headrace.alerts.delivery import deliver
    from headrace.alerts.records import NotDelivered, Parcel
    from headrace.slas.events import Urgency

    title = "Headrace test"
    body = "This is a test of the way by which alerts come. Nothing has happened."
    try:
        deliver(rules.destinations[name], to, Parcel(uuid4(), uuid4(), title, body, Urgency.INFO))
    except NotDelivered as reason:
        typer.echo(f"{name}: {reason}", err=True)
        return False
    typer.echo(f"{name}: taken.")
    return True


def _rules() -> AlertRules:
    from headrace.declarations.alert_rules import alert_rules
    from headrace.project import project_root

    return alert_rules(project_root())


def _subject(alert: Alert) -> str:
    partition = alert.facts.get("partition")
    return f"{alert.subject.key} [{partition}]" if partition else alert.subject.key


def _recipient(recipient: Recipient) -> str:
    return f"{recipient.destination} ({recipient.address})" if recipient.address else recipient.destination


def _message(message: Message) -> tuple[object, ...]:
    return (
        message.purpose,
        _recipient(message.recipient),
        message.state,
        message.due_at,
        message.sent_at,
        message.tries,
        message.reason,
    )
