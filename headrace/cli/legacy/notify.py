"""`headrace legacy notify`: tell again what waits outside of a published version, by flag files and events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from headrace.cli.common.arguments import AsJson, Dataset, Partition, examples
from headrace.cli.common.errors import CommandError
from headrace.cli.common.output import emit

if TYPE_CHECKING:
    from headrace.execution.notices import Notice

app = typer.Typer()


@app.command(
    rich_help_panel="Autosys estate",
    epilog=examples("headrace legacy notify flights/daily_delays --partition 2013-01-31"),
)
def notify(dataset: Dataset, partition: Partition = None, as_json: AsJson = False) -> None:
    """Give the notices of a dataset's published versions again, after a run could not.

    Flag files are written and events sent as `notify` in the dataset's declaration says, from this machine.
    """
    from headrace.catalog.queries import published
    from headrace.database.connection import connect
    from headrace.execution import notices

    told = _notices(dataset)
    versions = [
        row.version for row in published(connect(), [dataset]) if partition in (None, row.version.partition)
    ]
    if not versions:
        where = f", partition {partition}" if partition else ""
        raise CommandError(f"nothing is published of {dataset}{where}")
    given, failed = notices.notify(told, versions)
    if as_json:
        emit({"told": given, "not_told": failed})
    else:
        for notice in given:
            typer.echo(f"told {notice}")
    if failed:
        raise CommandError("\n  ".join(["not all could be told:", *failed]))


def _notices(dataset: str) -> tuple[Notice, ...]:
    from headrace.declarations.loading.code import project_code
    from headrace.execution.plan import ProcessPlan

    outputs = {
        output.record.key: output
        for plan in project_code().loaded.plans
        if isinstance(plan, ProcessPlan)
        for output in plan.outputs
    }
    if dataset not in outputs:
        raise CommandError(f"no declaration makes {dataset}; `headrace datasets` lists them")
    if not outputs[dataset].notices:
        raise CommandError(f"{dataset} tells nobody: {outputs[dataset].record.declared_at} has no `notify`")
    return outputs[dataset].notices
