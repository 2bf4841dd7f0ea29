"""SLAs, their outcomes and incidents."""

from datetime import date, datetime
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, Date, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from headrace.database.tables.base import Base, Json, key, reference


class Sla(Base):
    """An SLA of a dataset or a process; SCANNED ones come from a job's definition."""

    __tablename__ = "sla"
    sla_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    dataset_id: Mapped[UUID | None] = reference("dataset.dataset_id")
    definition: Mapped[Json]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    process_id: Mapped[UUID | None] = reference("process.process_id")
    compiled_at: Mapped[datetime | None]
    origin: Mapped[str]


class SlaObjective(Base):
    """One objective of an SLA, and its state."""

    __tablename__ = "sla_objective"
    objective_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID]
    sla_id: Mapped[UUID] = mapped_column(ForeignKey("catalog.sla.sla_id", ondelete="CASCADE"))
    kind: Mapped[str]
    ordinal: Mapped[int]
    dataset_id: Mapped[UUID | None]
    process_id: Mapped[UUID | None]
    definition: Mapped[Json]
    state: Mapped[str]
    since: Mapped[datetime]
    reason: Mapped[str]
    settled: Mapped[datetime | None]
    opens_at: Mapped[datetime | None]
    deadline: Mapped[datetime | None]
    partition_key: Mapped[str]
    met_at: Mapped[datetime | None]
    newest_at: Mapped[datetime | None]
    run_id: Mapped[UUID | None]
    next_at: Mapped[datetime]
    evaluated_at: Mapped[datetime]
    forecast_at: Mapped[datetime | None]
    miss_probability: Mapped[float | None]
    expected_at: Mapped[datetime | None]
    expected_from: Mapped[datetime | None]
    expected_to: Mapped[datetime | None]
    waits_for: Mapped[str | None]
    waits_for_id: Mapped[UUID | None]
    waits_minutes: Mapped[float | None]
    incident_id: Mapped[UUID | None]


class SlaArrivalHistory(Base):
    """Arrival times, run times and row counts of a dataset or process."""

    __tablename__ = "sla_arrival_history"
    subject_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID]
    learned_at: Mapped[datetime]
    history: Mapped[bytes]


class SlaChange(Base):
    """A status change of an objective: when it happened, and when it was detected."""

    __tablename__ = "sla_change"
    change_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    organisation_id: Mapped[UUID]
    dataset_id: Mapped[UUID | None]
    process_id: Mapped[UUID | None]
    kind: Mapped[str]
    ordinal: Mapped[int]
    state: Mapped[str]
    before: Mapped[str]
    at: Mapped[datetime]
    detected_at: Mapped[datetime]
    deadline: Mapped[datetime | None]
    partition_key: Mapped[str]
    reason: Mapped[str]


class SlaOutcome(Base):
    """The outcome of a deadline."""

    __tablename__ = "sla_outcome"
    subject_id: Mapped[UUID] = key()
    kind: Mapped[str] = mapped_column(primary_key=True)
    ordinal: Mapped[int] = mapped_column(primary_key=True)
    deadline: Mapped[datetime] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    dataset_id: Mapped[UUID | None]
    process_id: Mapped[UUID | None]
    partition_key: Mapped[str]
    outcome: Mapped[str]
    arrived_at: Mapped[datetime | None]


class BusinessCalendar(Base):
    """Days on which a business calendar of a scanned estate is open."""

    __tablename__ = "business_calendar"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    name: Mapped[str] = mapped_column(primary_key=True)
    instance: Mapped[str] = mapped_column(primary_key=True)
    days: Mapped[list[date]] = mapped_column(ARRAY(Date()))


class Incident(Base):
    """An incident: one cause, with everything affected by it."""

    __tablename__ = "incident"
    incident_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    cause_type: Mapped[str]
    cause_key: Mapped[str]
    dataset_id: Mapped[UUID | None] = reference("dataset.dataset_id")
    process_id: Mapped[UUID | None] = reference("process.process_id")
    reason: Mapped[str]
    severity: Mapped[str]
    run_id: Mapped[UUID | None]
    waits: Mapped[bool]
    holds: Mapped[bool]
    opened_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]
    part_of: Mapped[UUID | None]


class PlannedOutage(Base):
    """A period in which the SLAs of some datasets or processes are paused."""

    __tablename__ = "planned_outage"
    outage_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    subjects: Mapped[str]
    begins_at: Mapped[datetime]
    ends_at: Mapped[datetime]
    reason: Mapped[str]
    planned_by: Mapped[str]
    planned_at: Mapped[datetime]


class SlaTick(Base):
    """The last two evaluations, the start of uninterrupted evaluation, and the time-zone rules used."""

    __tablename__ = "sla_tick"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    evaluated_at: Mapped[datetime]
    before: Mapped[datetime | None]
    steady_since: Mapped[datetime]
    zone_rules: Mapped[str]


class Heartbeat(Base):
    """The last successful tick of a sensor, and the error of its last tick if that failed."""

    __tablename__ = "heartbeat"
    organisation_id: Mapped[UUID] = key("organisation.organisation_id")
    sensor: Mapped[str] = mapped_column(primary_key=True)
    ticked_at: Mapped[datetime | None]
    failed_at: Mapped[datetime | None]
    failure: Mapped[str | None]
    silent_after: Mapped[int]
    incident_id: Mapped[UUID | None] = reference("incident.incident_id")
