"""Spark datasets beside the jobs: their triggers as conditions, so that one simulation plays both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headrace.autosys.conditions import AllOf, AnyOf, Condition, JobIs, Lookback, RequiredStatus
from headrace.autosys.schedules import NONE
from headrace.cron import five_fields
from headrace.simulation.definitions import DATASET, Definition, SentEvent
from headrace.simulation.ticks import CronTimes

_SINCE_LAST_RUN = Lookback(0)


@dataclass(frozen=True, slots=True)
class DatasetTrigger:
    """The trigger of a dataset, as declared.

    inputs: what writes each input: names of jobs or datasets. Inputs that nothing here writes are taken to be there.
    sends: calls of `sendevent`, by their arguments.
    """

    name: str
    when: str | None = None
    schedule: str | None = None
    timezone: str = "UTC"
    processes: tuple[str, ...] = ()
    inputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sends: tuple[tuple[str, ...], ...] = ()


def dataset_definition(trigger: DatasetTrigger) -> Definition:
    """Return a dataset as a definition: it runs once its processes or inputs have succeeded since its last run."""
    written = [_any(map(_new, names)) for names in trigger.inputs.values() if names]
    needed = [_new(name.rpartition("/")[2]) for name in trigger.processes]
    if trigger.when == "any_input" and written:
        needed.append(_any(written))
    elif trigger.when == "all_inputs":
        needed += written
    condition = needed[0] if len(needed) == 1 else AllOf(_flat(needed, AllOf)) if needed else None
    sends = tuple(map(_sent, trigger.sends))
    times = NONE if trigger.schedule is None else CronTimes(five_fields(trigger.schedule), trigger.timezone)
    return Definition(trigger.name, DATASET, schedule=times, condition=condition, sends=sends)


def _sent(arguments: Sequence[str]) -> SentEvent:
    """Read the arguments of `sendevent`, which are options with their values."""
    options = dict(zip(arguments[::2], arguments[1::2], strict=False))
    variable, _, value = options.get("-G", "").partition("=")
    return SentEvent(options["-E"], options.get("-J", ""), options.get("-s", ""), variable, value)


def _new(name: str) -> Condition:
    return JobIs(RequiredStatus.SUCCESS, name, lookback=_SINCE_LAST_RUN)


def _any(conditions: Iterable[Condition]) -> Condition:
    found = list(conditions)
    return found[0] if len(found) == 1 else AnyOf(_flat(found, AnyOf))


def _flat(conditions: Iterable[Condition], kind: type[AllOf] | type[AnyOf]) -> tuple[Condition, ...]:
    """Return the parts of a condition, none of which is of its own kind."""
    return tuple(part for each in conditions for part in (each.parts if isinstance(each, kind) else (each,)))
