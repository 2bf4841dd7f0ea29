"""The demo: from nothing to published datasets with real data, and the result on one screen (`make demo`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from headrace.terminal.arguments import AsJson
from headrace.terminal.errors import CommandError, complain, explanation, warn
from headrace.terminal.output import emit, facts, show, table

if TYPE_CHECKING:
    import dagster as dg

    from headrace.orchestration.launching import FinishedRun
    from headrace.queries.rows import DatasetStatus
    from headrace.slas.queries import SlaObjectiveStatus

DOMAIN = "flights"
LANDING = "landing/flights"
ESTATE = "legacy"
# From what Autosys delivers to what people read.
CHAIN = (f"{DOMAIN}/raw_flights", f"{DOMAIN}/carrier_monthly")
TIME_FOR_COMPLETIONS = timedelta(minutes=5)
NEXT = (
    ("Dagster and pages", "headrace up"),
    ("the status of all", "headrace status"),
    ("one dataset", f"headrace show {DOMAIN}/flights_clean"),
    ("its rows", f"headrace read {DOMAIN}/daily_delays --head 5"),
    ("its versions", f"headrace versions {DOMAIN}/daily_delays"),
    ("its lineage", f"headrace lineage {DOMAIN}/daily_delays"),
    ("the Autosys jobs", "headrace legacy processes"),
)


@dataclass(slots=True)
class Steps:
    """The steps of the demo with the seconds that each took; printed as they end unless `quiet`."""

    quiet: bool
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, what: str) -> Iterator[Callable[[str], None]]:
        """A step; the function that it yields takes the result of the step, in words."""
        from headrace.terminal.progress import progress, span_of

        results: list[str] = []
        started = time.monotonic()
        with progress(what):
            yield results.append
        self.seconds[what] = time.monotonic() - started
        if not self.quiet:
            typer.echo(f"{what}: {', '.join([*results, span_of(self.seconds[what])])}")


def demo(as_json: AsJson = False) -> None:
    """Land a year of real flights as an Autosys batch would, materialize datasets from it, and show them.

    Datasets that are up to date are left alone, so that a second call is quick and changes nothing.
    """
    from headrace.local.environment import dagster_instance
    from headrace.local.preflight import preflight
    from headrace.orchestration.launching import Ending
    from jobs.landing import installed_feed

    preflight()
    installed_feed()  # before anything is started
    steps = Steps(quiet=as_json)
    with ExitStack() as stack:
        with steps.step("Start the database"):
            instance = stack.enter_context(dagster_instance())
        _scan(steps)
        _land(steps, instance)
        runs = _materialize(steps, instance)
        objectives = _evaluate_slas(steps)
        statuses = _statuses()
    failed = sum(run.ending is not Ending.SUCCESS for run in runs)
    if as_json:
        emit(
            {
                "steps": steps.seconds,
                "runs": runs,
                "datasets": [_summary(each, objectives.get(each.key, [])) for each in statuses],
                "chain": _chain(),
            }
        )
    else:
        _print(statuses, objectives, steps, runs)
    if failed:
        raise CommandError(f"{failed} of {len(runs)} runs failed or were skipped; see above")


def _scan(steps: Steps) -> None:
    """Scan before the declarations are loaded, so that the estate is drawn beside them."""
    from headrace.database.connection import connect
    from headrace.estates.estates import scan
    from headrace.project import project_root

    with steps.step("Scan the Autosys estate") as report_result:
        plan = scan(connect(), sorted((project_root() / ESTATE).iterdir()), allow_mass_retirement=True)
        changes = len(plan.added) + len(plan.changed) + len(plan.removed) + len(plan.returned)
        report_result(f"{plan.processes} processes, {changes} of them new or changed")


def _land(steps: Steps, instance: dg.DagsterInstance) -> None:
    from headrace.database.connection import connect
    from headrace.settings import settings
    from jobs.landing import land

    with steps.step("Load the declarations") as report_result:
        from headrace.declarations.loading.code import project_code
        from headrace.declarations.loading.project import records
        from headrace.execution.plan import ExternalPlan
        from headrace.landed.observation import observe
        from headrace.orchestration.sensors.landing import report_landed_files
        from headrace.registration.declarations import register

        register(connect(), *records(project_code().loaded.plans))
        report_result(f"{len(project_code().loaded.plans)} found")
    with steps.step("Land the feed") as report_result:
        delivery = land(settings().home.resolve() / LANDING)
        report_result(f"{len(delivery.written):,} files written, {delivery.present:,} already there")
    _complete(steps, instance, delivery.written)
    with steps.step("Register what landed") as report_result:
        external = [plan for plan in project_code().loaded.plans if isinstance(plan, ExternalPlan)]
        feed = [plan for plan in external if plan.record.key.startswith(f"{DOMAIN}/")]
        observation = observe(connect(), feed)
        report_landed_files(instance, feed, observation)
        report_result(f"{len(observation.new):,} new versions")
    if observation.problems:
        raise CommandError("\n  ".join(["some files could not be registered:", *observation.problems]))


def _complete(steps: Steps, instance: dg.DagsterInstance, delivered: Sequence[Path]) -> None:
    """Drop the completion files of the batch, and ingest them as the sensor does."""
    from headrace.database.connection import connect
    from headrace.declarations.loading.code import project_code
    from headrace.orchestration.completions.folder import MIN_UNCHANGED_SECONDS
    from headrace.orchestration.completions.intake import take_in
    from headrace.orchestration.completions.materializations import report_completions
    from headrace.orchestration.completions.opening import folder_at
    from headrace.settings import settings
    from jobs.deliveries import report

    location = settings().completions_location
    with steps.step("Ingest the completion files") as report_result:
        dropped = report(delivered, Path(location)) if "://" not in location else 0
        files = events = 0
        deadline = time.monotonic() + TIME_FOR_COMPLETIONS.total_seconds()
        while True:
            taken = take_in(connect(), folder_at(location), TIME_FOR_COMPLETIONS)
            files, events = files + taken.files + len(taken.problems), events + taken.ingested.new
            if files >= dropped or taken.busy or time.monotonic() >= deadline:
                break
            time.sleep(MIN_UNCHANGED_SECONDS)  # a file is read when it has not changed for a while
        keys = project_code().defs.resolve_asset_graph().get_all_asset_keys()
        reported = report_completions(connect(), instance, TIME_FOR_COMPLETIONS, keys)
        report_result(f"{dropped:,} dropped, {events:,} new events, {reported:,} reported to Dagster")


def _materialize(steps: Steps, instance: dg.DagsterInstance) -> list[FinishedRun]:
    from headrace.database.connection import connect
    from headrace.orchestration import launching
    from headrace.terminal.frames import session
    from headrace.terminal.progress import execute_all, line

    with steps.step("Plan missing and stale runs") as report_result:
        for warning in launching.register_declarations(connect(), session):
            warn(warning)
        runs = launching.plan(connect(), instance, [f'key:"{DOMAIN}/*"'], None, stale=True)
        report_result(f"{len(runs)} runs" if runs else "nothing")

    def report_landed_files(run: FinishedRun) -> None:
        steps.seconds[launching.described(run)] = run.seconds
        if not steps.quiet:
            typer.echo(line(run))

    return execute_all(runs, instance, report_landed_files)


def _chain() -> list[str]:
    """The path of the data: the job that delivered it, with its last run, and the datasets down to the last one."""
    from headrace import queries
    from headrace.database.connection import connect
    from headrace.queries.processes import processes

    first, last = CHAIN
    edges = queries.lineage(connect(), last, depth=20).edges
    reached = {first: [first]}
    for _ in edges:  # each round goes a step further
        for edge in edges:
            if edge.source in reached:
                reached.setdefault(edge.target, [*reached[edge.source], edge.target])
    jobs = processes(connect(), like="LOAD_FLIGHTS")
    producers = [f"{job.key} ({job.run_state.lower() if job.run_state else 'never ran'})" for job in jobs]
    return [*producers, *reached.get(last, ())]


def _statuses() -> list[DatasetStatus]:
    from headrace import queries
    from headrace.database.connection import connect

    return [row for row in queries.status(connect()) if row.key.startswith(f"{DOMAIN}/")]


def _evaluate_slas(steps: Steps) -> dict[str, list[SlaObjectiveStatus]]:
    """Evaluate the SLAs, as the sensor of `headrace up` does."""
    from headrace.database.connection import connect
    from headrace.slas.queries import objectives_by_dataset
    from headrace.slas.tick import evaluate

    with steps.step("Evaluate the SLAs") as report_result:
        report_result(f"{evaluate(connect()).evaluated} objectives")
    return objectives_by_dataset(connect())


def _summary(status: DatasetStatus, objectives: list[SlaObjectiveStatus]) -> dict[str, object]:
    return {"status": status, "objectives": objectives, "checks": _check_counts(status)}


def _check_counts(status: DatasetStatus) -> dict[str, int]:
    """How many of a dataset's checks pass, warn and fail."""
    from headrace import queries
    from headrace.database.connection import connect

    declared = {check.name for check in queries.dataset(connect(), status.key).checks}
    failing, warning = declared.intersection(status.failing), declared.intersection(status.warning)
    return {
        "passed": len(declared - failing - warning) if status.newest_tag else 0,
        "warning": len(warning - failing),
        "failed": len(failing),
    }


