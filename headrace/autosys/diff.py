"""Compare two estates: jobs, other objects and calendars that were added, changed or removed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headrace.autosys.calendars import Calendar, ExtendedCalendar
from headrace.autosys.conditions import unparse
from headrace.autosys.estate import Estate, EstateObject
from headrace.autosys.jobs import Job


@dataclass(frozen=True, slots=True)
class Change:
    """One attribute of one object: its values before and after, in order; empty if it has none."""

    attribute: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Differences between two estates.

    Keys are job names; other objects are `kind name`, such as `machine unxhost01` or `calendar HOLIDAYS`.
    """

    added: tuple[str, ...]
    changed: Mapping[str, tuple[Change, ...]]
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def compare(before: Estate, after: Estate) -> Difference:
    """Compare two estates, whichever files they came from: moving a job or its lines is not a change."""
    old, new = _attributes(before), _attributes(after)
    changed: dict[str, tuple[Change, ...]] = {}
    for key, attributes in new.items():
        if key in old and old[key] != attributes:
            changed[key] = changes(old[key], attributes)
    return Difference(
        added=tuple(key for key in new if key not in old),
        changed={key: found for key, found in changed.items() if found},
        removed=tuple(key for key in old if key not in new),
    )


def _attributes(estate: Estate) -> dict[str, list[tuple[str, str]]]:
    found = {name: list(spelled(job)) for name, job in estate.jobs.items()}
    for kind, things in estate.things.items():
        found |= {f"{kind} {name}": list(spelled(thing)) for name, thing in things.items()}
    found |= {f"calendar {name}": _rules(each) for name, each in estate.calendars.calendars.items()}
    for name, cycle in estate.calendars.cycles.items():
        found[f"cycle {name}"] = [("period", f"{first} to {last}") for first, last in cycle.periods]
    return found


def _rules(calendar: Calendar) -> list[tuple[str, str]]:
    if isinstance(calendar, ExtendedCalendar):
        return [(name, value) for name, values in calendar.fields.items() for value in values]
    return [("date", f"{day} {at:%H:%M}") for day, times in calendar.days.items() for at in times]


def spelled(each: Job | EstateObject) -> Iterator[tuple[str, str]]:
    """Yield the attributes of an object: names and normalised values."""
    canonical: dict[str, str] = {}
    if isinstance(each, Job):
        canonical = {name: unparse(condition) for name, condition in each.conditions.items()}
        canonical["job_type"] = each.type
        for attribute in each.overrides:
            yield f"override {attribute.name}", attribute.value
    yield from canonical.items()
    for attribute in each.attributes:
        if attribute.name not in canonical:
            yield attribute.name, attribute.value


def changes(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> tuple[Change, ...]:
    """Compare the attributes of one object, independent of their order."""
    old, new = _by_name(before), _by_name(after)
    return tuple(
        Change(name, old.get(name, ()), new.get(name, ()))
        for name in {**old, **new}
        if old.get(name, ()) != new.get(name, ())
    )


def _by_name(attributes: list[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, value in attributes:
        found[name] = (*found.get(name, ()), value)
    return found
