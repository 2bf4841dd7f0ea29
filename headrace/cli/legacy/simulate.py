"""`headrace simulate`: play a night of the estate, with and without changes, and compare it with what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.estate_files import OptionalFiles, ServerZone, read_and_warn
from headrace.terminal.output import emit, show

if TYPE_CHECKING:
    from headrace.simulation.changes import Change
    from headrace.simulation.comparison import Difference
    from headrace.simulation.nights import Night, Period
    from headrace.simulation.playing import Scene
    from headrace.simulation.replay import Compared

app = typer.Typer()

NOON = time(12)


@app.command(
    epilog=examples(
        "headrace simulate --night 2026-12-31",
        "headrace simulate --night 2026-12-31 --what-if changes.yaml",
        "headrace simulate --night 2026-12-31 jobs.jil calendars.txt --zone Europe/London --job FIN_NIGHT_BOX",
        "headrace simulate --night 2026-12-31 --compare",
    )
)
def simulate(
    night: Annotated[
        datetime,
        typer.Option(
            formats=["%Y-%m-%d"], metavar="DATE", help="The night that begins on this day, at noon."
        ),
    ],
    files: OptionalFiles = None,
    days: Annotated[int, typer.Option(min=1, max=366, metavar="N", help="Days to play.")] = 1,
    what_if: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, metavar="FILE", help="Changes to play, in YAML."),
    ] = None,
    job: Annotated[
        str, typer.Option(metavar="NAME", help="Explain one job, and show only what decides it.")
    ] = "",
    compare: Annotated[bool, typer.Option(help="Compare with the runs in the catalog.")] = False,
    zone: ServerZone = None,
    instance: Annotated[
        str, typer.Option(metavar="NAME", help="The instance, if the catalog has several.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Simulate a night of the estate, and the effect of changes.

    Shows when each job starts and ends, why, and which deadlines are missed. Without files, plays the scanned estate
    with the run times and SLAs of the catalog; files have only `avg_runtime`.
    """
    from headrace.simulation import nights
    from headrace.simulation.comparison import differences, spans
    from headrace.simulation.obstacles import why_not
    from headrace.terminal import simulation_tables as tables
    from headrace.terminal.progress import progress

    server = zone or ZoneInfo("UTC")
    scene = _scene(files, instance, server)
    if job and job not in scene.definitions:
        raise CommandError(f"no job {job} is in the estate; `headrace legacy jobs` lists them")
    with progress("simulating"):
        base = _period(datetime.combine(night, NOON, server), days, instance, in_catalog=not files)
        changed = replace(base, changes=_changes(what_if, scene))
        played = nights.simulate(scene, changed)
        planned = nights.critical_path(played, job or None)
        against: list[Difference] = []
        if what_if is not None:
            against = differences(spans(nights.simulate(scene, base).outcome), spans(played.outcome))
    jobs = frozenset(scene.only(job).definitions) if job else frozenset[str]()
    recorded = _compared(scene, played, instance) if compare else None
    if as_json:
        found = tables.night_facts(played, planned, jobs)
        if what_if is not None:
            found["differences"] = tables.difference_facts(against)
        if recorded is not None:
            found |= tables.comparison_facts(recorded)
        emit(found)
        return
    parts = [tables.timeline_table(played, planned, jobs), tables.summary(played, planned)]
    if job:
        parts.append(tables.why_table(played, job, why_not(scene, played.outcome, job)))
    if any(each.is_missed or each.probability for each in played.results):
        parts.append(tables.deadline_table(played.results))
    if what_if is not None:
        parts.append(tables.difference_table(against, "without changes", "with changes"))
    if recorded is not None:
        parts += tables.comparison_tables(recorded)
    show(*parts)


def _scene(files: Sequence[Path] | None, instance: str, zone: ZoneInfo) -> Scene:
    from headrace.database.connection import connect
    from headrace.estates.simulation_inputs import dataset_triggers
    from headrace.estates.stored_estate import stored_estate
    from headrace.simulation.playing import Scene
    from headrace.terminal.progress import progress

    if files:
        return Scene.of(read_and_warn(files), zone)
    with progress("reading the catalog"):
        engine = connect()
        scene = Scene.of(stored_estate(engine, instance), zone).with_datasets(
            dataset_triggers(engine, instance)
        )
    if not scene.definitions:
        raise CommandError("the catalog has no jobs; scan files with `headrace legacy scan`, or pass them")
    return scene


def _period(since: datetime, days: int, instance: str, *, in_catalog: bool) -> Period:
    from headrace.database.connection import connect
    from headrace.estates.simulation_inputs import history, sla_deadlines
    from headrace.simulation.durations import UsualEfforts
    from headrace.simulation.nights import Period

    until = since + timedelta(days=days)
    if not in_catalog:
        return Period(since, until, UsualEfforts())
    engine = connect()
    past = history(engine, instance, since.tzinfo or UTC, since)
    return Period(since, until, UsualEfforts(past), sla_deadlines(engine, instance, since, until))


def _changes(file: Path | None, scene: Scene) -> tuple[Change, ...]:
    from headrace.estates.what_if import InvalidWhatIf, read_changes

    if file is None:
        return ()
    try:
        return read_changes(file, scene)
    except InvalidWhatIf as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from error


def _compared(scene: Scene, played: Night, instance: str) -> Compared:
    from headrace.database.connection import connect
    from headrace.estates.simulation_inputs import recorded_runs
    from headrace.simulation.playing import warm_up
    from headrace.simulation.replay import compared

    since, until = (datetime.fromtimestamp(at, UTC) for at in (played.outcome.since, played.outcome.until))
    before = since - warm_up(scene.definitions.values())
    return compared(scene, played.outcome, recorded_runs(connect(), instance, before, until))
