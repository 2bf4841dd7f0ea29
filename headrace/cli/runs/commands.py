"""`headrace materialize`, `observe` and `check`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.arguments import AsJson, dataset_keys, examples
from headrace.terminal.errors import CommandError, warn
from headrace.terminal.output import emit, row_count_text, show, table, total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.orchestration.launching import FinishedRun
    from headrace.orchestration.materialization import PlannedRun

app = typer.Typer()


@app.command(
    epilog=examples(
        "headrace materialize flights/airports flights/planes",
        "headrace materialize flights/flights_clean --partitions 2013-01-01...2013-01-31",
        "headrace materialize 'key:\"flights/*\"' --stale",
        "headrace materialize '+flights/daily_delays' --stale --dry-run",
    )
)
def materialize(
    selection: Annotated[
        list[str],
        typer.Argument(
            metavar="SELECTION",
            help="Dataset keys, or Dagster's selection syntax: `+KEY` includes upstream datasets, "
            "`KEY+` downstream ones.",
            autocompletion=dataset_keys,
        ),
    ],
    partition: Annotated[
        str | None, typer.Option("--partition", "-p", metavar="KEY", help="Materialize this partition.")
    ] = None,
    partitions: Annotated[
        str | None, typer.Option(metavar="FIRST...LAST", help="A range of partitions, both ends included.")
    ] = None,
    stale: Annotated[
        bool,
        typer.Option(
            "--stale", help="Only outputs that are missing, or built from other code or older inputs."
        ),
    ] = False,
    full_refresh: Annotated[
        bool, typer.Option("--full-refresh", help="Compute incremental datasets from nothing.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the runs without starting them.")] = False,
    as_json: AsJson = False,
) -> None:
    """Materialize datasets in this process.

    By default all partitions. Datasets with the same partitions share a run. Exits with 1 if a run fails; runs that do
    not need its outputs continue.
    """
    wanted = _partitions(partition, partitions)
    from headrace.database.connection import connect
    from headrace.local.environment import dagster_instance
    from headrace.orchestration.launching import Ending, plan, register_declarations
    from headrace.terminal.frames import session
    from headrace.terminal.progress import execute_all, progress

    with dagster_instance() as instance:
        with progress("loading the declarations"):
            for warning in register_declarations(connect(), session):
                warn(warning)
            runs = plan(connect(), instance, selection, wanted, stale=stale, full_refresh=full_refresh)
        if dry_run:
            _show_plan(runs, stale=stale, as_json=as_json)
            return
        if not runs and not as_json:
            typer.echo(_nothing(stale=stale))
        finished = execute_all(runs, instance, _ignore if as_json else _print)
    if as_json:
        emit({"runs": finished})
    failed = sum(run.ending is Ending.FAILED for run in finished)
    if failed:
        raise CommandError(f"{failed} of {len(finished)} runs failed")


@app.command(epilog=examples("headrace observe", "headrace observe flights/raw_flights"))
def observe(
    dataset: Annotated[
        str | None, typer.Argument(metavar="DATASET", help="Only this dataset.", autocompletion=dataset_keys)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Register landed files of external datasets.

    `headrace up` does this continuously. Exits with 1 if files could not be read or registered as a version.
    """
    from headrace.database.connection import connect
    from headrace.declarations.loading.code import project_code
    from headrace.execution.plan import ExternalPlan
    from headrace.landed.files import not_looked_at
    from headrace.landed.observation import observe as look
    from headrace.local.environment import dagster_instance
    from headrace.orchestration.sensors.landing import report_landed_files
    from headrace.terminal.progress import progress

    external = {
        plan.record.key: plan for plan in project_code().loaded.plans if isinstance(plan, ExternalPlan)
    }
    if dataset is not None and dataset not in external:
        raise CommandError(
            f"{dataset} is not an external dataset; external datasets: {', '.join(sorted(external)) or 'none'}"
        )
    chosen = [plan for key, plan in external.items() if dataset in (None, key)]
    with dagster_instance() as instance, progress("reading landed files"):
        observation = look(connect(), chosen)
        report_landed_files(instance, chosen, observation)
    aside = not_looked_at(chosen)
    waiting = [*observation.waiting, *([aside] if aside else [])]
    if observation.left:
        waiting.append(f"{observation.left:,} left for the next tick: the time limit was reached.")
    if as_json:
        new = [
            {
                "dataset": version.dataset,
                "partition": version.partition,
                "tag": version.tag,
                "rows": version.row_count,
            }
            for version in observation.new
        ]
        emit(
            {
                "new": new,
                "published": len(observation.published),
                "waiting": waiting,
                "problems": observation.problems,
            }
        )
    else:
        counts = {key: [version for version in observation.new if version.dataset == key] for key in external}
        for key, versions in counts.items():
            if versions:
                typer.echo(
                    f"{key}: {len(versions):,} new, {row_count_text(total(version.row_count for version in versions))}"
                )
        if not observation.new:
            typer.echo("No new files.")
        for line in waiting:
            typer.echo(line)
    if observation.problems:
        raise CommandError("\n  ".join(["some files could not be registered:", *observation.problems]))


