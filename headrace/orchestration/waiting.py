"""Datasets that wait for external processes, and what these last completed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from headrace.events.completions import completions, known_names, newest_sequence
from headrace.execution.plan import Plan, ProcessPlan, ProcessTrigger
from headrace.orchestration.business_dates import NoPartition, partition_of
from headrace.orchestration.sensors.process_triggers import is_of


@dataclass(frozen=True, slots=True)
class WaitingDataset:
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


def waiting_datasets(engine: Engine, plans: Iterable[Plan]) -> Iterator[WaitingDataset]:
    """Yield a row for each dataset of these plans and each process that triggers it."""
    for plan in plans:
        if isinstance(plan, ProcessPlan) and plan.started_by:
            yield from _waiting(engine, plan, plan.started_by)


def _waiting(engine: Engine, plan: ProcessPlan, trigger: ProcessTrigger) -> Iterator[WaitingDataset]:
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
        yield WaitingDataset(
            dataset=plan.record.key,
            process=name if trigger.instance is None else f"{name}, {trigger.instance}",
            and_inputs=trigger.with_inputs,
            known=name in known,
            run=last.run if last else None,
            started=last.moment if last else None,
            partition=partition,
            problem=problem,
        )
