"""Mask rows: dataclasses and models whose field types say what is sensitive."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy import Engine

from headrace.access.audit import note_reading
from headrace.access.callers import Caller
from headrace.access.sensitivity import PublicField, Sensitive, SensitiveIf
from headrace.catalog.masking.foreign import masked_facet, masked_json
from headrace.catalog.masking.policy import CallerPolicy, Policy, Subject, Survey, masked, unless_changed
from headrace.catalog.sensitivity import hidden_columns, hidden_columns_of

_T = TypeVar("_T")
_PLAIN = (UUID, bool, int, float, date, timedelta, Enum, type(None))  # cannot hold text


def visible(engine: Engine, caller: Caller, value: _T, about: str | None = None) -> _T:
    """Return a row, or rows, as the caller may see them; the argument is not changed.

    What they see of sensitive fields is recorded in the audit trail. about: the key of the dataset or process that the
    value is about, unless the value itself names one.
    """
    first = Subject(about, about)
    survey = Survey()
    _masked(value, first, survey)
    if not survey.found:
        return value
    policy = CallerPolicy(
        caller, hidden_columns(engine, survey.datasets), hidden_columns_of(engine, survey.versions)
    )
    shown: _T = _masked(value, first, policy)
    note_reading(engine, caller, sorted(policy.shown), sorted(policy.kinds))
    return shown


def undeclared_fields(row: type) -> list[str]:
    """Return the fields of a row class whose types do not say what they hold; these are hidden from most callers."""
    return [each.name for each in _row_type(row).fields if each.kind is Sensitive.UNDECLARED]


def _masked(value: Any, about: Subject, policy: Policy) -> Any:  # noqa: ANN401 - any row
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return unless_changed(value, type(value)([_masked(each, about, policy) for each in value]))
    if isinstance(value, Mapping):
        return unless_changed(value, {name: _masked(each, about, policy) for name, each in value.items()})
    if not _is_row(type(value)):
        raise TypeError(f"{type(value).__name__} is not a row: its sensitive fields are unknown")
    row = _row_type(type(value))
    if not row.fields:
        return value
    about = _subject(row, value, about)
    columns = [column for each in row.columns if isinstance(column := getattr(value, each.name), str)]
    changed = {}
    for each in row.fields:
        part = getattr(value, each.name)
        kind = each.kind_in(value)
        if each.shown is PublicField.FACET_CONTENT:
            after: object = masked_facet(value.name if value.modelled else None, part, about, policy)
        elif each.shown is PublicField.MODELLED_FACETS:
            facets = {name: masked_facet(name, content, about, policy) for name, content in part.items()}
            after = unless_changed(part, facets)
        elif each.shown is PublicField.FOREIGN_JSON:
            after = masked_json(part, about, policy)
        elif each.kind is None:
            after = _masked(part, about, policy)
        elif kind is None:
            after = part
        else:
            after = masked(kind, part, columns, about, policy)
            if kind is Sensitive.METADATA and after is part:
                after = masked_json(part, about, policy)
        if after is not part:
            changed[each.name] = after
    return _replaced(value, changed) if changed else value


@dataclass(frozen=True, slots=True)
class _Field:
    """How a field is treated. kind: None where it is public, or rows to look into."""

    name: str
    kind: Sensitive | None = None
    condition: Callable[[Any], bool] | None = None
    shown: PublicField | None = None

    def kind_in(self, row: object) -> Sensitive | None:
        """Return the kind of the field in this row; None where it is not sensitive there."""
        return self.kind if self.condition is None or self.condition(row) else None


@dataclass(frozen=True, slots=True)
class _RowType:
    """Fields to check in rows of a class. fields: sensitive ones, and those with rows that have such."""

    fields: tuple[_Field, ...]
    subjects: tuple[_Field, ...]
    columns: tuple[_Field, ...]


_IS_SUBJECT = {
    PublicField.DATASET,
    PublicField.PROCESS,
    PublicField.SUBJECT,
    PublicField.VERSION,
    PublicField.NESTED,
}


_ROW_TYPES: dict[type, _RowType] = {}


def _row_type(row: type) -> _RowType:
    known = _ROW_TYPES.get(row)
    return known if known is not None else _ROW_TYPES.setdefault(row, _read_row_type(row))


def _read_row_type(row: type) -> _RowType:
    hints = get_type_hints(row, include_extras=True)
    fields = [_field(row, name, hints[name]) for name in _names(row)]
    return _RowType(
        fields=tuple(each for each, nested in fields if each.kind is not None or nested),
        subjects=tuple(each for each, _ in fields if each.shown in _IS_SUBJECT),
        columns=tuple(each for each, _ in fields if each.shown is PublicField.COLUMN),
    )


def _field(row: type, name: str, hint: object) -> tuple[_Field, bool]:
    """Return the field, and True if its rows are to be looked into."""
    markers = list(_markers(hint))
    shown = next((marker for marker in markers if isinstance(marker, PublicField)), None)
    parts = list(_parts(hint))
    nested = any(_has_fields(part, row) for part in parts)
    for marker in markers:
        if isinstance(marker, SensitiveIf):
            return _Field(name, marker.kind, marker.condition, shown), False
        if isinstance(marker, Sensitive):
            return _Field(name, marker, None, shown), False
    if shown in (PublicField.FOREIGN_JSON, PublicField.FACET_CONTENT, PublicField.MODELLED_FACETS):
        return _Field(name, shown=shown), True
    if shown in (None, PublicField.NESTED) and not all(map(_is_declared, parts)):
        return _Field(name, Sensitive.UNDECLARED, None, shown), False
    return _Field(name, shown=shown), nested


def _markers(hint: object) -> Iterator[object]:
    if get_origin(hint) is Annotated:
        yield from get_args(hint)[1:]
        yield from _markers(get_args(hint)[0])
    else:
        for each in get_args(hint):
            yield from _markers(each)


def _parts(hint: object) -> Iterator[Any]:
    """Yield the types within containers, unions and annotations."""
    arguments = get_args(hint)
    if get_origin(hint) is Annotated:
        yield from _parts(arguments[0])
    elif _is_row(get_origin(hint)) or not arguments:
        yield get_origin(hint) or hint
    else:
        for each in arguments:
            if each is not Ellipsis:
                yield from _parts(each)


def _has_fields(part: object, outer: type) -> bool:
    """Return True for a class of rows with fields to look at, and a type variable, which may stand for one."""
    if isinstance(part, TypeVar):
        return True
    return isinstance(part, type) and part is not outer and _is_row(part) and bool(_row_type(part).fields)


def _is_declared(part: object) -> bool:
    return isinstance(part, TypeVar) or _is_row(part) or (isinstance(part, type) and issubclass(part, _PLAIN))


def _is_row(part: object) -> bool:
    return isinstance(part, type) and (dataclasses.is_dataclass(part) or issubclass(part, BaseModel))


def _names(row: Any) -> list[str]:  # noqa: ANN401 - a class
    if issubclass(row, BaseModel):
        return list(row.model_fields)
    return [each.name for each in dataclasses.fields(row)]


def _replaced(value: Any, changed: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any row
    if isinstance(value, BaseModel):
        return value.model_copy(update=changed)
    return dataclasses.replace(value, **changed)


def _subject(row: _RowType, value: object, about: Subject) -> Subject:
    """Return what a row is about: what it names, or else what the row around it is about."""
    dataset, process, version = about.dataset, about.process, about.version
    for each in row.subjects:
        named = getattr(value, each.name)
        if each.shown is PublicField.NESTED:
            if named is not None:
                inner = _subject(_row_type(type(named)), named, Subject(dataset, process, version))
                dataset, process, version = inner.dataset, inner.process, inner.version
        elif each.shown is PublicField.VERSION:
            version = named
        elif named is not None:
            dataset = named if each.shown is not PublicField.PROCESS else dataset
            process = named if each.shown is not PublicField.DATASET else process
    if dataset != about.dataset and version == about.version:
        version = None  # of the other dataset
    return Subject(dataset, process, version)
