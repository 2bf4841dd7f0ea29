"""`headrace status` and `why`: overall status, and the explanation of a run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.nouns import counted
from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.output import emit, show

if TYPE_CHECKING:
    from headrace.queries.rows import DatasetStatus

app = typer.Typer()
MAX_LISTED = 40  # datasets; of a larger catalog only those that need attention are listed


@app.command(epilog=examples("headrace status", "headrace status --json"))
def status(
    every: Annotated[
        bool, typer.Option("--all", help=f"List every dataset, also in a catalog of more than {MAX_LISTED}.")
    ] = False,
    retired: Annotated[
        bool, typer.Option("--retired", help="Show the retired datasets, which are omitted otherwise.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the status of datasets and runs.

    Late and at-risk SLAs, failed checks, unpublished datasets, running and lost runs, and declarations that were
    invalid when their project was last loaded. Of a large catalog only datasets that need attention are listed.
    """
    from headrace import queries
    from headrace.alerts.heartbeat import alerting_status
    from headrace.database.connection import connect
    from headrace.publishing.unreported import unreported_versions
    from headrace.queries.projects import project_problems
    from headrace.registration.retirement import retirements
    from headrace.slas.queries import attention_counts, needs_attention, objectives_by_dataset
    from headrace.terminal.status_cells import (
        invalid_remarks,
        remarks,
        retired_remarks,
        status_table,
        unreported_remarks,
    )

    engine = connect()
    unreported = unreported_versions(engine)  # marks runs whose process died as LOST
    statuses = queries.status(engine, retired=retired)
    gone = retirements(engine)
    objectives = objectives_by_dataset(engine)
    problems = project_problems(engine)
    if as_json:
        rows = [
            {**queries.to_json(dataset), "objectives": queries.to_json(objectives.get(dataset.key, []))}
            for dataset in statuses
        ]
        emit(
            {
                "datasets": rows,
                "unreported": {
                    "total": unreported.total,
                    "versions": [each.facts() for each in unreported.versions],
                },
                "declarations": queries.to_json(problems),
                "retired": queries.to_json(gone),
            }
        )
        return
    listed: Sequence[DatasetStatus] = statuses
    if statuses and not every and len(statuses) > MAX_LISTED:
        attention = [each for each in statuses if needs_attention(each, objectives.get(each.key, ()))]
        listed = attention[:MAX_LISTED]
        counts = attention_counts(statuses, objectives)
        found = ", ".join(f"{count:,} {words}" for words, count in counts.items() if count)
        order = f": {found}." if found else ", all in order."
        unlisted = len(attention) - len(listed)
        more = f" {unlisted:,} of them are not listed below; --all lists every dataset." if unlisted else ""
        typer.echo(f"{counted(len(statuses), 'dataset')}{order}{more}")
    if listed:
        show(status_table(listed, objectives))
    now = datetime.now(UTC)
    lines = [
        *remarks(listed, objectives),
        *unreported_remarks(unreported),
        *alerting_status(engine, now).problems(now),
        *invalid_remarks(problems),
    ]
    typer.echo("\n".join(lines) if lines else "All is well." if statuses else "No dataset is registered.")
    for line in retired_remarks(gone, in_full=retired):
        typer.echo(line)


@app.command(epilog=examples("headrace why 3f9c21d0", "headrace why 3f9c21d0 --json"))
def why(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="The id of a run or Dagster run, or its first 4 or more characters."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Explain a run: inputs, outputs, attempts, failure, log."""
    from headrace.database.connection import connect
    from headrace.publishing.runs import reap
    from headrace.retention.run_reports import why as explain
    from headrace.terminal.run_report import show_run

    engine = connect()
    reap(engine)  # a run whose process died would still be shown as running
    reports = explain(engine, run)
    if as_json:
        emit({"runs": reports})
        return
    for report in reports:
        show_run(report)
