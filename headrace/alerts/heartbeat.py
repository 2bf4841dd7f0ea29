"""Heartbeats of the sensors that evaluate SLAs and send alerts: a dead man's switch for external monitoring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine

from headrace.access.redaction import redacted
from headrace.alerts.sql import statement
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.variables import UnsetVariable, with_variables

ALERTS = "alerts"  # the sensor that decides on alerts and sends them
JUDGING = "slas"  # the sensor that evaluates SLAs
SILENT_AFTER = timedelta(minutes=5)
_STUCK_AFTER = timedelta(minutes=5)  # time for which it is refused before that is a problem
_SECONDS = 5.0
_MAX_FAILURE = 500


@dataclass(frozen=True, slots=True)
class SensorHeartbeat:
    """A sensor's last successful tick, and whether it is overdue. None: it has never ticked.

    failed_at, failure: since when its ticks fail, and the last error; None if the last tick succeeded.
    """

    sensor: str
    ticked_at: datetime | None
    is_silent: bool
    failed_at: datetime | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class AlertingStatus:
    """The status of alerting.

    undecided: alert events not processed yet. overdue: notifications tried and not delivered, the oldest due since
    `oldest`, and why. failed: notifications given up in the last two days.
    """

    open: int
    acknowledged: int
    undecided: int
    overdue: int
    oldest: datetime | None
    reason: str | None
    failed: int
    sensors: tuple[SensorHeartbeat, ...]

    @property
    def is_alive(self) -> bool:
        """True if both sensors, SLAs and alerts, are running without errors."""
        return not any(life.is_silent or life.failed_at for life in self.sensors)

    def problems(self, now: datetime) -> list[str]:
        """Return problems with alerting itself, one sentence each. A sensor that was never needed is not reported."""
        sentences = [
            f"Alerts: the sensor {life.sensor!r} "
            + (
                f"has not ticked since {life.ticked_at:%Y-%m-%d %H:%M:%SZ}"
                if life.ticked_at
                else "has never ticked"
            )
            + "; see Automation in Dagster's UI."
            for life in self.sensors
            if life.is_silent and not life.failed_at and (life.ticked_at or self.undecided)
        ]
        sentences += [
            f"Alerts: the sensor {life.sensor!r} has failed since {life.failed_at:%Y-%m-%d %H:%M:%SZ}: {life.failure}."
            for life in self.sensors
            if life.failed_at
        ]
        if self.oldest is not None and now - self.oldest >= _STUCK_AFTER:
            sentences.append(f"Alerts: {self.overdue} notifications could not be delivered: {self.reason}.")
        if self.failed:
            sentences.append(
                f"Alerts: {self.failed} notifications failed permanently; see `headrace alerts list`."
            )
        return sentences


def record_heartbeat(
    engine: Engine, sensor: str, now: datetime, silent_after: timedelta = SILENT_AFTER
) -> None:
    """Record a sensor's tick; the next one is expected within `silent_after`."""
    with transaction(engine) as cursor:
        statement("record_heartbeat").execute(
            cursor,
            {
                "organisation": current_context().organisation_id,
                "name": current_context().organisation,
                "sensor": sensor,
                "now": now,
                "silent_after": int(silent_after.total_seconds()),
            },
        )


@contextmanager
def failures_recorded(engine: Engine, sensor: str) -> Iterator[None]:
    """Record an error of a sensor's tick in a transaction of its own, and raise it again.

    Without that, a sensor whose every tick fails would look alive until its last heartbeat is SILENT_AFTER old.
    """
    try:
        yield
    except Exception as error:
        with transaction(engine) as cursor:
            statement("record_sensor_failure").execute(
                cursor,
                {
                    "organisation": current_context().organisation_id,
                    "name": current_context().organisation,
                    "sensor": sensor,
                    "now": datetime.now(UTC),
                    "failure": redacted(f"{type(error).__name__}: {error}".partition("\n")[0][:_MAX_FAILURE]),
                    "silent_after": int(SILENT_AFTER.total_seconds()),
                },
            )
        raise


def alerting_status(engine: Engine, now: datetime) -> AlertingStatus:
    """Return the current status of alerting."""
    mine = current_context().organisation_id
    with transaction(engine) as cursor:
        parameters = {"organisation": mine, "now": now}
        (row,) = statement("alerting_status").execute(cursor, parameters).fetchall()
        beats = cursor.execute(
            "SELECT sensor, ticked_at, silent_after, failed_at, failure FROM catalog.heartbeat "
            "WHERE organisation_id = %s AND sensor = ANY (%s)",
            [mine, [JUDGING, ALERTS]],
        ).fetchall()
    known = {each["sensor"]: each for each in beats}
    return AlertingStatus(
        **row, sensors=tuple(_sensor_heartbeat(name, known.get(name), now) for name in (JUDGING, ALERTS))
    )


def ping(address: str) -> str | None:
    """Ping the external monitoring URL; returns the problem, or None on success.

    ${NAME} in it is an environment variable. A failure does not stop alerts from being sent.
    """
    from headrace.outgoing import NoAnswer, fetch  # imported here, since status queries do not need httpx

    try:
        answer = fetch("GET", with_variables(address), seconds=_SECONDS, follow_redirects=True)
    except UnsetVariable as error:
        return f"the environment variable {error}, which the heartbeat needs, is not set"
    except NoAnswer as error:
        return f"the heartbeat's address {error}"
    return None if answer.is_success else f"the heartbeat's address answers {answer.status}"


def _sensor_heartbeat(sensor: str, row: Mapping[str, Any] | None, now: datetime) -> SensorHeartbeat:
    if row is None:
        return SensorHeartbeat(sensor, None, is_silent=True)
    ticked_at = row["ticked_at"]
    is_silent = ticked_at is None or now - ticked_at > timedelta(seconds=row["silent_after"])
    return SensorHeartbeat(sensor, ticked_at, is_silent, row["failed_at"], row["failure"])
