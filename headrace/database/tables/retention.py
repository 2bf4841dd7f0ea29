"""The archive of runs and events."""

from datetime import date, datetime
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, Double, Integer, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from headrace.database.tables.base import Base, key, reference


class ArchiveFile(Base):
    """A Parquet file of the archive; only KEPT files are read."""

    __tablename__ = "archive_file"
    file_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID] = reference("organisation.organisation_id")
    kind: Mapped[str]
    month: Mapped[date]
    location: Mapped[str]
    state: Mapped[str]
    first_ts: Mapped[datetime | None]
    last_ts: Mapped[datetime | None]
    row_count: Mapped[int | None] = mapped_column(BigInteger)
    byte_size: Mapped[int | None] = mapped_column(BigInteger)
    written_at: Mapped[datetime]


class ArchivedRun(Base):
    """The process of an archived run that produced versions."""

    __tablename__ = "archived_run"
    run_id: Mapped[UUID] = key()
    organisation_id: Mapped[UUID]
    process_id: Mapped[UUID] = reference("process.process_id")
    start_ts: Mapped[datetime]


class RunDay(Base):
    """Sums over archived runs by process, day and state; the view run_daily adds those that are not archived."""

    __tablename__ = "run_day"
    process_id: Mapped[UUID] = key("process.process_id")
    day: Mapped[date] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(primary_key=True)
    organisation_id: Mapped[UUID]
    runs: Mapped[int] = mapped_column(BigInteger)
    attempts: Mapped[int] = mapped_column(BigInteger)
    timed: Mapped[int] = mapped_column(BigInteger)
    seconds: Mapped[float]
    longest: Mapped[float | None]
    run_ids: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid))
    run_attempts: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    run_seconds: Mapped[list[float | None]] = mapped_column(ARRAY(Double))


class EventDay(Base):
    """Counts of archived events by day and type; the view event_daily adds those that are not archived."""

    __tablename__ = "event_day"
    organisation_id: Mapped[UUID] = key()
    day: Mapped[date] = mapped_column(primary_key=True)
    event_type: Mapped[str] = mapped_column(primary_key=True)
    events: Mapped[int] = mapped_column(BigInteger)
