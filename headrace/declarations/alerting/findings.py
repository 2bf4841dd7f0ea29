"""Find what the schema of alerts.yaml cannot: names that do not exist, routes and hours without effect. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from headrace.alerts.channels import is_complete, schemes
from headrace.alerts.rules import ANY_OWNER, OWNERS, Quiet, Route, never_ends
from headrace.declarations.alerting.declaration import AlertsDeclaration, RouteDeclaration
from headrace.execution.problems import DeclarationError
from headrace.queries.projects import Subjects
from headrace.severity import Severity
from headrace.sources.origin import FieldPath, Origin

PERSONAL = "{owner}"
_ALMOST = 0.85  # similarity of a misspelt name; teams share a prefix, so that others are similar as well


Places = Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class FileEntries:
    """The valid entries of a file. whole: all that is in it. routes, quiet: as declared, in the same order.

    places: of the valid entries of lists, for a list that has invalid ones.
    """

    declared: AlertsDeclaration
    whole: Mapping[str, Any]
    routes: Sequence[Route]
    quiet: Sequence[Quiet]
    places: Places

    def places_of(self, field: str) -> Sequence[int]:
        """Return the places of the valid entries of a list."""
        return self.places.get(field, range(len(getattr(self.declared, field))))

    def has_destination(self, name: str) -> bool:
        """Return True if the file has the destination, valid or not."""
        return name in self.whole.get("destinations", {})


def usable_destinations(declared: AlertsDeclaration) -> dict[str, str]:
    """Return the URLs of the destinations to which notifications can be sent, by name."""
    return {
        name: each.url
        for name, each in declared.destinations.items()
        if name != OWNERS and _unknown_scheme(each.url) is None and is_complete(each.url)
    }


def findings(written: FileEntries, origin: Origin, subjects: Subjects) -> Iterator[DeclarationError]:
    """Yield what is wrong with the valid entries of a file."""
    yield from _destinations(written, origin)
    yield from _owners(written, origin, subjects)
    for place, route in zip(written.places_of("routes"), written.declared.routes, strict=True):
        yield from _route(written, place, route, origin, subjects)
    yield from _repeated_names(written, origin)
    yield from _shadowed(written, origin)
    yield from _endless(written, origin)


def endless(quiet: Sequence[Quiet]) -> frozenset[Severity]:
    """Return the severities that quiet hours together hold back for the whole week."""
    return frozenset(severity for severity in Severity if never_ends(quiet, severity))


def _destinations(written: FileEntries, origin: Origin) -> Iterator[DeclarationError]:
    for name, each in written.declared.destinations.items():
        if name == OWNERS:
            yield origin.error(
                ("destinations", name), f"{OWNERS!r} is reserved for the owners: choose another name"
            )
        elif scheme := _unknown_scheme(each.url):
            near = get_close_matches(scheme, schemes(), 1)
            yield origin.error(
                ("destinations", name),
                f"there is no alert channel {scheme}://",
                f"Did you mean {near[0]}://?"
                if near
                else "See https://appriseit.com/services/ for all URLs.",
            )
        elif not is_complete(each.url):
            yield origin.error(
                ("destinations", name),
                "the URL is incomplete: nothing can be sent to it",
                "See https://appriseit.com/services/ for what the service needs.",
            )


def _unknown_scheme(url: str) -> str | None:
    """Return the scheme of a URL that nothing can send to; a URL in an environment variable is not known here."""
    scheme, separator, _ = url.partition("://")
    if not separator or "$" in scheme or scheme.lower() in schemes():
        return None
    # The web address that a service shows for its hook works as well.
    return None if scheme.lower() in ("http", "https") and is_complete(url) else scheme


def _owners(written: FileEntries, origin: Origin, subjects: Subjects) -> Iterator[DeclarationError]:
    for owner, names in written.declared.owners.items():
        for name in names:
            if not written.has_destination(name):
                yield _unknown_destination(("owners", owner), name, written, origin)
        if owner != ANY_OWNER:
            yield from _unknown(owner, "owner", subjects.owners, ("owners", owner), origin, subjects)


def _route(
    written: FileEntries, place: int, route: RouteDeclaration, origin: Origin, subjects: Subjects
) -> Iterator[DeclarationError]:
    for number, owner in enumerate(route.owners):
        field = ("routes", place, "owners", number)
        yield from _unknown(owner, "owner", subjects.owners, field, origin, subjects)
    for number, domain in enumerate(route.domains):
        field = ("routes", place, "domains", number)
        yield from _unknown(domain, "domain", subjects.domains, field, origin, subjects)
    for number, step in enumerate(route.steps):
        for name in step.to:
            yield from _recipient(written, name, ("routes", place, "steps", number, "to"), origin)


def _recipient(
    written: FileEntries, name: str, field: FieldPath, origin: Origin
) -> Iterator[DeclarationError]:
    destination = written.declared.destinations.get(name)
    if name == OWNERS:
        if not written.whole.get("owners"):
            yield origin.error(field, "no owner has a destination", "Add `owners`.")
    elif not written.has_destination(name):
        yield _unknown_destination(field, name, written, origin)
    elif destination is not None and PERSONAL in destination.url:
        message = f"{name} needs an owner's address"
        yield origin.error(field, message, f"Write `{OWNERS}` here, and {name} below `owners`.")


def _unknown_destination(
    field: FieldPath, name: str, written: FileEntries, origin: Origin
) -> DeclarationError:
    known = sorted(written.declared.destinations)
    hint = f"Known: {', '.join(known)}." if known else "Add it to `destinations`."
    return origin.error(field, f"unknown destination {name!r}", hint)


def _unknown(
    name: str,
    what: str,
    known: Collection[str],
    field: FieldPath,
    origin: Origin,
    subjects: Subjects,
) -> Iterator[DeclarationError]:
    """Yield an error for an owner or domain that nothing has, or that is written almost like a known one."""
    near = get_close_matches(name, known, 1, _ALMOST)
    if name not in known and (near or subjects.are_all):
        yield origin.error(
            field,
            f"no dataset or process has the {what} {name!r}",
            f"Did you mean {near[0]!r}?" if near else "Declare one, or remove this entry.",
        )


def _repeated_names(written: FileEntries, origin: Origin) -> Iterator[DeclarationError]:
    names: set[str] = set()
    for place, route in zip(written.places_of("routes"), written.routes, strict=True):
        if route.name in names:
            yield origin.error(("routes", place, "name"), f"another route is named {route.name!r}")
        names.add(route.name)


def _shadowed(written: FileEntries, origin: Origin) -> Iterator[DeclarationError]:
    for number, (place, route) in enumerate(zip(written.places_of("routes"), written.routes, strict=True)):
        earlier = next((each for each in written.routes[:number] if each.covers(route)), None)
        if earlier is not None:
            yield origin.error(
                ("routes", place),
                f"the route {route.name!r} never applies: {earlier.name!r} matches everything that it does",
                f"Move it before {earlier.name!r}, or remove it.",
            )


def _endless(written: FileEntries, origin: Origin) -> Iterator[DeclarationError]:
    held = endless(written.quiet)
    if not held:
        return
    worst = max(held)
    places = zip(written.places_of("quiet_hours"), written.quiet, strict=True)
    last = max(place for place, each in places if each.least > worst)
    yield origin.error(
        ("quiet_hours", last),
        f"these quiet hours together cover the whole week: no alert up to {worst} would ever be sent",
        "They are ignored for now. Shorten them, or lower `except_from`.",
    )
