"""`headrace legacy triggers`: datasets triggered by jobs, and the last completion of each job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.output import emit, show, table

if TYPE_CHECKING:
    from headrace.orchestration.waiting import WaitingDataset

app = typer.Typer()


@app.command(epilog=examples("headrace legacy triggers"))
def triggers(as_json: AsJson = False) -> None:
    """List datasets triggered by jobs, and the last completion."""
    from headrace.database.connection import connect
    from headrace.declarations.loading.code import project_code
    from headrace.orchestration.waiting import waiting_datasets

    found = list(waiting_datasets(connect(), project_code().loaded.plans))
    if as_json:
        emit({"triggers": found})
    elif found:
        columns = ["dataset", "waits for", "last run", "started", "partition"]
        show(table(columns, [_row(each) for each in found]))
    else:
        typer.echo("No dataset is triggered by a job: no `trigger` names a `process`.")


def _row(waiting: WaitingDataset) -> tuple[object, ...]:
    waits_for = f"{waiting.process}, and its inputs" if waiting.and_inputs else waiting.process
    never = "has not completed yet" if waiting.known else "unknown process"
    return (
        waiting.dataset,
        waits_for,
        waiting.run or never,
        waiting.started,
        waiting.problem or waiting.partition,
    )
