"""Read contracts of the Open Data Contract Standard, with the fields that a declaration cannot hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from headrace.catalog.records import Check, Column
from headrace.catalog.schema import is_sensitive_tag
from headrace.contracts.columns import LOGICAL_TYPES, checks_of_options, column_type
from headrace.contracts.declared import check_of
from headrace.contracts.document import RETIRED, contract, schema_object
from headrace.contracts.rules import VENDOR, check_of_rule
from headrace.contracts.terms import Terms, explicit
from headrace.dagster_internals import is_valid_owner
from headrace.declarations.declaration import Sla
from headrace.execution.problems import DeclarationError
from headrace.sources.documents import Document, NoDocument, documents
from headrace.sources.origin import FieldPath, Origin
from headrace.sources.validation import declaration_errors

_NO_DOMAIN = "imported"
_UNKNOWN = "string"  # the type of a column whose type only another system knows
_CONFIDENTIAL = re.compile(r"confidential|restricted|secret|sensitive|pii", re.IGNORECASE)
_TAG = re.compile(r"[\w.-]{1,63}(:[\w.-]{0,63})?")
_SECONDS = {"d": 86_400, "day": 86_400, "h": 3_600, "hour": 3_600, "m": 60, "minute": 60, "s": 1, "second": 1}
# Fields of a document that are about the document itself, or that a reader does not have to keep.
_OF_THE_DOCUMENT = {"apiVersion", "kind", "id", "version"}
_NAMED_BY = ("name", "property", "server", "username", "metric", "id")  # what identifies an item of a list


@dataclass(frozen=True, slots=True)
class Lost:
    """A field of a contract that a declaration cannot hold as it is. kept: what became of its value; None: nothing."""

    path: str
    line: int
    value: object
    kept: object = None


@dataclass(frozen=True, slots=True)
class Contract:
    """A contract as read: the terms of its datasets, its version, and what its terms leave out.

    is_exported: False for one that another tool wrote, or that states only what the standard has fields for.
    """

    file: Path
    version: str
    is_exported: bool
    terms: tuple[Terms, ...]
    lost: tuple[Lost, ...]


class _Rest(BaseModel):
    """The custom property with what the standard has no field for (`document.contract`)."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["Dataset", "ExternalDataset"] = "Dataset"
    format: str = "parquet"
    renamed_from: str | None = None
    place: dict[str, Any] = {}
    partitions: dict[str, Any] = {}
    sla: dict[str, Any] = {}
    keep: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


def read_contract(file: Path) -> Contract:
    """Read a contract. Raises DeclarationError, with the line and field of the first mistake."""
    document = _document(file)
    origin = Origin(file, file.parent, document.line_of, document.text_at)
    _check(document.value, origin)
    rest = _own(document.value, origin)
    terms = tuple(
        _terms(document.value, index, rest, origin) for index in range(len(document.value["schema"]))
    )
    lost = tuple(_lost(document, terms))
    return Contract(file, str(document.value["version"]), bool(rest), terms, lost)


def _document(file: Path) -> Document:
    found = list(documents(file))
    for each in found:
        if isinstance(each, NoDocument):
            raise each.problem
    if len(found) != 1 or not isinstance(found[0], Document):
        raise DeclarationError(file, 1, None, f"a contract is one YAML document, and this has {len(found)}")
    return found[0]


def _check(written: Any, origin: Origin) -> None:  # noqa: ANN401 - YAML
    from open_data_contract_standard.model import OpenDataContractStandard

    if not isinstance(written, Mapping) or written.get("kind") != "DataContract":
        raise origin.error(("kind",), "this is not a data contract", "Its `kind` has to be DataContract.")
    if not str(written.get("apiVersion", "")).startswith("v3."):
        message = f"version {written.get('apiVersion')} of the standard is not supported"
        raise origin.error(("apiVersion",), message, "Write the contract in a version 3, such as v3.1.0.")
    try:
        OpenDataContractStandard.model_validate(written)
    except ValidationError as error:
        raise declaration_errors(error, OpenDataContractStandard, written, origin)[0] from error
    for name in ("version", "schema"):
        if not written.get(name):
            raise origin.error((name,), "required field is missing", "Add it; a contract is about data.")
    for index, each in enumerate(written["schema"]):
        if not each.get("name"):
            raise origin.error(("schema", index, "name"), "required field is missing", "Name the dataset.")


