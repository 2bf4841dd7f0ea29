"""`headrace legacy triggers`: datasets triggered by jobs, and the last completion of each job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import typer

from headrace.cli.common.arguments import AsJson, examples
from headrace.cli.common.output import emit, show, table

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from headrace.execution.plan import ProcessPlan, ProcessTrigger

app = typer.Typer()


@dataclass(frozen=True, slots=True)
class TriggerRow:
    """A dataset that waits for a process.

    known: True if a scan or a completion has reported the process. run, ended: its last genuine success that is not
    history, and when that run started. partition: the partition of that run; problem: why there is none.
    """

    dataset: str
    process: str
    and_inputs: bool
    known: bool
    run: str | None = None
    started: datetime | None = None
    partition: str | None = None
    problem: str | None = None


@app.command(epilog=examples("headrace legacy triggers"))
def triggers(as_json: AsJson = False) -> None:
    """List datasets triggered by jobs, and the last completion."""
    from headrace.database.connection import connect
    from headrace.declarations.loading.code import project_code
    from headrace.execution.plan import ProcessPlan

    engine = connect()
    found = [
        waiting
        for plan in project_code().loaded.plans
        if isinstance(plan, ProcessPlan) and plan.started_by
        for waiting in _trigger_rows(engine, plan, plan.started_by)
    ]
    if as_json:
        emit({"triggers": found})
    elif found:
        columns = ["dataset", "waits for", "last run", "started", "partition"]
        show(table(columns, [_row(each) for each in found]))
    else:
        typer.echo("No dataset is triggered by a job: no `trigger` names a `process`.")


def _trigger_rows(engine: Engine, plan: ProcessPlan, trigger: ProcessTrigger) -> Iterator[TriggerRow]:
    from headrace.events.completions import completions, known_names, newest_sequence
    from headrace.orchestration.business_dates import NoPartition, partition_of
    from headrace.orchestration.sensors.process_triggers import is_of

    known = known_names(engine, trigger.names)
    newest = newest_sequence(engine)
    for name in trigger.names:
        ended = completions(engine, [name], after=0, to=newest, limit=100, newest_first=True)
        last = next((each for each in ended if is_of(each, trigger)), None)
        partition, problem = None, None
        if last is not None:
            definition = plan.partitions.definition if plan.partitions else None
            try:
                partition = partition_of(definition, last.partition, last.moment)
            except NoPartition as reason:
                problem = str(reason)
        yield TriggerRow(
            dataset=plan.record.key,
            process=name if trigger.instance is None else f"{name}, {trigger.instance}",
            and_inputs=trigger.with_inputs,
            known=name in known,
            run=last.run if last else None,
            started=last.moment if last else None,
            partition=partition,
            problem=problem,
        )


def _row(waiting: TriggerRow) -> tuple[object, ...]:
    waits_for = f"{waiting.process}, and its inputs" if waiting.and_inputs else waiting.process
    never = "has not completed yet" if waiting.known else "unknown process"
    return (
        waiting.dataset,
        waits_for,
        waiting.run or never,
        waiting.started,
        waiting.problem or waiting.partition,
    )