@app.command(epilog=examples("headrace check"))
def check(as_json: AsJson = False) -> None:
    """Validate declarations, contracts, policies and alerts.yaml.

    Loads everything that Dagster loads: jobs, schedules, sensors and resources too, and the polls and descriptions of
    processes in legacy/. A change that breaks a contract in contracts/ is an error, and so is a dataset that policies/
    refuse. Errors name file and line. Exits with 1 if there are any.
    """
    from headrace.context import current_context
    from headrace.contracts.checking import check_contracts
    from headrace.declarations.loading.code import check_project
    from headrace.declarations.loading.known import problem_facts
    from headrace.execution.problems import relative_to
    from headrace.policies.checking import check_policies
    from headrace.polling.checking import check_legacy
    from headrace.project import project_root

    problems = [*check_project(), *check_legacy(project_root())]
    policies = check_policies(project_root(), complete=not problems)
    problems += [*check_contracts(project_root(), complete=not problems), *policies.problems]
    if as_json:
        emit(
            {
                "problems": [problem_facts(problem, project_root()) for problem in problems],
                "warnings": [problem_facts(warning, project_root()) for warning in policies.warnings],
            }
        )
    else:
        with relative_to(project_root()):
            for warning in policies.warnings:
                typer.echo(f"warning: {warning}", err=True)
    if not problems and not as_json:
        typer.echo(f"All declarations of project {current_context().settings.project_name} are valid.")
    if problems:
        with relative_to(project_root()):
            listed = "" if as_json else "\n" + "\n".join(str(problem) for problem in problems)
        raise CommandError(f"{len(problems)} problem{'s' if len(problems) > 1 else ''} found{listed}")


def _partitions(one: str | None, several: str | None) -> tuple[str, str] | None:
    """Return the first and last key."""
    if one is not None and several is not None:
        raise typer.BadParameter("--partition and --partitions cannot be combined")
    if one is not None:
        return one, one
    if several is None:
        return None
    first, dots, last = several.partition("...")
    if not (first and dots and last):
        raise typer.BadParameter(f"{several!r} is not FIRST...LAST, as in 2013-01-01...2013-01-31")
    return first, last


def _nothing(*, stale: bool) -> str:
    return (
        "Nothing to do: everything is up to date, or waits for an unpublished input."
        if stale
        else "Nothing to do: no partition of these datasets is complete yet."
    )


def _show_plan(runs: Sequence[PlannedRun], *, stale: bool, as_json: bool) -> None:
    from headrace.orchestration import launching

    if as_json:
        emit(
            {
                "runs": [
                    {"datasets": launching.datasets(run), "partitions": launching.keys(run)} for run in runs
                ]
            }
        )
    elif runs:
        rows = [(number, launching.described(run)) for number, run in enumerate(runs, 1)]
        show(table(["#run", "datasets"], rows))
    else:
        typer.echo(_nothing(stale=stale))


def _print(run: FinishedRun) -> None:
    from headrace.terminal.progress import line

    typer.echo(line(run))
    sys.stdout.flush()


def _ignore(_: FinishedRun) -> None:
    """Print nothing; with --json, all output is printed at the end."""
