"""Extension points: a registry per protocol, filled by this platform and by the entry points of other packages.

A package offers an implementation in its own pyproject.toml, without changes here:

    [project.entry-points."headrace.checks"]
    iban = "acme_checks:Iban"
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class UnknownPlugin(Exception):
    """A name that neither the platform nor an installed package offers; the message lists the available ones."""


class Registry(Generic[T]):
    """The implementations of one protocol by name, each imported on first use.

    group: the entry-point group, as `headrace.checks`. builtin: `module:attribute` by name. An installed package cannot
    replace a built-in name.
    """

    def __init__(self, group: str, what: str, builtin: Mapping[str, str]) -> None:
        self.group = group
        self._what = what
        self._builtin = {name: EntryPoint(name, target, group) for name, target in builtin.items()}
        self._loaded: dict[str, Any] = {}
        self._offered: dict[str, EntryPoint] | None = None

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted(self._found())

    def __contains__(self, name: object) -> bool:
        return name in self._found()

    def require(self, name: str) -> None:
        """Raise UnknownPlugin for an unknown name, without importing anything."""
        found = self._found()
        if name not in found:
            near = get_close_matches(name, found, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise UnknownPlugin(
                f"there is no {self._what} {name!r}. {hint}Installed: {', '.join(sorted(found)) or 'none'}. "
                f"A package can add one with an entry point of the group {self.group}."
            )

    def get(self, name: str) -> T:
        """Return the implementation: the entry point's object, called without arguments. Raises UnknownPlugin."""
        if name not in self._loaded:
            self.require(name)
            self._loaded[name] = self._found()[name].load()()
        return self._loaded[name]  # type: ignore[no-any-return]  # by the protocol that the group is for

    def reload(self) -> None:
        """Look for installed packages again."""
        self._offered = None
        self._loaded.clear()

    def _found(self) -> dict[str, EntryPoint]:
        if self._offered is None:  # scanning all installed packages takes some milliseconds
            self._offered = {**{each.name: each for each in entry_points(group=self.group)}, **self._builtin}
        return self._offered
