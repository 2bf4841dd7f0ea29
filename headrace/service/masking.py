"""Mask fields the caller may not read; audit the sensitive ones that are shown.

Sensitive are: locations and free metadata of datasets with columns tagged `pii` or `sensitive`, values of those columns
(statistics, samples, values in checks), SQL text and code, failure messages of programs, and unmodelled facets. Callers
with `read-sensitive` for the domain see them. `sensitive_fields` classifies the fields.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Engine

from headrace.access.audit import note_reading
from headrace.access.callers import Caller, Permission
from headrace.catalog.naming import Name, key_of, own_namespace, place
from headrace.catalog.sql import statement
from headrace.database.connection import transaction
from headrace.database.ids import organisation, organisation_id
from headrace.service.sensitive_fields import COLUMN, FACET, OF_EVERY_FACET, Kind, may_hold_any, sort

MASK = "***"
_COUNTS = frozenset({"null_count", "nullCount"})  # attributes of a column that are not values of it


@dataclass(frozen=True, slots=True)
class _About:
    """The dataset and process, by key, that a part of a response describes; None if unknown."""

    dataset: str | None = None
    process: str | None = None


@dataclass(slots=True)
class _MaskPolicy:
    """The caller's permissions, and the sensitive fields shown so far."""

    caller: Caller
    columns: Mapping[str, frozenset[str]]
    shown: set[str] = field(default_factory=set)
    kinds: set[Kind] = field(default_factory=set)

    def shows(self, kind: Kind, about: _About) -> bool:
        """Return True if the caller may read sensitive fields of this dataset or process."""
        key = about.process if kind in (Kind.SOURCE, Kind.ERROR) else about.dataset
        key = key or about.dataset or about.process
        scope = self.caller.scope(Permission.READ_SENSITIVE)
        allowed = scope is not None and (scope.covers(key) if key else scope.domains is None)
        if allowed:
            self.shown.add(key or "*")
            self.kinds.add(kind)
        return allowed

    def hidden(self, about: _About) -> frozenset[str] | None:
        """Return the sensitive columns of the dataset; None for an unknown dataset, any column of which may be
        sensitive."""
        return None if about.dataset is None else self.columns.get(about.dataset)


def masked(engine: Engine, caller: Caller, document: Any, about: str | None = None) -> Any:  # noqa: ANN401 - JSON
    """Return a copy of the document (plain JSON values) as the caller may see it.

    about: the key of the dataset or process that it describes, unless the document names it.
    """
    if not _has_any(document):
        return document
    first = _About(about, about)
    datasets: set[str] = set()
    _look(document, first, datasets)
    policy = _MaskPolicy(caller, _sensitive_columns(engine, datasets))
    shown = _kept(document, first, policy)
    note_reading(engine, caller, sorted(policy.shown), sorted(policy.kinds))
    return shown


def _has_any(document: object) -> bool:
    """Return True if there is a sensitive field; checked first, since most responses are long lists without one."""
    ahead = [document]
    while ahead:
        value = ahead.pop()
        if isinstance(value, list):
            ahead += value
        elif isinstance(value, dict):
            for name, each in value.items():
                if may_hold_any(name) and (name in (FACET, "modelled") or (each and sort(name, value))):
                    return True
                if isinstance(each, dict | list):
                    ahead.append(each)
    return False


def _look(value: object, about: _About, datasets: set[str]) -> None:
    """Find the datasets that sensitive fields belong to."""
    if isinstance(value, list):
        for each in value:
            _look(each, about, datasets)
    elif isinstance(value, dict):
        about = _about(value, about)
        if about.dataset is not None and any(each and sort(name, value) for name, each in value.items()):
            datasets.add(about.dataset)
        for each in value.values():
            if isinstance(each, dict | list):
                _look(each, about, datasets)


def _kept(value: Any, about: _About, policy: _MaskPolicy) -> Any:  # noqa: ANN401 - JSON
    """Return the value without the parts that the caller may not see."""
    if isinstance(value, list):
        return [_kept(each, about, policy) for each in value]
    if not isinstance(value, dict):
        return value
    about = _about(value, about)
    kept = {}
    for name, each in value.items():
        kind = sort(name, value)
        if kind is None or not each:
            kept[name] = _kept(each, about, policy)
        else:
            kept[name] = _RULES[kind](each, value, about, policy)
    return kept


def _location(value: Any, _: Any, about: _About, policy: _MaskPolicy) -> Any:  # noqa: ANN401 - JSON
    if policy.hidden(about) == frozenset() or policy.shows(Kind.LOCATION, about):
        return value
    return MASK


def _metadata(value: Any, _: Any, about: _About, policy: _MaskPolicy) -> Any:  # noqa: ANN401 - JSON
    if policy.hidden(about) == frozenset():
        return _kept(value, about, policy)
    if policy.shows(Kind.METADATA, about):
        return value
    return dict.fromkeys(value, MASK) if isinstance(value, dict) else MASK


