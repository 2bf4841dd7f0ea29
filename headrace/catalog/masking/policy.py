"""Decide whether a caller sees a sensitive field, and what is shown instead of it."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from headrace.access.callers import Caller, Permission
from headrace.access.sensitivity import MASK, Sensitive

_COUNTS = frozenset({"null_count", "nullCount"})  # statistics that are no values of the column


@dataclass(frozen=True, slots=True)
class Subject:
    """The dataset and the process that a value is about, by key; None: unknown. version: of the dataset, if of one."""

    dataset: str | None = None
    process: str | None = None
    version: UUID | None = None


class Policy(Protocol):
    """Context of the masking rules."""

    def allows(self, kind: Sensitive, about: Subject) -> bool:
        """Return True if the caller may see fields of this kind about the subject."""

    def sensitive_columns(self, about: Subject) -> frozenset[str] | None:
        """Return the sensitive columns of the version or dataset; None if it is unknown, so that any may be."""


@dataclass(slots=True)
class Survey:
    """Finds out which datasets and versions sensitive fields are about, before any is masked. found: there is such a
    field."""

    datasets: set[str] = field(default_factory=set)
    versions: set[UUID] = field(default_factory=set)
    found: bool = False

    def allows(self, kind: Sensitive, about: Subject) -> bool:
        """Note that there is a sensitive field."""
        self.found = True
        return True

    def sensitive_columns(self, about: Subject) -> frozenset[str] | None:
        """Note the version or dataset."""
        self.found = True
        if about.version is not None:
            self.versions.add(about.version)
        elif about.dataset is not None:
            self.datasets.add(about.dataset)
        return None


@dataclass(slots=True)
class CallerPolicy:
    """Decides by the caller's permissions and the sensitive columns of datasets and versions; shown and kinds are what
    of the sensitive fields the caller has seen."""

    caller: Caller
    columns: Mapping[str, frozenset[str]]
    columns_of_versions: Mapping[UUID, frozenset[str]]
    shown: set[str] = field(default_factory=set)
    kinds: set[Sensitive] = field(default_factory=set)

    def allows(self, kind: Sensitive, about: Subject) -> bool:
        """Return True if the caller has `read-sensitive` for what the field is about."""
        key = about.process if kind in (Sensitive.SOURCE, Sensitive.ERROR) else about.dataset
        key = key or about.dataset or about.process
        scope = self.caller.scope(Permission.READ_SENSITIVE)
        allowed = scope is not None and (scope.covers(key) if key else scope.domains is None)
        if allowed:
            self.shown.add(key or "*")
            self.kinds.add(kind)
        return allowed

    def sensitive_columns(self, about: Subject) -> frozenset[str] | None:
        """Return the sensitive columns of the version or dataset; None if it is unknown."""
        if about.version is not None:
            return self.columns_of_versions.get(about.version)
        return None if about.dataset is None else self.columns.get(about.dataset)


def masked(kind: Sensitive, value: Any, columns: Collection[str], about: Subject, policy: Policy) -> Any:  # noqa: ANN401 - JSON
    """Return a sensitive value as the caller may see it. columns: those that the field is about, if it names any."""
    if not value:
        return value
    if kind in (Sensitive.STATISTICS, Sensitive.VALUES) and isinstance(value, Mapping):
        return _by_column(kind, value, about, policy)
    if kind in (
        Sensitive.LOCATION,
        Sensitive.METADATA,
        Sensitive.SAMPLE,
        Sensitive.STATISTICS,
        Sensitive.VALUES,
        Sensitive.CHECK,
    ):
        sensitive = policy.sensitive_columns(about)
        concerned = kind is Sensitive.CHECK and bool(columns)
        if sensitive is not None and (sensitive.isdisjoint(columns) if concerned else not sensitive):
            return value
    return value if policy.allows(kind, about) else _mask(value)


def unless_changed(before: Any, after: Any) -> Any:  # noqa: ANN401 - a list or a mapping
    """Return the list or mapping `before` itself if all its parts are also those of `after`, so that none is copied."""
    if isinstance(before, Mapping):
        return before if all(after[name] is each for name, each in before.items()) else after
    return before if all(map(operator.is_, before, after)) else after


def _mask(value: object) -> object:
    return dict.fromkeys(value, MASK) if isinstance(value, Mapping) else MASK


def _by_column(kind: Sensitive, value: Mapping[str, Any], about: Subject, policy: Policy) -> dict[str, Any]:
    sensitive = policy.sensitive_columns(about)
    return {
        column: each
        if sensitive is not None and column not in sensitive
        else _of_sensitive_column(kind, each, about, policy)
        for column, each in value.items()
    }


def _of_sensitive_column(kind: Sensitive, value: Any, about: Subject, policy: Policy) -> Any:  # noqa: ANN401 - JSON
    """Return what is known of a sensitive column: counts of nulls, and the rest for those who may see it."""
    if isinstance(value, Mapping) and value.keys() <= _COUNTS:
        return value
    if policy.allows(kind, about):
        return value
    if not isinstance(value, Mapping):
        return MASK
    return {name: each if name in _COUNTS else MASK for name, each in value.items()}
