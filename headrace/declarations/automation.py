"""Freshness policies, automation conditions and retry policies for Dagster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cache, reduce
from operator import and_
from typing import Any

import dagster as dg

from headrace.catalog.records import TriggerMode
from headrace.dagster_internals import FreshnessPolicy, get_smallest_cron_interval
from headrace.declarations.cron import is_even
from headrace.declarations.declaration import PartitionOf, Retry, RunLimits, Sla
from headrace.declarations.trigger import Trigger
from headrace.execution.plan import ProcessTrigger

Condition = dg.AutomationCondition[Any]
_MIN_WINDOW = timedelta(minutes=1)  # of Dagster's policies


class SlaProblem(ValueError):
    """An invalid SLA; `field` is the invalid field."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


def freshness_policy(sla: Sla) -> FreshnessPolicy | None:
    """Return Dagster's policy; None for what Dagster lacks: deadlines of a calendar or partition, run times, volumes.

    Dagster's deadline policy has no `warn_before`; the catalog evaluates it, like the rest of an SLA. Raises SlaProblem
    if a duration is longer than the period that it is a part of.
    """
    if sla.deadline is not None:
        _check_window(sla)
        within = window(sla)
        if within is None or sla.calendar is not None or sla.partition is not None:
            return None
        return _deadline_policy(sla.deadline, within, sla.timezone)
    return _age_policy(sla.max_age, sla.warn_after) if sla.max_age is not None else None


def window(sla: Sla) -> timedelta | None:
    """Return how long before a deadline a version counts for it; None without a deadline, or for that of a partition.

    The catalog and Dagster's freshness policy have this one rule: by default half of the time between two deadlines, so
    that a version counts for the nearer one.
    """
    if sla.deadline is None or sla.within is not None or sla.partition is not None:
        return sla.within
    return max(_between(sla.deadline) / 2, _MIN_WINDOW)


def _check_window(sla: Sla) -> None:
    """Raise SlaProblem if `within` is missing or too long, or `warn_before` is longer than the window."""
    assert sla.deadline is not None  # noqa: S101 - the caller has one
    between, within = _between(sla.deadline), window(sla)
    if sla.within is not None and sla.within > between:
        raise SlaProblem("within", f"`within` is longer than the {between} between two deadlines")
    if sla.within is None and sla.partition is None and not is_even(sla.deadline):
        raise SlaProblem(
            "within",
            "the times between the deadlines of a day differ; write `within`, how long before a deadline a version "
            f"counts for it, {between} at most",
        )
    if sla.warn_before is not None and sla.warn_before > (within or between):
        whole = (
            f"`within`, which is {within}{'' if sla.within else ' by default'}"
            if within
            else f"the {between} between two deadlines"
        )
        raise SlaProblem("warn_before", f"`warn_before` is longer than {whole}: it would always warn")


@cache
def _between(cron: str) -> timedelta:
    found: timedelta = get_smallest_cron_interval(cron)
    return found


@cache
def _deadline_policy(cron: str, within: timedelta, timezone: str) -> FreshnessPolicy:
    # Dagster takes some milliseconds to check a cron; thousands of datasets have the same few.
    return FreshnessPolicy.cron(deadline_cron=cron, lower_bound_delta=within, timezone=timezone)


@cache
def _age_policy(max_age: timedelta, warn_after: timedelta | None) -> FreshnessPolicy:
    return FreshnessPolicy.time_window(fail_window=max_age, warn_window=warn_after)


def sla_record(sla: RunLimits) -> Mapping[str, Any] | None:
    """Return the SLA for the catalog, durations in seconds; run times belong to its process (`run_limits`)."""
    found: dict[str, Any] = {}
    for name, value in sla:
        if value is None or name in RunLimits.model_fields:
            continue
        if isinstance(value, timedelta):
            found[f"{name}_seconds"] = value.total_seconds()
        else:
            found[name] = value.model_dump() if isinstance(value, PartitionOf) else value
    if isinstance(sla, Sla) and (within := window(sla)) is not None:
        found["within_seconds"] = within.total_seconds()
    if "deadline" not in found:
        found.pop("timezone", None)
    return found or None


def run_limits(sla: RunLimits | None) -> Mapping[str, Any] | None:
    """Return the run times of an SLA, for the catalog's process."""
    if sla is None:
        return None
    limits = {"max_run_seconds": sla.max_run, "min_run_seconds": sla.min_run}
    return {name: length.total_seconds() for name, length in limits.items() if length is not None} or None


def condition(trigger: Trigger, inputs: Sequence[str]) -> Condition | None:
    """Return Dagster's automation condition for `trigger`, of a process with these `inputs`.

    None if external processes are waited for: Dagster does not know their business dates, see `process_trigger`.
    """
    if trigger.process is not None:
        return None
    return _condition(trigger, tuple(inputs) if trigger.when == "all_inputs" else ())


@cache
def _condition(trigger: Trigger, inputs: tuple[str, ...]) -> Condition:
    latest: Condition = dg.AutomationCondition.in_latest_time_window()
    idle: Condition = ~dg.AutomationCondition.in_progress()
    parts: list[Condition] = []
    if trigger.schedule is not None:
        tick: Condition = dg.AutomationCondition.cron_tick_passed(trigger.schedule, trigger.timezone)
        parts.append(latest & idle & tick.since_last_handled())
    match trigger.when:
        case "missing":
            parts.append(dg.AutomationCondition.on_missing())
        case "any_input":
            # Late and corrected days are read too.
            parts.append(dg.AutomationCondition.eager().without(latest))
        case "all_inputs":
            parts.append(reduce(and_, (_updated(dg.AssetKey(key.split("/"))) for key in inputs), idle))
    return reduce(and_, parts)


def _updated(key: dg.AssetKey) -> Condition:
    """Return the condition that the dataset `key` has a new version since the last run, or will have one in the same
    tick."""
    new: Condition = dg.AutomationCondition.newly_updated() | dg.AutomationCondition.will_be_requested()
    matched: Condition = dg.AutomationCondition.asset_matches(key, new)
    return matched.since_last_handled()


def process_trigger(trigger: Trigger) -> ProcessTrigger | None:
    """Return the external processes that `trigger` waits for, if any."""
    if trigger.process is None:
        return None
    return ProcessTrigger(tuple(dict.fromkeys(trigger.process)), trigger.instance, trigger.when is not None)


def trigger_mode(trigger: Trigger | None) -> TriggerMode:
    """Return the trigger mode of the process, for the catalog.

    A schedule and the end of another process are PROCESS, new inputs are DATASET, one of each is HYBRID.
    """
    if trigger is None or (trigger.schedule is None and trigger.process is None):
        return TriggerMode.DATASET
    return TriggerMode.PROCESS if trigger.when is None else TriggerMode.HYBRID


@cache
def retry_policy(retry: Retry) -> dg.RetryPolicy:
    """Return Dagster's retry policy."""
    return dg.RetryPolicy(
        max_retries=retry.max_retries,
        delay=retry.delay_seconds or None,
        backoff=dg.Backoff[retry.backoff.upper()] if retry.backoff else None,
    )
