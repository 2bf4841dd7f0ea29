"""Routes for alerts: list, show, acknowledge, hand over, resolve."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.access.sensitivity import Public, Sensitive, SensitiveIf, SubjectKey
from headrace.alerts.affected import affected
from headrace.alerts.outbox import acknowledge, hand_over, resolve
from headrace.alerts.queries import History, alerts, history
from headrace.alerts.records import AcknowledgementAction, Alert, AlertState, NotificationState, Purpose
from headrace.alerts.wording import AffectedSubjects, sentence
from headrace.api.links import Links, links_to
from headrace.api.paging import Cursor, Limit, Page, cursor_of, place_of
from headrace.api.responses import shown
from headrace.api.subjects import Database, Reader
from headrace.database.connection import transaction
from headrace.http.security import requires
from headrace.registration.registrations import StorableText as Text
from headrace.severity import Severity
from headrace.slas.events import Kind, SubjectType
from headrace.slas.status import SlaStatus

router = APIRouter(prefix="/api/v1", tags=["alerts"])
ACKNOWLEDGE = requires(Permission.ACKNOWLEDGE)
_MAX_AFFECTED = 200  # listed
AlertId = Annotated[UUID, Path(description="The alert's id, which is its incident's.")]


def _is_of_a_failed_run(alert: AlertRow) -> bool:
    return alert.kind is Kind.RUN_FAILED


@dataclass(frozen=True, slots=True)
class AcknowledgementRow:
    """An entry in the history of an alert's acknowledgement. holder: who was working on the alert then."""

    at: datetime
    action: AcknowledgementAction
    by: Public[str | None]
    holder: Public[str]
    until: datetime | None
    comment: Public[str | None]


@dataclass(frozen=True, slots=True)
class AlertRow:
    """An alert. affected: the other datasets and processes of its incident that the caller may see.

    acknowledged_until: null for as long as alerts.yaml says.
    """

    alert_id: UUID
    incident_id: UUID | None
    subject_type: SubjectType
    key: SubjectKey
    owners: Public[tuple[str, ...]]
    kind: Kind
    severity: Severity
    state: AlertState
    at: datetime
    opened_at: datetime
    closed_at: datetime | None
    acknowledged_at: datetime | None
    acknowledged_by: Public[str | None]
    acknowledged_until: datetime | None
    comment: Public[str | None]
    acknowledgements: tuple[AcknowledgementRow, ...]
    reason: Annotated[str | None, SensitiveIf(Sensitive.ERROR, _is_of_a_failed_run)]
    affected: Public[tuple[str, ...]]
    route: Public[str | None]


@dataclass(frozen=True, slots=True)
class NotificationRow:
    """A notification: destination, with the address if it is personal, purpose and state."""

    destination: Public[str]
    address: Public[str]
    purpose: Purpose
    step: int
    state: NotificationState
    due_at: datetime
    sent_at: datetime | None
    tries: int
    reason: Public[str | None]


@dataclass(frozen=True, slots=True)
class AlertEventRow:
    """An event of an alert. key: the dataset, process or sensor."""

    kind: Kind
    severity: Severity
    key: SubjectKey
    at: datetime


@dataclass(frozen=True, slots=True)
class AffectedRow:
    """An affected dataset or process, with its next deadline that is not met and the status of that objective."""

    subject_type: SubjectType
    key: SubjectKey
    owners: Public[tuple[str, ...]]
    deadline: datetime | None
    state: SlaStatus | None


@dataclass(frozen=True, slots=True)
class AlertAnswer:
    """An alert with its events and notifications.

    sentence: what happened and when. run_id: of the run that failed. runbook: of its subject. affected: those whose
    deadline is next; affected_count: of all that the caller may see.
    """

    alert: AlertRow
    sentence: Public[str]
    run_id: Public[str | None]
    runbook: Public[str | None]
    affected: tuple[AffectedRow, ...]
    affected_count: int
    notifications: tuple[NotificationRow, ...]
    alert_events: tuple[AlertEventRow, ...]
    links: Links


class Resolution(BaseModel):
    """The end of an alert, as someone decides."""

    model_config = ConfigDict(extra="forbid")

    comment: Annotated[Text, Field(max_length=2000)] | None = None


class Acknowledgement(Resolution):
    """An acknowledgement."""

    lasts: Annotated[
        timedelta | None,
        Field(
            ge=timedelta(minutes=1),
            le=timedelta(days=30),
            description="Duration of the acknowledgement, in seconds or as an ISO 8601 duration. "
            "[default: acknowledge_for of alerts.yaml]",
        ),
    ] = None


class HandOver(Acknowledgement):
    """A hand-over of an acknowledged alert. to: a person or an owner."""

    to: Annotated[Text, Field(min_length=1, max_length=500)]


