"""Changes of stewards in OpenMetadata: the entities that they changed, and the proposed changes of declarations."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb
from headrace.openmetadata.client import Client, Json, RequestRefused, by_name
from headrace.openmetadata.merging import Difference
from headrace.openmetadata.names import fqn
from headrace.openmetadata.references import GLOSSARY, PII, declared_tag
from headrace.openmetadata.sql import statement
from headrace.openmetadata.state import milliseconds

SIGNATURE = "X-OM-Signature"
_READ = "table,pipeline"
SETTLING_MILLISECONDS = 10_000  # milliseconds after which an event is no longer followed by an older one
_STORE_EVENT = """
INSERT INTO catalog.openmetadata_event (organisation_id, event_id, entity_type, fqn, changed_by, changed_at)
VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT DO NOTHING
"""
_RESULT = "check:"  # of the field of an incident: and the name of the check


class UnreadableEvent(Exception):
    """A change event that does not have the fields of one."""


class ChangeEvent(BaseModel):
    """The fields of OpenMetadata's change events that are read; they say what to read, not what it became."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")

    id: UUID
    entity_type: str = Field(max_length=100)
    entity_fully_qualified_name: str | None = Field(default=None, max_length=3072)
    user_name: str | None = Field(default=None, max_length=256)
    timestamp: int = Field(ge=0, lt=2**47)  # milliseconds until the year 6429


@dataclass(frozen=True, slots=True)
class Touch:
    """Who changed an entity there last, and when."""

    by: str | None
    at: datetime


def is_signed(secret: str, body: bytes, signature: str | None) -> bool:
    """Return True if the signature of a webhook's body was made with the secret."""
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(
        (signature or "").removeprefix("sha256=").strip().lower().encode(), expected.encode()
    )


def store_event(engine: Engine, event: ChangeEvent) -> None:
    """Store an event that the webhook delivered, once; the next synchronisation reads the entity."""
    at = datetime.fromtimestamp(event.timestamp / 1000, UTC)
    with transaction(engine) as cursor:
        cursor.execute(
            _STORE_EVENT,
            [
                current_context().organisation_id, event.id, event.entity_type,
                event.entity_fully_qualified_name or "", event.user_name, at,
            ],
        )  # fmt: skip


def touched(
    engine: Engine, client: Client, organisation: UUID, bot: str, since: int, now: datetime
) -> tuple[dict[str, Touch], int, list[UUID]]:
    """Return what others changed, by FQN; where to poll next; and the webhook's events among them.

    Only that something changed is taken from events: several may have been consolidated to one, or to none.
    Raises RequestRefused if the bot may not read events, and UnreadableEvent.
    """
    found: dict[str, Touch] = {}
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT event_id, fqn, changed_by, changed_at FROM catalog.openmetadata_event "
            "WHERE organisation_id = %s ORDER BY changed_at",
            [organisation],
        ).fetchall()
    for row in rows:
        if row["changed_by"] != bot:
            found[row["fqn"]] = Touch(row["changed_by"], row["changed_at"])
    newest = since
    answer = client.get("events", entityUpdated=_READ, entityDeleted=_READ, timestamp=str(since))
    for document in answer.get("data") or ():
        try:
            event = ChangeEvent.model_validate(document)
        except ValidationError as error:
            raise UnreadableEvent from error
        newest = max(newest, event.timestamp + 1)
        if event.user_name != bot and event.entity_fully_qualified_name:
            at = datetime.fromtimestamp(event.timestamp / 1000, UTC)
            found[event.entity_fully_qualified_name] = Touch(event.user_name, at)
    following = max(since, min(newest, milliseconds(now) - SETTLING_MILLISECONDS))
    return found, following, [row["event_id"] for row in rows]


def forget_events(engine: Engine, events: Sequence[UUID]) -> None:
    """Delete events of the webhook whose entities were read."""
    if events:
        with transaction(engine) as cursor:
            cursor.execute("DELETE FROM catalog.openmetadata_event WHERE event_id = ANY (%s)", [list(events)])


def record(
    engine: Engine,
    client: Client,
    row: Mapping[str, Any],
    current: Json,
    differences: Iterable[Difference],
    touch: Touch,
) -> int:
    """Store what others wrote to a dataset in place of what was stored of it; returns the number of changes.

    A value that was overwritten is kept until the declaration adopts it; one that stays there, while it differs.
    """
    found: dict[tuple[str, str], tuple[Any, Any, str]] = {}
    for each in differences:
        name, value, declared = _declared(client, row, current, each)
        if value != declared:
            found[name, each.column] = (value, declared, "KEPT" if each.is_kept else "OVERWRITTEN")
    with transaction(engine) as cursor:
        _forget(cursor, row, found.keys())
        for (name, column), (value, declared, outcome) in found.items():
            statement("store_change").execute(
                cursor,
                {
                    "organisation": current_context().organisation_id, "dataset_id": row["dataset_id"], "field": name,
                    "column_name": column, "value": jsonb(value), "declared": jsonb(declared), "outcome": outcome,
                    "changed_by": touch.by, "changed_at": touch.at,
                },
            )  # fmt: skip
    return len(found)


