"""The alerts sensor: turns alert events into notifications, sends them, and pings the heartbeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic, sleep

import dagster as dg
from sqlalchemy import Engine

from headrace.alerts import heartbeat
from headrace.alerts.outbox import BATCH_SIZE, ProcessingResult, decide_due, decide_next
from headrace.alerts.rules import AlertRules
from headrace.alerts.sending import SendingResult, send_due
from headrace.database.connection import connect
from headrace.declarations.alerting.rules import FILE, LoadedRules, WrongRules, load_rules
from headrace.nouns import noun
from headrace.project import project_root

SEND_TIME_LIMIT = timedelta(seconds=30)  # Dagster cancels a tick at 60 s
DECIDE_TIME_LIMIT = timedelta(seconds=10)
DAEMON_INTERVAL_SECONDS = 5.0  # seconds between two evaluations of sensors by Dagster's daemon
PAUSE_SECONDS = 1.0
PING_EVERY = timedelta(minutes=1)
_MAX_LOGGED = 20

Clock = Callable[[], datetime]


@dataclass(slots=True)
class Tick:
    """The result of one tick."""

    decided: ProcessingResult = field(default_factory=ProcessingResult)
    notifications: int = 0
    held: int = 0
    failed: list[str] = field(default_factory=list)
    busy: bool = False

    def add(self, decided: ProcessingResult, sent: SendingResult) -> None:
        """Add another round of the same tick."""
        self.decided += decided
        self.notifications += sent.notifications
        self.held = sent.held
        self.failed += sent.failed
        self.busy = sent.busy

    def problems(self) -> list[str]:
        """Return failed deliveries and alerts without a recipient, without duplicates."""
        why = f"no route in {FILE} matches, or its owners have no destination"
        without_recipient = [f"{each} has no recipient: {why}" for each in self.decided.without_recipient]
        return list(dict.fromkeys([*self.failed, *without_recipient]))

    def summary(self) -> str:
        """Summarise the tick for the Automation page."""
        if self.busy:
            return "Another process is sending alerts."
        sent = self.decided
        sentences = []
        if sent.alert_events:
            opened = f"{sent.opened} {noun(sent.opened, 'alert')} opened, {sent.closed} closed."
            sentences.append(f"{sent.alert_events} {noun(sent.alert_events, 'event')}: {opened}")
        if self.notifications:
            sentences.append(f"{self.notifications} {noun(self.notifications, 'notification')} sent.")
        if self.failed:
            count = len(self.failed)
            sentences.append(f"{count} {noun(count, 'destination')} rejected notifications; see the log.")
        if self.held:
            sentences.append(f"Rate limited: {self.held} {noun(self.held, 'notification')}.")
        if sent.without_recipient:
            count = len(sent.without_recipient)
            sentences.append(f"Without a recipient in {FILE}: {count} {noun(count, 'alert')}; see the log.")
        return " ".join(sentences) or "No new alert events."


def alerts_sensor(root: Path | None = None) -> dg.SensorDefinition:
    """Create the sensor over all alert events; a tick polls several times, until the next one is due.

    It keeps no state of its own: decisions and deliveries are in the catalog. Invalid entries of alerts.yaml are left
    out. While the file cannot be read, the last rules stay in effect; without any it does not tick, and events
    wait. The heartbeat is not pinged until all is valid.
    """
    memory = _Memory(root or project_root())

    @dg.sensor(
        name=heartbeat.ALERTS,
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Notifies people about datasets and processes, by the rules in {FILE}.",
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        engine = connect()
        last_look = monotonic() + DAEMON_INTERVAL_SECONDS - 2 * PAUSE_SECONDS
        tick = Tick()
        with heartbeat.failures_recorded(engine, heartbeat.ALERTS):
            rules = memory.rules()
            while True:
                tick.add(*process_alerts(engine, rules, _now))
                if monotonic() >= last_look:
                    break
                sleep(PAUSE_SECONDS)
        for problem in tick.problems()[:_MAX_LOGGED]:
            context.log.warning(problem)
        if memory.wrong:
            context.log.error(memory.wrong)
            summary = f"{memory.effect}; see the log. {tick.summary()}"
            return dg.SensorResult(skip_reason=dg.SkipReason(summary))
        heartbeat.record_heartbeat(engine, heartbeat.ALERTS, _now())
        if (silence := memory.ping_heartbeat(engine, rules, _now())) is not None:
            context.log.warning(silence)
        return dg.SensorResult(skip_reason=dg.SkipReason(tick.summary()))

    return alerts


class _Memory:
    """State kept between ticks: the last valid rules, and the time of the last heartbeat ping."""

    def __init__(self, root: Path) -> None:
        self.wrong = ""
        self.effect = ""
        self._root = root
        self._right: LoadedRules | None = None
        self._signed_at: datetime | None = None

    def rules(self) -> AlertRules:
        """Return the current rules without invalid entries, or the last ones if the file cannot be read.

        `wrong` has the errors, and `effect` what they have as a consequence.
        """
        try:
            self._right = load_rules(self._root)
            self.wrong = "\n".join(str(problem) for problem in self._right.problems)
            self.effect = f"Invalid entries of {FILE} are ignored"
        except WrongRules as error:
            if self._right is None:
                raise
            self.wrong = str(error)
            self.effect = f"{FILE} is invalid, so the previous rules stay in effect"
        return self._right.rules

    def ping_heartbeat(self, engine: Engine, rules: AlertRules, now: datetime) -> str | None:
        """Ping the external monitoring if alerting works and a ping is due; returns the reason if it does not work."""
        if rules.heartbeat is None or (self._signed_at and now - self._signed_at < PING_EVERY):
            return None
        found = heartbeat.alerting_status(engine, now)
        if not found.is_alive:
            return f"no heartbeat ping: {' '.join(found.problems(now))}"
        problem = heartbeat.ping(rules.heartbeat)
        if problem is None:
            self._signed_at = now
        return problem


def process_alerts(engine: Engine, rules: AlertRules, now: Clock) -> tuple[ProcessingResult, SendingResult]:
    """Process alert events, decide again on alerts that are due, and send due notifications."""
    deadline = monotonic() + DECIDE_TIME_LIMIT.total_seconds()
    decided = ProcessingResult()
    while monotonic() < deadline:
        part = decide_next(engine, rules, now())
        decided += part
        if part.alert_events < BATCH_SIZE:
            break
    decided += decide_due(engine, rules, now())
    return decided, send_due(engine, rules, now, SEND_TIME_LIMIT)


def _now() -> datetime:
    return datetime.now(UTC)