@router.get("/alert", summary="List alerts", response_model=Page[AlertRow])
def list_alerts(
    engine: Database,
    caller: Reader,
    state: Annotated[list[AlertState] | None, Query(description="Only items with this status.")] = None,
    severity: Annotated[list[Severity] | None, Query(description="Only of these severities.")] = None,
    subject: Annotated[
        str | None,
        Query(max_length=1000, description="Only alerts about this dataset or process, or that affect it."),
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List alerts, newest first."""
    before = place_of(cursor, tuple[datetime, UUID]) if cursor else None
    # Affected datasets are visible only to callers who may read them, in lists and filters as well.
    include_affected = subject is not None and caller.may(Permission.READ, subject)
    found = alerts(
        engine,
        state or (),
        severities=severity or (),
        subject=subject,
        include_affected=include_affected,
        before=before,
        limit=limit + 1,
    )
    last = found[limit - 1].alert if len(found) > limit else None
    following = cursor_of(last.opened_at, last.alert_id) if last else None
    return shown(
        engine, caller, Page(items=[_row(each.alert, caller) for each in found[:limit]], next=following)
    )


@router.get("/alert/{alert_id}", summary="Show an alert", response_model=AlertAnswer)
def show_alert(engine: Database, caller: Reader, alert_id: AlertId) -> Response:
    """Show an alert with its events, notifications and acknowledgement, and what it affects."""
    found = history(engine, alert_id)
    with transaction(engine) as cursor:
        reached = affected(cursor, found.alert, _MAX_AFFECTED)
    return shown(engine, caller, _answer(found, reached, caller))


@router.post("/alert/{alert_id}/acknowledge", summary="Acknowledge an alert", response_model=AlertRow)
def acknowledge_alert(
    engine: Database,
    caller: Annotated[Caller, Depends(ACKNOWLEDGE)],
    alert_id: AlertId,
    taken: Acknowledgement,
) -> Response:
    """Acknowledge an alert, which stops its escalation until the acknowledgement expires.

    The first acknowledgement counts, and the caller who made it may renew it; a closed alert is unchanged.
    """
    _require(engine, caller, alert_id)
    now = datetime.now(UTC)
    found = acknowledge(engine, alert_id, caller.subject, now, taken.comment, taken.lasts)
    return shown(engine, caller, _row(found, caller))


@router.post("/alert/{alert_id}/hand-over", summary="Hand over an alert", response_model=AlertRow)
def hand_alert_over(
    engine: Database,
    caller: Annotated[Caller, Depends(ACKNOWLEDGE)],
    alert_id: AlertId,
    handed: HandOver,
) -> Response:
    """Hand an acknowledged alert over to another person or owner, who is notified if alerts.yaml has a destination."""
    _require(engine, caller, alert_id)
    now = datetime.now(UTC)
    found = hand_over(engine, alert_id, caller.subject, handed.to, now, handed.comment, handed.lasts)
    return shown(engine, caller, _row(found, caller))


@router.post("/alert/{alert_id}/resolve", summary="Resolve an alert", response_model=AlertRow)
def resolve_alert(
    engine: Database,
    caller: Annotated[Caller, Depends(ACKNOWLEDGE)],
    alert_id: AlertId,
    taken: Resolution,
) -> Response:
    """Close an alert whose cause is not gone; anything new about its incident opens it again.

    Its recipients are informed. A closed alert is unchanged.
    """
    _require(engine, caller, alert_id)
    found = resolve(engine, alert_id, caller.subject, datetime.now(UTC), taken.comment)
    return shown(engine, caller, _row(found, caller))


def _require(engine: Engine, caller: Caller, alert_id: UUID) -> None:
    """Raise Forbidden unless the caller may acknowledge alerts of its dataset, UnknownAlert if they do not see it."""
    known = history(engine, alert_id).alert
    if known.subject.type is SubjectType.DATASET:
        caller.require(Permission.ACKNOWLEDGE, known.subject.key)


def _answer(found: History, reached: AffectedSubjects, caller: Caller) -> AlertAnswer:
    run_id = found.alert.facts.get("run_id")
    return AlertAnswer(
        _row(found.alert, caller),
        sentence(found.alert, datetime.now(UTC)),
        str(run_id) if run_id else None,
        reached.runbook,
        tuple(
            AffectedRow(each.type, each.key, each.owners, each.deadline, each.status)
            for each in reached.named
        ),
        reached.count,
        tuple(
            NotificationRow(
                destination=each.recipient.destination,
                address=each.recipient.address,
                purpose=each.purpose,
                step=each.step,
                state=each.state,
                due_at=each.due_at,
                sent_at=each.sent_at,
                tries=each.tries,
                reason=each.reason,
            )
            for each in found.notifications
        ),
        tuple(
            AlertEventRow(
                each.alert_event.kind,
                each.alert_event.severity,
                each.alert_event.subject.key,
                each.alert_event.at,
            )
            for each in found.alert_events
            if each.alert_event.subject.type is not SubjectType.DATASET
            or caller.may(Permission.READ, each.alert_event.subject.key)
        ),
        links_to("alerts", str(found.alert.alert_id)),
    )


def _row(alert: Alert, caller: Caller) -> AlertRow:
    reason = alert.facts.get("reason")
    return AlertRow(
        alert_id=alert.alert_id,
        incident_id=alert.incident_id,
        subject_type=alert.subject.type,
        key=alert.subject.key,
        owners=alert.subject.owners,
        kind=alert.kind,
        severity=alert.severity,
        state=alert.state,
        at=alert.at,
        opened_at=alert.opened_at,
        closed_at=alert.closed_at,
        acknowledged_at=alert.acknowledged_at,
        acknowledged_by=alert.acknowledged_by,
        acknowledged_until=alert.acknowledged_until,
        comment=alert.comment,
        acknowledgements=tuple(
            AcknowledgementRow(each.at, each.action, each.by, each.holder, each.until, each.comment)
            for each in alert.acknowledgements
        ),
        reason=str(reason) if reason else None,
        affected=tuple(key for key in alert.affected if caller.may(Permission.READ, key)),
        route=alert.route,
    )
