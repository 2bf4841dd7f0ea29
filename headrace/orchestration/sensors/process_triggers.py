"""The process-trigger sensor: starts datasets when external processes complete, one run per completion."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

import dagster as dg
from pydantic import BaseModel
from sqlalchemy import Engine

from headrace.alerts.heartbeat import record_heartbeat
from headrace.database.connection import connect
from headrace.events.completions import Completion, completions, known_names, newest_sequence
from headrace.execution.partitions import NoUpstreamPartition, upstream_keys
from headrace.execution.plan import Plan, ProcessPlan, ProcessTrigger
from headrace.orchestration.business_dates import NoPartition, partition_of
from headrace.orchestration.partition_keys import add_partition_keys
from headrace.publishing.publication import generations
from headrace.queries.versions import inputs_of_published, published

START_TIME_LIMIT = timedelta(seconds=20)  # Dagster cancels a tick at 60 s
BATCH_SIZE = 200  # completions per poll, and about as many runs per tick
MAX_COMPLETIONS_PER_PROCESS = 2000  # completions of each other process of a trigger
MAX_PENDING_PARTITIONS = 1000  # partitions waiting for their inputs

Triggered = Sequence[tuple[ProcessPlan, ProcessTrigger]]


class PendingPartition(BaseModel):
    """A partition whose process has completed, and whose inputs are not all published."""

    dataset: str
    partition: str | None
    run_key: str
    process: str


class Cursor(BaseModel):
    """The sensor's cursor.

    sequence: of the last handled event. started: by unpartitioned dataset, the sequence of the completion that last
    started it. inputs: by unpartitioned dataset that waits for inputs as well, when each of these was published at its
    last start.
    """

    sequence: int = 0
    pending: list[PendingPartition] = []
    started: dict[str, int] = {}
    inputs: dict[str, dict[str, datetime]] = {}


def process_trigger_sensor(plans: Sequence[Plan]) -> dg.SensorDefinition:
    """Create the sensor over those of `plans` with a `process` trigger.

    Its cursor follows the catalog's events in order of arrival, so a tick that dies does no harm: the next one requests
    the same runs with the same keys, which Dagster starts once. It advances even without triggers, so a trigger
    declared later starts with new completions.
    """
    triggered: Triggered = [
        (plan, plan.started_by) for plan in plans if isinstance(plan, ProcessPlan) and plan.started_by
    ]
    keys = [output.key for plan, _ in triggered for output in plan.outputs]
    reported: set[str] = set()

    @dg.sensor(
        name="process_triggers",
        target=dg.AssetSelection.assets(*keys),
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Starts datasets when the external processes in their triggers have succeeded.",
    )
    def process_triggers(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        tick = Tick(context, connect(), triggered)
        _warn_about_unknown_processes(context, tick.engine, triggered, reported)
        requests = list(tick.requests())
        record_heartbeat(tick.engine, "process_triggers", datetime.now(UTC))
        return dg.SensorResult(
            run_requests=requests,
            cursor=tick.cursor.model_dump_json(),
            skip_reason=None if requests else dg.SkipReason(tick.why_not()),
        )

    return process_triggers


class Tick:
    """One poll: the completions since the last one, and the resulting runs."""

    def __init__(self, context: dg.SensorEvaluationContext, engine: Engine, triggered: Triggered) -> None:
        self.context = context
        self.engine = engine
        self.triggered = triggered
        self.cursor = Cursor.model_validate_json(context.cursor) if context.cursor else Cursor()
        self.problems: list[str] = []
        self.newest = newest_sequence(engine)
        self._ended: dict[str, list[Completion]] = {}

    def requests(self) -> Iterator[dg.RunRequest]:
        """Yield the runs to start; after all of them, the cursor is the start of the next poll."""
        deadline = monotonic() + START_TIME_LIMIT.total_seconds()
        names = {name for _, trigger in self.triggered for name in trigger.names}
        found = completions(self.engine, names, after=self.cursor.sequence, to=self.newest, limit=BATCH_SIZE)
        for completion in found:
            if monotonic() > deadline:
                break
            for plan, trigger in self.triggered:
                if is_of(completion, trigger):
                    yield from self._started(plan, trigger, completion)
            self.cursor.sequence = completion.sequence
        else:
            if len(found) < BATCH_SIZE:
                self.cursor.sequence = self.newest
        yield from self._inputs_there()

    def why_not(self) -> str:
        """Return the message of a tick that starts nothing."""
        waiting = [f"{each.dataset} {each.partition or ''}".strip() for each in self.cursor.pending]
        messages = [*self.problems, *([f"waiting for inputs: {', '.join(waiting[:20])}"] if waiting else [])]
        return "; ".join(messages) or "No process of a trigger has completed since the last tick."

    def _started(
        self, plan: ProcessPlan, trigger: ProcessTrigger, completion: Completion
    ) -> Iterator[dg.RunRequest]:
        dataset = plan.record.key
        try:
            key = partition_of(_definition(plan), completion.partition, completion.moment)
        except NoPartition as reason:
            self._problem(f"{completion.identity} does not start {dataset}: {reason}")
            return
        if not self._others_ended(plan, trigger, completion, key):
            return
        if key is None:
            self.cursor.started[dataset] = completion.sequence
        run_key = "|".join((dataset, key or "", completion.identity))
        if not trigger.with_inputs:
            yield self._request(plan, key, run_key, completion.process_key)
            return
        # A later completion of the same partition replaces one that still waits.
        others = [each for each in self.cursor.pending if (each.dataset, each.partition) != (dataset, key)]
        if len(others) >= MAX_PENDING_PARTITIONS:
            self._problem(f"{others[0].dataset} {others[0].partition} waits for its inputs no longer")
            others = others[1:]
        pending = PendingPartition(
            dataset=dataset, partition=key, run_key=run_key, process=completion.process_key
        )
        self.cursor.pending = [*others, pending]

    def _others_ended(
        self, plan: ProcessPlan, trigger: ProcessTrigger, completion: Completion, key: str | None
    ) -> bool:
        """Return True if every other process of the trigger completed before, for the same partition or since the
        last start."""
        after = self.cursor.started.get(plan.record.key, 0) if key is None else 0
        others = [name for name in trigger.names if name not in (completion.name, completion.process_key)]
        return all(
            any(
                after < other.sequence < completion.sequence
                and is_of(other, trigger)
                and self._is_about(plan, other, key)
                for other in self._ended_before(name)
            )
            for name in others
        )

    def _ended_before(self, name: str) -> list[Completion]:
        if name not in self._ended:
            self._ended[name] = completions(
                self.engine,
                [name],
                after=0,
                to=self.newest,
                limit=MAX_COMPLETIONS_PER_PROCESS,
                historical=True,
                newest_first=True,
            )
        return self._ended[name]

    def _is_about(self, plan: ProcessPlan, completion: Completion, key: str | None) -> bool:
        try:
            return partition_of(_definition(plan), completion.partition, completion.moment) == key
        except NoPartition:
            return False

    def _inputs_there(self) -> Iterator[dg.RunRequest]:
        """Yield runs of the waiting partitions whose inputs are published now."""
        plans = {plan.record.key: plan for plan, trigger in self.triggered if trigger.with_inputs}
        needs: list[tuple[PendingPartition, list[tuple[str, str | None]], list[str]]] = []
        for pending in self.cursor.pending:
            if pending.dataset in plans:
                try:
                    needs.append((pending, *self._needs(plans[pending.dataset], pending.partition)))
                except (NoUpstreamPartition, dg.DagsterInvariantViolationError) as reason:
                    self._problem(f"{pending.process} does not start {pending.dataset}: {reason}")
        there = self._published(needs)
        waiting: list[PendingPartition] = []
        for pending, places, whole in needs:
            is_ready = all(place in there for place in places) and all((each, ...) in there for each in whole)
            if is_ready and pending.partition is None:
                inputs = {dataset for dataset, _ in places} | set(whole)
                is_ready = self._take_new_inputs(plans[pending.dataset], inputs)
            if is_ready:
                yield self._request(
                    plans[pending.dataset], pending.partition, pending.run_key, pending.process
                )
            else:
                waiting.append(pending)
        self.cursor.pending = waiting

    def _needs(self, plan: ProcessPlan, key: str | None) -> tuple[list[tuple[str, str | None]], list[str]]:
        """Return the input partitions that a run reads, and the inputs of which it reads everything published."""
        repository = self.context.repository_def
        if repository is None:
            raise dg.DagsterInvariantViolationError("the sensor is evaluated without its repository")
        places: list[tuple[str, str | None]] = []
        whole: list[str] = []
        for item in plan.inputs:
            if item.version_tag is not None or item.as_of is not None:
                continue  # a version named in the declaration exists
            keys = upstream_keys(repository.asset_graph, self.context.instance, plan, item, [key])[key]
            places += [(item.dataset, each) for each in keys]
            whole += [] if keys else [item.dataset]
        return places, whole

    def _published(
        self, needs: Sequence[tuple[PendingPartition, Sequence[tuple[str, str | None]], Sequence[str]]]
    ) -> set[tuple[str, Any]]:
        """Return those of the places with a published version; (dataset, ...) if any partition has one."""
        places = list(dict.fromkeys(place for _, each, _ in needs for place in each))
        whole = sorted({dataset for _, _, each in needs for dataset in each})
        there: set[tuple[str, Any]] = set()
        if places:
            there |= {place for place, generation in generations(self.engine, places).items() if generation}
        if whole:
            there |= {(row.dataset, ...) for row in published(self.engine, whole)}
        return there

    def _take_new_inputs(self, plan: ProcessPlan, inputs: Collection[str]) -> bool:
        """Return True if each input of an unpartitioned dataset is newer than those of its last run, and record them.

        The published version names its inputs, also of a run that the sensor did not start; the cursor those of a run
        that has not published yet.
        """
        made_from = inputs_of_published(self.engine, [output.record.key for output in plan.outputs])
        read = set().union(*made_from.values())
        before = self.cursor.inputs.get(plan.record.key, {})
        newest: dict[str, datetime] = {}
        for row in published(self.engine, sorted(inputs)):
            since = before.get(row.dataset)
            if row.version.version_id not in read and (since is None or row.published_at > since):
                newest[row.dataset] = max(row.published_at, newest.get(row.dataset, row.published_at))
        if len(newest) < len(inputs):
            return False
        self.cursor.inputs[plan.record.key] = newest
        return True

    def _request(self, plan: ProcessPlan, key: str | None, run_key: str, process: str) -> dg.RunRequest:
        if key is not None:
            add_partition_keys(self.context.instance, _definition(plan), [key])
        self.context.log.info(f"{process} starts {plan.record.key}{f', partition {key}' if key else ''}")
        return dg.RunRequest(
            run_key=run_key,
            partition_key=key,
            asset_selection=[output.key for output in plan.outputs],
            tags={"headrace/started_by": process},
        )

    def _problem(self, problem: str) -> None:
        self.context.log.warning(problem)
        self.problems.append(problem)


def is_of(completion: Completion, trigger: ProcessTrigger) -> bool:
    """Return True if the completion is of a process that the trigger names."""
    is_named = completion.by_name and completion.name in trigger.names
    return (is_named or completion.process_key in trigger.names) and trigger.instance in (
        None,
        completion.instance,
    )


def _definition(plan: ProcessPlan) -> dg.PartitionsDefinition[str] | None:
    return plan.partitions.definition if plan.partitions else None


def _warn_about_unknown_processes(
    context: dg.SensorEvaluationContext, engine: Engine, triggered: Triggered, reported: set[str]
) -> None:
    """Warn once about each unknown process that a trigger waits for. reported: those of earlier warnings."""
    waited_for: Mapping[str, str] = {
        name: plan.record.key for plan, trigger in triggered for name in trigger.names
    }
    unknown = waited_for.keys() - known_names(engine, waited_for.keys()) if waited_for else set()
    for name in sorted(unknown - reported):
        context.log.warning(
            f"{waited_for[name]} waits for {name}, which no scan and no completion has reported yet; check the spelling"
        )
    reported.clear()
    reported |= unknown
