"""Read and validate alerts.yaml: the routing rules without invalid entries, and each error with its line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from headrace.alerts.rules import OWNERS, AlertRules, Destination, Hours, Limit, Links, Quiet, Route, Step
from headrace.context import current_context
from headrace.declarations.alerting.declaration import (
    DAYS,
    NEVER,
    AlertsDeclaration,
    HoursDeclaration,
    LimitDeclaration,
    RouteDeclaration,
)
from headrace.declarations.alerting.findings import (
    PERSONAL,
    FileEntries,
    Places,
    endless,
    findings,
    usable_destinations,
)
from headrace.execution.problems import DeclarationError
from headrace.queries.projects import NO_SUBJECTS, Subjects
from headrace.sources.documents import Document, NoDocument, documents
from headrace.sources.origin import FieldPath, Origin
from headrace.sources.validation import declaration_errors

FILE = "alerts.yaml"
_REQUIRED = frozenset(
    {"destinations", "owners", "routes"}
)  # without one of them as written, no one would be notified
_ENTRIES = _REQUIRED | {"quiet_hours"}  # fields with entries of their own


class WrongRules(Exception):
    """A rules file that cannot be read at all; the message has the errors."""

    def __init__(self, problems: Sequence[DeclarationError]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """The rules of a file, and its errors: an invalid entry is left out of the rules, the others apply."""

    rules: AlertRules
    problems: tuple[DeclarationError, ...] = ()


def load_rules(root: Path, subjects: Subjects = NO_SUBJECTS) -> LoadedRules:
    """Return the rules in the project's alerts.yaml; without the file, empty rules. Raises WrongRules.

    subjects: known owners and domains, with which those in the file are compared.
    """
    file = root / FILE
    found = list(documents(file)) if file.exists() else []
    if not found:
        return LoadedRules(AlertRules())
    if len(found) > 1:
        raise WrongRules([DeclarationError(file, 1, None, "more than one document", "Remove the `---`.")])
    (document,) = found
    if isinstance(document, NoDocument):
        raise WrongRules([document.problem])
    origin = Origin(file, root, document.line_of, document.text_at)
    declared, problems, places = _declared(document, origin)
    routes = [_route(route, declared) for route in declared.routes]
    quiet = [Quiet(_hours(each, declared.timezone), each.except_from) for each in declared.quiet_hours]
    problems += findings(FileEntries(declared, document.value, routes, quiet, places), origin, subjects)
    return LoadedRules(
        _rules(declared, routes, quiet), tuple(sorted(problems, key=lambda problem: problem.line))
    )


def _declared(document: Document, origin: Origin) -> tuple[AlertsDeclaration, list[DeclarationError], Places]:
    """Return the declaration without invalid entries, the errors, and the places of the entries of lists."""
    written = document.value
    if not isinstance(written, dict):
        raise WrongRules([origin.error((), "not a mapping", "Write `destinations:`, `routes:` and so on.")])
    try:
        declared = AlertsDeclaration.model_validate(written)
    except ValidationError as error:
        problems = declaration_errors(error, AlertsDeclaration, written, origin)
        invalid = {_entry(each["loc"], written) for each in error.errors(include_url=False)}
    else:
        return declared, [], {}
    if any((name,) in invalid for name in _REQUIRED):
        raise WrongRules(problems)
    valid, places = _without(written, invalid)
    try:
        return AlertsDeclaration.model_validate(valid), problems, places
    except ValidationError as error:  # for example a key that is not a string
        raise WrongRules(problems) from error


def _entry(field: FieldPath, written: dict[str, Any]) -> tuple[str | int, ...]:
    """Return the entry that contains a field: a destination, an owner, a route, quiet hours, or a whole field."""
    name = field[0]
    has_entries = name in _ENTRIES and len(field) > 1 and isinstance(written.get(str(name)), dict | list)
    return tuple(field[:2]) if has_entries else (name,)


def _without(
    written: dict[str, Any], invalid: Collection[tuple[str | int, ...]]
) -> tuple[dict[str, Any], Places]:
    """Return what was written without invalid entries, and the places that the entries of lists had."""
    valid = {name: value for name, value in written.items() if (name,) not in invalid}
    places: dict[str, list[int]] = {}
    for name, value in valid.items():
        if name not in _ENTRIES:
            continue
        if isinstance(value, dict):
            valid[name] = {key: each for key, each in value.items() if (name, key) not in invalid}
        elif isinstance(value, list):
            places[name] = [place for place in range(len(value)) if (name, place) not in invalid]
            valid[name] = [value[place] for place in places[name]]
    return valid, places


def _rules(declared: AlertsDeclaration, routes: Iterable[Route], quiet: Sequence[Quiet]) -> AlertRules:
    """Return the rules; names of destinations that cannot be used, and what is then empty, are left out."""
    usable = usable_destinations(declared)
    held = endless(quiet)
    named = {
        owner: tuple(name for name in names if name in usable) for owner, names in declared.owners.items()
    }
    return AlertRules(
        destinations={
            name: Destination(name, url, _limit(declared.destinations[name].limit or declared.limit))
            for name, url in usable.items()
        },
        owners={owner: names for owner, names in named.items() if names},
        routes=tuple(route for each in routes if (route := _usable(each, usable)).steps),
        quiet=tuple(each for each in quiet if not any(each.least > severity for severity in held)),
        links=Links(
            declared.links.dagster and declared.links.dagster.rstrip("/"),
            (declared.links.catalog or current_context().settings.service_url).rstrip("/"),
        ),
        heartbeat=declared.heartbeat,
        acknowledge_for=declared.acknowledge_for,
    )


def _route(route: RouteDeclaration, declared: AlertsDeclaration) -> Route:
    repeat_every = route.repeat_every or declared.repeat_every
    return Route(
        name=route.name,
        steps=tuple(Step(tuple(step.to), step.after or timedelta()) for step in route.steps),
        domains=frozenset(route.domains),
        owners=frozenset(route.owners),
        least=route.severity,
        hours=_hours(route.hours, declared.timezone) if route.hours else None,
        repeat_every=None if repeat_every == NEVER else repeat_every,
    )


def _usable(route: Route, usable: Mapping[str, str]) -> Route:
    """Return the route with the recipients that can be notified; personal destinations need an owner."""
    steps = (
        replace(step, to=tuple(name for name in step.to if _is_recipient(name, usable)))
        for step in route.steps
    )
    return replace(route, steps=tuple(step for step in steps if step.to))


def _is_recipient(name: str, usable: Mapping[str, str]) -> bool:
    return name == OWNERS or (name in usable and PERSONAL not in usable[name])


def _hours(hours: HoursDeclaration, zone: str) -> Hours:
    days = frozenset(DAYS.index(day) for day in hours.days)
    return Hours(hours.start, hours.end, ZoneInfo(hours.timezone or zone), days)


def _limit(limit: LimitDeclaration) -> Limit:
    return Limit(limit.at_most, limit.within)