def _terms(written: Mapping[str, Any], index: int, rest: Mapping[str, Any], origin: Origin) -> Terms:
    described = written["schema"][index]
    is_external = rest.get("type", "ExternalDataset") == "ExternalDataset"
    columns = tuple(_columns(described.get("properties") or (), ("schema", index, "properties"), origin))
    checks = tuple(_checks(described, columns))
    if is_external:  # whose declaration has checks of columns only
        checks = tuple(check for check in checks if check.column is not None)
    server: Mapping[str, Any] = next(iter(written.get("servers") or ()), {})
    place = rest.get("place") or ({} if rest else _place(server))
    return Terms(
        key=f"{_word(written.get('domain') or _NO_DOMAIN)}/{_word(described['name'])}",
        format=rest.get("format") or server.get("format") or "parquet",
        is_external=is_external,
        description=described.get("description") or (written.get("description") or {}).get("purpose"),
        owners=tuple(_owners(written.get("team"))),
        tags=_tags(written),
        columns=columns,
        checks=explicit(columns, checks),
        sla=_sla(written, rest, origin),
        partitions=rest.get("partitions", {}),
        place=place,
        keep={**_retention(written), **rest.get("keep", {})} if not is_external else {},
        metadata=rest.get("metadata", {}),
        renamed_from=rest.get("renamed_from"),
    )


def _own(written: Mapping[str, Any], origin: Origin) -> Mapping[str, Any]:
    """Return what an exported contract has beyond the standard."""
    for index, each in enumerate(written.get("customProperties") or ()):
        if each.get("property") == VENDOR:
            path = ("customProperties", index, "value")
            try:
                return _Rest.model_validate(each.get("value")).model_dump(exclude_unset=True)
            except ValidationError as error:
                raise declaration_errors(error, _Rest, each.get("value"), origin.part(*path))[0] from error
    return {}


def _word(text: str) -> str:
    word = re.sub(r"\W+", "_", str(text), flags=re.ASCII).strip("_") or "_"
    return f"_{word}" if word[0].isdigit() else word


def _columns(
    written: Sequence[Mapping[str, Any]], path: tuple[str | int, ...], origin: Origin
) -> Iterator[Column]:
    for index, each in enumerate(written):
        if not each.get("name"):
            raise origin.error((*path, index, "name"), "required field is missing", "Name the column.")
        type_ = column_type(each)
        if type_ is None and each.get("logicalType") not in (None, *LOGICAL_TYPES):
            raise origin.error(
                (*path, index, "logicalType"),
                f"{each['logicalType']!r} is not a logical type",
                f"Use one of {', '.join(LOGICAL_TYPES)}.",
            )
        tags = [str(tag) for tag in each.get("tags") or ()]
        is_confidential = _CONFIDENTIAL.search(str(each.get("classification") or ""))
        if is_confidential and not any(map(is_sensitive_tag, tags)):
            tags.append("sensitive")
        required = bool(each.get("required") or each.get("primaryKey"))
        yield Column(str(each["name"]), type_ or _UNKNOWN, not required, each.get("description"), tuple(tags))


def _checks(described: Mapping[str, Any], columns: Sequence[Column]) -> Iterator[Check]:
    found: list[Check] = []
    for each, column in zip(described.get("properties") or (), columns, strict=True):
        found += checks_of_options(each.get("logicalTypeOptions") or {}, column.type, column.name)
        if each.get("unique"):
            found.append(check_of({"unique": True}, column.name))
        found += filter(None, (check_of_rule(rule, column.name) for rule in each.get("quality") or ()))
    found += filter(None, (check_of_rule(rule, None) for rule in described.get("quality") or ()))
    keys = sorted(
        (each.get("primaryKeyPosition") or 0, str(each["name"]))
        for each in described.get("properties") or ()
        if each.get("primaryKey")
    )
    # A consumer may have removed a column of the key; the others alone are not one.
    is_whole = all(place in (index, 0, -1) for index, (place, _) in enumerate(keys, 1))
    key = [name for _, name in keys] if is_whole else []
    known = [sorted(check.parameters["columns"]) for check in found if check.kind == "unique"]
    if key and sorted(key) not in known:
        found.append(check_of({"unique": True}, key[0]) if len(key) == 1 else check_of({"unique": key}, None))
    yield from {check.name: check for check in reversed(found)}.values()  # names occur once in a declaration


