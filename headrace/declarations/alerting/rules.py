"""Read and validate alerts.yaml: the routing rules, or every error with its line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from headrace.alerts.rules import OWNERS, AlertRules, Destination, Hours, Limit, Links, Quiet, Route, Step
from headrace.declarations.alerting.declaration import (
    DAYS,
    AlertsDeclaration,
    HoursDeclaration,
    LimitDeclaration,
    RouteDeclaration,
)
from headrace.declarations.loading.documents import Document, NoDocument, documents
from headrace.declarations.origin import Origin
from headrace.declarations.validation import declaration_errors
from headrace.execution.problems import DeclarationError
from headrace.settings import settings

FILE = "alerts.yaml"
_PERSONAL = "{owner}"


class WrongRules(Exception):
    """An invalid rules file; the message has every invalid line."""

    def __init__(self, problems: list[DeclarationError]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def alert_rules(root: Path) -> AlertRules:
    """Return the rules in the project's alerts.yaml; without the file, empty rules. Raises WrongRules."""
    file = root / FILE
    if not file.exists():
        return AlertRules()
    found = list(documents(file))
    if not found:
        return AlertRules()
    if len(found) > 1:
        raise WrongRules(
            [DeclarationError(file, 1, None, "there is more than one document", "Remove the `---`.")]
        )
    (document,) = found
    if isinstance(document, NoDocument):
        raise WrongRules([document.problem])
    origin = Origin(file, root, document.line_of, document.text_at)
    declared = _declared(document, origin)
    if problems := list(_unnamed(declared, origin)):
        raise WrongRules(problems)
    return _rules(declared)


def _declared(document: Document, origin: Origin) -> AlertsDeclaration:
    if not isinstance(document.value, dict):
        raise WrongRules(
            [origin.error((), "this is not a mapping", "Write `destinations:`, `routes:` and so on.")]
        )
    try:
        return AlertsDeclaration.model_validate(document.value)
    except ValidationError as error:
        raise WrongRules(declaration_errors(error, AlertsDeclaration, document.value, origin)) from error


def _unnamed(declared: AlertsDeclaration, origin: Origin) -> Iterator[DeclarationError]:
    """Yield undeclared destinations, and personal destinations of owners without an address."""
    known = sorted(declared.destinations)
    hint = f"There are: {', '.join(known)}." if known else "Add it to `destinations`."
    if OWNERS in known:
        yield origin.error(("destinations", OWNERS), f"{OWNERS!r} means the owners: call it otherwise")
    for owner, names in declared.owners.items():
        for name in names:
            if name not in known:
                yield origin.error(("owners", owner), f"unknown destination {name!r}", hint)
    routes: dict[str, int] = {}
    for place, route in enumerate(declared.routes):
        if route.name in routes:
            yield origin.error(("routes", place, "name"), f"another route is called {route.name!r}")
        routes[route.name] = place
        for number, step in enumerate(route.steps):
            for name in step.to:
                field = ("routes", place, "steps", number, "to")
                if name == OWNERS:
                    if not declared.owners:
                        yield origin.error(field, "no owner has a destination", "Add `owners`.")
                elif name not in known:
                    yield origin.error(field, f"unknown destination {name!r}", hint)
                elif _PERSONAL in declared.destinations[name].url:
                    message = f"{name} needs an owner's address"
                    yield origin.error(field, message, f"Write `{OWNERS}` here, and {name} below `owners`.")


def _rules(declared: AlertsDeclaration) -> AlertRules:
    zone = declared.timezone
    return AlertRules(
        destinations={
            name: Destination(name, each.url, _limit(each.limit or declared.limit))
            for name, each in declared.destinations.items()
        },
        owners={owner: tuple(names) for owner, names in declared.owners.items()},
        routes=tuple(_route(route, zone) for route in declared.routes),
        quiet=tuple(Quiet(_hours(each, zone), each.except_from) for each in declared.quiet_hours),
        links=Links(
            declared.links.dagster and declared.links.dagster.rstrip("/"),
            (declared.links.catalog or settings().service_url).rstrip("/"),
        ),
        heartbeat=declared.heartbeat,
    )


def _route(route: RouteDeclaration, zone: str) -> Route:
    return Route(
        name=route.name,
        steps=tuple(
            Step(tuple(step.to), step.after) if step.after else Step(tuple(step.to)) for step in route.steps
        ),
        domains=frozenset(route.domains),
        owners=frozenset(route.owners),
        least=route.severity,
        hours=_hours(route.hours, zone) if route.hours else None,
    )


def _hours(hours: HoursDeclaration, zone: str) -> Hours:
    days = frozenset(DAYS.index(day) for day in hours.days)
    return Hours(hours.start, hours.end, ZoneInfo(hours.timezone or zone), days)


def _limit(limit: LimitDeclaration) -> Limit:
    return Limit(limit.at_most, limit.within)