def _print(
    statuses: list[DatasetStatus],
    objectives: Mapping[str, list[SlaObjectiveStatus]],
    steps: Steps,
    runs: list[FinishedRun],
) -> None:
    from headrace.terminal.progress import span_of

    took = {key: run.seconds for run in runs for key in run.datasets}
    typer.echo("")
    show(
        table(
            ["dataset", "published", "checks", "objectives", "#run took"],
            [_row(each, objectives.get(each.key, []), took) for each in statuses],
        )
    )
    typer.echo(f"From Autosys to the last dataset: {' > '.join(_chain())}")
    typer.echo(f"Total time: {span_of(sum(steps.seconds.values()))}. To look further:")
    show(facts(NEXT))


def _row(
    status: DatasetStatus, objectives: list[SlaObjectiveStatus], took: dict[str, float]
) -> tuple[object, ...]:
    from headrace.terminal.progress import span_of
    from headrace.terminal.sla_cells import sla_status_text

    several = f"{status.partition_count:,} partitions, newest " if status.partitions else ""
    counts = ", ".join(f"{count} {word}" for word, count in _check_counts(status).items() if count)
    return (
        status.key,
        several + status.newest_tag if status.newest_tag else "nothing",
        counts or None,
        sla_status_text(status, objectives) if status.sla else None,
        span_of(took[status.key]) if status.key in took else "up to date" if status.newest_tag else None,
    )


if __name__ == "__main__":
    try:
        typer.run(demo)
    except Exception as error:
        complain(explanation(error))
        raise SystemExit(1) from error