def _owners(team: Any) -> Iterator[str]:  # noqa: ANN401 - a list, or in 3.1 an object
    members = (team.get("members") if isinstance(team, Mapping) else team) or ()
    for each in members:
        name = str(each.get("username") or "")
        if str(each.get("role", "")).lower().endswith("owner") and is_valid_owner(name):
            yield name


def _tags(written: Mapping[str, Any]) -> dict[str, str]:
    tags = [str(tag) for tag in written.get("tags") or () if _TAG.fullmatch(str(tag))]
    found = {tag.partition(":")[0]: tag.partition(":")[2] for tag in tags}
    return found | ({"migration": RETIRED} if written.get("status") == RETIRED else {})


def _sla(written: Mapping[str, Any], rest: Mapping[str, Any], origin: Origin) -> dict[str, Any]:
    from headrace.declarations.automation import sla_record

    declared: dict[str, Any] = dict(rest.get("sla", {}))
    for each in written.get("slaProperties") or ():
        seconds = _seconds(each)
        if each.get("property") in ("latency", "ly") and seconds is not None:
            declared.setdefault("max_age", f"{seconds}s")
        elif each.get("property") == "timeOfAvailability" and each.get("scheduler") == "cron":
            declared |= {"deadline": each.get("schedule"), "timezone": each.get("valueExt") or "UTC"}
    if not declared:
        return {}
    try:
        return dict(sla_record(Sla.model_validate(declared)) or {})
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise origin.error(("slaProperties",), reason, "Correct the SLA.") from error


def _seconds(each: Mapping[str, Any]) -> int | None:
    unit = _SECONDS.get(str(each.get("unit") or "d").lower().rstrip("s") or "s")
    try:
        return int(float(str(each.get("value"))) * unit) if unit else None
    except ValueError:
        return None


def _retention(written: Mapping[str, Any]) -> dict[str, int]:
    for each in written.get("slaProperties") or ():
        seconds = _seconds(each)
        if each.get("property") == "retention" and seconds is not None and seconds % 86_400 == 0:
            return {"days": seconds // 86_400}
    return {}


def _place(server: Mapping[str, Any]) -> dict[str, Any]:
    if server.get("type") == "s3" and server.get("location"):
        return {"location": str(server["location"]).replace("s3://", "s3a://", 1)}
    if server.get("type") == "local" and server.get("path"):
        return {"location": server["path"]}
    return {}


def _lost(document: Document, terms: Sequence[Terms]) -> Iterator[Lost]:
    """Yield what is not in the contract that the terms amount to: so that no field of any contract is lost silently."""
    again = {**contract(terms[0]), "schema": [schema_object(each) for each in terms]}
    written = {name: value for name, value in document.value.items() if name not in _OF_THE_DOCUMENT}
    for path, name, value, kept in _differences(written, again, (), ""):
        yield Lost(name, document.line_of(path), value, kept)


def _differences(
    written: Any,  # noqa: ANN401 - YAML
    again: Any,  # noqa: ANN401
    path: FieldPath,
    name: str,
) -> Iterator[tuple[FieldPath, str, object, object]]:
    if written == again or written in (
        None,
        False,
        -1,
        "",
        [],
        {},
    ):  # as good as absent, as is the position -1
        return
    if isinstance(written, Mapping) and isinstance(again, Mapping):
        for key, value in written.items():
            inner = f"{name}.{key}" if name else str(key)
            yield from _differences(value, again.get(key), (*path, key), inner)
    elif isinstance(written, list) and isinstance(again, list):
        for index, value in enumerate(written):
            key = _key(value)
            same = next((each for each in again if _is_same(value, each, key)), None)
            if path == ("schema",):  # whose names may have become other ones
                same = again[index]
            label = index if key is None else value[key]
            yield from _differences(value, same, (*path, index), f"{name}[{label}]")
    else:
        yield path, name, written, again


def _key(item: Any) -> str | None:  # noqa: ANN401 - YAML
    """Return the field that identifies an item of a list."""
    return next((each for each in _NAMED_BY if item.get(each)), None) if isinstance(item, Mapping) else None


def _is_same(item: Any, other: Any, key: str | None) -> bool:  # noqa: ANN401 - YAML
    return bool(item == other if key is None else other.get(key) == item[key])
