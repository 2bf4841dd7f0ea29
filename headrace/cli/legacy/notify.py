"""`headrace legacy notify`: repeat the notifications of a published version, by flag file or Autosys event."""

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
    epilog=examples("headrace legacy notify flights/daily_delays --partition 2013-01-31"),
)
def notify(dataset: Dataset, partition: Partition = None, as_json: AsJson = False) -> None:
    """Repeat the notifications of published versions.

    Writes the flag files and sends the events that `notify` in the dataset's declaration lists, from this machine.
    """
    from headrace.database.connection import connect
    from headrace.execution import notices
    from headrace.publishing import unreported
    from headrace.queries import published

    declared = _notices(dataset)
    engine = connect()
    versions = [
        row.version for row in published(engine, [dataset]) if partition in (None, row.version.partition)
    ]
    if not versions:
        where = f", partition {partition}" if partition else ""
        raise CommandError(f"{dataset} has no published version{where}")
    notified = notices.notify(declared, versions)
    for each in notified:
        unreported.record_delivered(engine, each.version.version_id, each.delivered)
    delivered = [notice for each in notified for notice in each.delivered]
    failed = [problem for each in notified for problem in each.failed]
    if as_json:
        emit({"notified": delivered, "not_notified": failed})
    else:
        for notice in delivered:
            typer.echo(f"notified {notice}")
    if failed:
        raise CommandError("\n  ".join(["some notifications failed:", *failed]))


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
        raise CommandError(f"{dataset} is not declared; `headrace datasets` lists datasets")
    if not outputs[dataset].notices:
        raise CommandError(
            f"{dataset} has no notifications: {outputs[dataset].record.declared_at} has no `notify`"
        )
    return outputs[dataset].notices