def record_incidents(
    engine: Engine, client: Client, bot: str, cases: Mapping[str, tuple[str, str]], since: int
) -> tuple[int, int]:
    """Store the resolutions of incidents of our test cases since a time; returns their number, and where to go on.

    cases: dataset_id and check, by the FQN of the test case.
    """
    answer = client.get(
        "dataQuality/testCases/testCaseIncidentStatus", startTs=str(since), endTs=str(2**43), limit="1000"
    )
    count, newest = 0, since
    for each in sorted(answer.get("data") or (), key=lambda status: status.get("timestamp", 0)):
        newest = max(newest, each.get("timestamp", 0) + 1)
        case = cases.get((each.get("testCaseReference") or {}).get("fullyQualifiedName", ""))
        by = (each.get("updatedBy") or {}).get("name")
        if case is None or by == bot or each.get("testCaseResolutionStatusType") != "Resolved":
            continue
        details = each.get("testCaseResolutionStatusDetails") or {}
        value = {
            "incident": "resolved",
            "reason": details.get("testCaseFailureReason"),
            "comment": details.get("testCaseFailureComment"),
        }
        with transaction(engine) as cursor:
            statement("store_change").execute(
                cursor,
                {
                    "organisation": current_context().organisation_id, "dataset_id": case[0],
                    "field": f"{_RESULT}{case[1]}", "column_name": "", "value": jsonb(value), "declared": jsonb(None),
                    "outcome": "KEPT", "changed_by": by,
                    "changed_at": datetime.fromtimestamp(each["timestamp"] / 1000, UTC),
                },
            )  # fmt: skip
        count += 1
    return count, newest


def _forget(cursor: Cursor[Any], row: Mapping[str, Any], but: Iterable[tuple[str, str]]) -> None:
    """Delete the changes of a dataset that are none any more."""
    kept = set(but)
    stored = cursor.execute(
        "SELECT field, column_name, value, outcome FROM catalog.openmetadata_change WHERE dataset_id = %s",
        [row["dataset_id"]],
    ).fetchall()
    for each in stored:
        at = (each["field"], each["column_name"])
        if at in kept or each["field"].startswith(_RESULT):
            continue
        if each["outcome"] == "KEPT" or each["value"] == _stated(row, *at):
            cursor.execute(
                "DELETE FROM catalog.openmetadata_change WHERE dataset_id = %s AND field = %s AND column_name = %s",
                [row["dataset_id"], *at],
            )


def _declared(
    client: Client, row: Mapping[str, Any], current: Json, difference: Difference
) -> tuple[str, Any, Any]:
    """Return the field, their value and the declared one, in the words of a declaration."""
    match difference.field:
        case "owners":
            theirs = [_owner(client, each) for each in current.get("owners") or ()]
            return "owners", theirs, _stated(row, "owners", "")
        case "tags" if difference.column:
            names = [_column_tag(each) for each in difference.theirs]
            return "tags", sorted(names), sorted(_stated(row, "tags", difference.column) or ())
        case "tags":
            sources = {each["tagFQN"]: each.get("source") for each in current.get("tags") or ()}
            stated = _stated(row, "tags", "") or {}
            tags = dict(
                (GLOSSARY, each) if sources.get(each) == "Glossary" else declared_tag(each)
                for each in difference.theirs
            )
            silent = {
                key: value for key, value in stated.items() if key not in tags and key == "data_product"
            }
            return "tags", {**silent, **tags}, stated
        case "entityStatus":
            return "status", "DEPRECATED" if difference.theirs == "Deprecated" else "ACTIVE", row["status"]
        case "domains" | "dataProducts":
            return difference.field, difference.theirs, difference.declared
        case name:
            return name, difference.theirs, _stated(row, name, difference.column)


def _stated(row: Mapping[str, Any], field: str, column: str) -> Any:  # noqa: ANN401 - JSON
    """Return what the declaration says of a field."""
    if column:
        return next((each.get(field) for each in row["declared"] if each["name"] == column), None)
    value = row.get(field)
    return list(value) if isinstance(value, tuple | list) else value


def _owner(client: Client, reference: Json) -> str:
    name = reference.get("name") or reference["id"]
    if reference.get("type") == "team":
        return f"team:{name}"
    try:
        found = client.find(by_name("users", fqn(name)))
    except RequestRefused:
        found = None
    return str((found.entity.get("email") if found else None) or name)


def _column_tag(label: str) -> str:
    if label == PII:
        return "pii"
    key, value = declared_tag(label)
    return f"{key}={value}" if value else key
