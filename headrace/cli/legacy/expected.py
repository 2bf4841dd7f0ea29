"""`headrace legacy expected`: when a process next starts and finishes, from its files and, on request, past runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from headrace.terminal.arguments import AsJson, examples, time_of
from headrace.terminal.errors import CommandError
from headrace.terminal.estate_files import OptionalFiles, ServerZone, files_of, read_and_warn
from headrace.terminal.output import emit, facts, moment, show

if TYPE_CHECKING:
    from rich.table import Table

    from headrace.autosys import Estate
    from headrace.simulation.expected import ExpectedInstant

app = typer.Typer()


@app.command(
    epilog=examples(
        "headrace legacy expected FIN_NIGHT_BOX jobs.jil calendars.txt --zone Europe/London",
        "headrace legacy expected FIN_NIGHT_BOX jobs.jil --after 2026-12-24T18:00",
        "headrace legacy expected FIN_NIGHT_BOX --runtimes --instance PRD",
        "headrace legacy expected SALES.LOAD_DAILY legacy/processes.yaml",
    )
)
def expected(
    job: Annotated[str, typer.Argument(metavar="NAME", help="The name of a job or of a described process.")],
    files: OptionalFiles = None,
    after: Annotated[
        datetime | None,
        typer.Option(
            metavar="TIME",
            parser=time_of,
            help="The first start after this time (ISO 8601, UTC by default). [default: now]",
        ),
    ] = None,
    zone: ServerZone = None,
    runtimes: Annotated[
        bool,
        typer.Option(
            "--runtimes",
            help="Use past run times from the catalog to forecast when jobs end.",
        ),
    ] = False,
    instance: Annotated[
        str, typer.Option(metavar="NAME", help="The instance, if the catalog has several.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Forecast when a process next starts and finishes, and why.

    Simulates what decides it. Without files, uses the scanned processes and calendars of the catalog. Assumes that runs
    succeed, and that global variables have the required values.
    """
    from headrace.simulation.expected import expected_facts

    since = after or datetime.now(UTC)
    found = (
        _in_files(job, files, instance, since, zone, runtimes)
        if files
        else _in_catalog(job, instance, since, zone, runtimes)
    )
    if as_json:
        emit(expected_facts(job, found.start, found.finish, found.zone))
    else:
        show(_table(job, found))


@dataclass(frozen=True, slots=True)
class _Expected:
    """zone: of its schedule; None if it has none. zone_words: the same, with where it is from."""

    start: ExpectedInstant
    finish: ExpectedInstant
    zone: str | None
    zone_words: str | None


def _in_files(
    name: str, paths: Sequence[Path], instance: str, since: datetime, zone: ZoneInfo | None, runtimes: bool
) -> _Expected:
    from headrace.autosys import resolve
    from headrace.autosys.objectives import business_calendars
    from headrace.estates.comparison import CSV, YAML
    from headrace.estates.described.processes import described_in
    from headrace.estates.described.schedules import expected_start
    from headrace.simulation.expected import expected_finish
    from headrace.slas.calendars import Calendars

    files = [file for path in paths for file in files_of(path)]
    described = described_in([file for file in files if file.suffix.lower() in YAML])
    others = [file for file in files if file.suffix.lower() not in YAML + CSV]
    estate = read_and_warn(others) if others else resolve([])
    one = next((each for each in described if each.description.name == name), None)
    if one is None or one.description.schedule is None:
        return _of_job(name, estate, since, zone, instance if runtimes else None, "in these files")
    days = business_calendars(estate.calendars, since.date())
    calendars = Calendars({("", calendar): frozenset(each) for calendar, each in days.items()})
    schedule = one.description.schedule
    sla = one.description.sla.stored(schedule) if one.description.sla else {}
    start = expected_start(schedule.terms, sla, since, calendars)
    takes = _mean_runtimes(one.technology).get(name) if runtimes else None
    return _Expected(start, expected_finish(name, start, takes), schedule.timezone, schedule.timezone)


def _in_catalog(
    name: str, instance: str, since: datetime, zone: ZoneInfo | None, runtimes: bool
) -> _Expected:
    from headrace.database.connection import connect
    from headrace.estates.described.next_starts import scheduled_process
    from headrace.estates.stored_estate import stored_estate
    from headrace.terminal.progress import progress

    with progress("reading the catalog"):
        estate = stored_estate(connect(), instance)
        scheduled = None if name in estate.jobs else scheduled_process(connect(), since, name=name)
    if scheduled is not None:
        return _Expected(scheduled.start, scheduled.finish, scheduled.zone, scheduled.zone)
    return _of_job(name, estate, since, zone, instance if runtimes else None, "in the catalog")


def _of_job(
    name: str,
    estate: Estate,
    since: datetime,
    zone: ZoneInfo | None,
    instance: str | None,
    where: str,
) -> _Expected:
    """Forecast a job. instance: that of the past runs by which it is forecast when jobs end; None without these."""
    from headrace.database.connection import connect
    from headrace.estates.simulation_inputs import history
    from headrace.simulation.durations import UsualEfforts
    from headrace.simulation.expected import expected_run
    from headrace.simulation.playing import Scene

    if name not in estate.jobs:
        raise CommandError(_no_such_job(name, estate, where))
    server_zone = zone or ZoneInfo("UTC")
    scene = Scene.of(estate, server_zone).only(name)
    past = None
    if instance is not None:
        past = history(connect(), instance, server_zone, datetime.now(UTC), scene.definitions)
    run = expected_run(scene, name, since, UsualEfforts(past))
    start, finish = run.start, run.finish
    schedule = estate.jobs[name].schedule
    if not schedule.starts_itself:
        return _Expected(start, finish, None, None)
    server = (
        f"{zone}, the server's" if zone else "UTC; the job has no time zone; set the server's with --zone"
    )
    named = schedule.timezone
    return _Expected(start, finish, named or str(server_zone), named or server)


def _mean_runtimes(technology: str) -> Mapping[str, timedelta]:
    from headrace.catalog.records import Technology
    from headrace.database.connection import connect
    from headrace.queries.runtimes import mean_runtimes

    return mean_runtimes(connect(), Technology(technology))


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


def _table(name: str, found: _Expected) -> Table:
    start, finish, due = found.start, found.finish, found.start.clock
    return facts(
        [
            ("job", name),
            ("next start", _next(start)),
            ("next finish", moment(finish.at) if finish.at else None),
            ("by its own clock", f"{due.local:%a %Y-%m-%d %H:%M:%S %Z}" if due else None),
            ("zone", found.zone_words),
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
