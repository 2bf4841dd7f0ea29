"""Alerts and their notifications."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger
from sqlalchemy.orm import Mapped, mapped_column

from headrace.database.tables.base import Base, Json, key, reference


class Alert(Base):
    """An alert about one incident, or about a single event without an incident."""

    __tablename__ = "alert"
    alert_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    incident_id: Mapped[UUID | None] = reference("incident.incident_id")
    subject_type: Mapped[str]
    subject: Mapped[str]
    dataset_id: Mapped[UUID | None] = reference("dataset.dataset_id")
    process_id: Mapped[UUID | None] = reference("process.process_id")
    owners: Mapped[list[str]]
    kind: Mapped[str]
    severity: Mapped[str]
    state: Mapped[str]
    at: Mapped[datetime]
    opened_at: Mapped[datetime]
    facts: Mapped[Json]
    affected: Mapped[Json]
    breaches: Mapped[Json]
    route: Mapped[str | None]
    round: Mapped[int]
    event_count: Mapped[int]
    next_at: Mapped[datetime | None]
    closed_at: Mapped[datetime | None]
    acknowledged_at: Mapped[datetime | None]
    acknowledged_by: Mapped[str | None]
    acknowledged_until: Mapped[datetime | None]
    comment: Mapped[str | None]
    acknowledgements: Mapped[Json]


class Notification(Base):
    """One alert to one recipient, once; a digest belongs to no alert."""

    __tablename__ = "notification"
    notification_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    alert_id: Mapped[UUID | None] = reference("alert.alert_id")
    destination: Mapped[str]
    address: Mapped[str]
    purpose: Mapped[str]
    severity: Mapped[str]
    step: Mapped[int]
    round: Mapped[int]
    subjects: Mapped[list[str]]
    state: Mapped[str]
    due_at: Mapped[datetime]
    decided_at: Mapped[datetime]
    tries: Mapped[int]
    next_try_at: Mapped[datetime]
    sent_at: Mapped[datetime | None]
    reason: Mapped[str | None]
    digest_id: Mapped[UUID | None] = reference("notification.notification_id")
    title: Mapped[str | None]
    body: Mapped[str | None]


class AlertEvent(Base):
    """An event to alert about."""

    __tablename__ = "alert_event"
    alert_event_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    organisation_id: Mapped[UUID]
    transaction_id: Mapped[int] = mapped_column(BigInteger)
    kind: Mapped[str]
    severity: Mapped[str]
    subject_type: Mapped[str]
    subject: Mapped[str]
    dataset_id: Mapped[UUID | None]
    process_id: Mapped[UUID | None]
    owners: Mapped[list[str]]
    incident_id: Mapped[UUID | None]
    at: Mapped[datetime]
    detected_at: Mapped[datetime]
    facts: Mapped[Json]
    processed_at: Mapped[datetime | None]