def _facet(value: Any, _: Any, about: _About, policy: _MaskPolicy) -> Any:  # noqa: ANN401 - JSON
    if policy.shows(Kind.FACET, about):
        return value
    return {name: each if name in OF_EVERY_FACET else MASK for name, each in value.items()}


def _statistics(value: Any, _: Any, about: _About, policy: _MaskPolicy) -> Any:  # noqa: ANN401 - JSON
    hidden = policy.hidden(about)
    if not isinstance(value, dict):
        return _sample(value, _, about, policy)
    return {
        column: each if hidden is not None and column not in hidden else _bounds(each, about, policy)
        for column, each in value.items()
    }


def _bounds(value: Any, about: _About, policy: _MaskPolicy) -> Any:  # noqa: ANN401 - JSON
    """Return the statistics of one sensitive column: counts, and the rest only with the permission."""
    if not isinstance(value, dict):
        return value if policy.shows(Kind.STATISTICS, about) else MASK
    if value.keys() <= _COUNTS or policy.shows(Kind.STATISTICS, about):
        return value
    return {name: each if name in _COUNTS else MASK for name, each in value.items()}


def _sample(value: Any, _: Any, about: _About, policy: _MaskPolicy) -> Any:  # noqa: ANN401 - JSON
    if policy.hidden(about) == frozenset() or policy.shows(Kind.SAMPLE, about):
        return value
    return MASK


def _check(value: Any, around: Mapping[str, Any], about: _About, policy: _MaskPolicy) -> Any:  # noqa: ANN401 - JSON
    hidden = policy.hidden(about)
    columns = {around[name] for name in COLUMN if isinstance(around.get(name), str)}
    known = hidden is not None and (columns.isdisjoint(hidden) if columns else not hidden)
    return value if known or policy.shows(Kind.CHECK, about) else MASK


def _source(value: Any, _: Any, about: _About, policy: _MaskPolicy) -> Any:  # noqa: ANN401 - JSON
    return value if policy.shows(Kind.SOURCE, about) else MASK


def _error(value: Any, _: Any, about: _About, policy: _MaskPolicy) -> Any:  # noqa: ANN401 - JSON
    return value if policy.shows(Kind.ERROR, about) else MASK


_Rule = Callable[[Any, Mapping[str, Any], _About, _MaskPolicy], Any]
_RULES: Mapping[Kind, _Rule] = {
    Kind.LOCATION: _location,
    Kind.METADATA: _metadata,
    Kind.STATISTICS: _statistics,
    Kind.SAMPLE: _sample,
    Kind.CHECK: _check,
    Kind.SOURCE: _source,
    Kind.ERROR: _error,
    Kind.FACET: _facet,
}


def _about(value: Mapping[str, Any], about: _About) -> _About:
    """Return what the object describes; what it does not name is inherited from the enclosing object."""
    version, job, run = value.get("version"), value.get("job"), value.get("run")
    if isinstance(key := value.get("key"), str):
        about = _About(key, key)
    if "canonical" in value:
        return about  # another name of the same dataset
    if isinstance(value.get("namespace"), str) and isinstance(value.get("name"), str):
        key = _key(value["namespace"], value["name"])
        about = _About(key, key)
    for name in ("dataset", "full_name", "target_key"):
        if isinstance(value.get(name), str):
            about = replace(about, dataset=value[name])
    if isinstance(version, dict) and isinstance(version.get("dataset"), str):
        about = replace(about, dataset=version["dataset"])
    if isinstance(job, dict) and isinstance(job.get("namespace"), str) and isinstance(job.get("name"), str):
        about = replace(about, process=_key(job["namespace"], job["name"]))
    if isinstance(run, dict) and isinstance(run.get("process_key"), str):
        about = replace(about, process=run["process_key"])
    if "cause_type" in value and isinstance(value.get("cause"), str):
        about = _About(value["cause"], value["cause"])
    for name in ("process", "process_key"):
        if isinstance(value.get(name), str):
            about = replace(about, process=value[name])
    return about


def _key(namespace: str, name: str) -> str:
    """Return the catalog's key for an OpenLineage name."""
    own = own_namespace(organisation())
    return key_of(place(Name(namespace, name), own).name, own)


def _sensitive_columns(engine: Engine, datasets: set[str]) -> dict[str, frozenset[str]]:
    """Return the columns tagged as sensitive in any schema, by known dataset."""
    if not datasets:
        return {}
    with transaction(engine) as cursor:
        rows = statement("sensitive_columns").execute(
            cursor, {"organisation": organisation_id(), "datasets": sorted(datasets)}
        )
        return {row["full_name"]: frozenset(row["columns"]) for row in rows}
