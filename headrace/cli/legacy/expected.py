"""`headrace legacy expected`: when a job next starts and finishes, from its files and, on request, past runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from headrace.cli.legacy.estates import OptionalFiles, read_and_warn
from headrace.terminal.arguments import AsJson, examples, time_of, zone_of
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit, facts, moment, show

if TYPE_CHECKING:
    from rich.table import Table

    from headrace.autosys import Estate, ExpectedInstant

app = typer.Typer()


@app.command(
    epilog=examples(
        "headrace legacy expected FIN_NIGHT_BOX jobs.jil calendars.txt --zone Europe/London",
        "headrace legacy expected FIN_NIGHT_BOX jobs.jil --after 2026-12-24T18:00",
        "headrace legacy expected FIN_NIGHT_BOX --runtimes --instance PRD",
    )
)
def expected(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's name.")],
    files: OptionalFiles = None,
    after: Annotated[
        datetime | None,
        typer.Option(
            metavar="TIME",
            parser=time_of,
            help="The first start after this time (ISO 8601, UTC by default). [default: now]",
        ),
    ] = None,
    zone: Annotated[
        ZoneInfo | None,
        typer.Option(
            metavar="ZONE", parser=zone_of, help="The time zone of the Autosys server. [default: UTC]"
        ),
    ] = None,
    runtimes: Annotated[
        bool,
        typer.Option(
            "--runtimes",
            help="Use mean run times of the last 90 days from the catalog to forecast when jobs end.",
        ),
    ] = False,
    instance: Annotated[
        str, typer.Option(metavar="NAME", help="The instance, if the catalog has several.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Forecast when a job next starts and finishes, and why.

    Without files, uses the scanned jobs and calendars of the catalog. Assumes that predecessors succeed, and that
    global variables have the required values.
    """
    from headrace.autosys import Clock, Forecast
    from headrace.autosys.facts import expected_facts

    estate = read_and_warn(files) if files else _stored(instance)
    if job not in estate.jobs:
        raise CommandError(_no_such_job(job, estate, f"in {'these files' if files else 'the catalog'}"))
    calendars = estate.calendars
    clock = Clock(zone or ZoneInfo("UTC"), calendars.calendars, calendars.cycles)
    forecast = Forecast(
        estate, after or datetime.now(UTC), clock, _mean_runtimes(instance) if runtimes else {}
    )
    start, finish = forecast.start(job), forecast.finish(job)
    schedule = estate.jobs[job].schedule
    named = schedule.timezone if schedule.starts_itself else None
    if as_json:
        zone_name = named or (str(clock.zone) if schedule.starts_itself else None)
        emit(expected_facts(job, start, finish, zone_name))
        return
    zone_words = (
        f"{clock.zone}, the server's"
        if zone
        else "UTC; the job has no time zone; set the server's with --zone"
    )
    show(_expected(job, start, finish, (named or zone_words) if schedule.starts_itself else None))


def _mean_runtimes(instance: str) -> Mapping[str, timedelta]:
    from headrace.catalog.records import Technology
    from headrace.database.connection import connect
    from headrace.queries.runtimes import mean_runtimes

    return mean_runtimes(connect(), Technology.AUTOSYS, instance)


def _stored(instance: str) -> Estate:
    from headrace.database.connection import connect
    from headrace.estates.stored_estate import stored_estate
    from headrace.terminal.progress import progress

    with progress("reading the catalog"):
        return stored_estate(connect(), instance)


def _no_such_job(job: str, estate: Estate, where: str) -> str:
    from difflib import get_close_matches

    lower = {name.lower(): name for name in estate.jobs}
    near = [lower[name] for name in get_close_matches(job.lower(), lower, 3)]
    meant = (
        f"; did you mean {' or '.join(near)}?"
        if near
        else "; `headrace legacy processes` lists the scanned jobs"
    )
    return f"no job {job} {where}{meant}"


def _expected(job: str, start: ExpectedInstant, finish: ExpectedInstant, zone: str | None) -> Table:
    due = start.clock
    return facts(
        [
            ("job", job),
            ("next start", _next(start)),
            ("next finish", moment(finish.at) if finish.at else None),
            ("by its own clock", f"{due.local:%a %Y-%m-%d %H:%M:%S %Z}" if due else None),
            ("zone", zone),
            ("must start by", due.must_start if due else None),
            ("must complete by", due.must_complete if due else None),
            ("why", "\n".join(start.why)),
        ]
    )


def _next(start: ExpectedInstant) -> str:
    if start.at is not None:
        return moment(start.at)
    bound = f", but not before {moment(start.not_before)}" if start.not_before else ""
    return f"unknown{bound}"
