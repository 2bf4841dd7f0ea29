"""The sensor that alerts: happenings become messages, messages are sent, and the heartbeat goes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic, sleep

import dagster as dg
from sqlalchemy import Engine

from headrace.alerts import heartbeat
from headrace.alerts.outbox import AT_ONCE, Decided, decide_next
from headrace.alerts.rules import AlertRules
from headrace.alerts.sending import Sent, send_due
from headrace.database.connection import connect
from headrace.declarations.alert_rules import FILE, WrongRules, alert_rules
from headrace.orchestration.nouns import noun
from headrace.project import project_root

TIME_FOR_SENDING = timedelta(seconds=30)  # Dagster cuts a tick at 60 s
TIME_FOR_DECIDING = timedelta(seconds=10)
DAEMON_LOOP = 5.0  # seconds from one look of Dagster's daemon at its sensors to the next
PAUSE = 1.0
PING_EVERY = timedelta(minutes=1)
_LISTED = 20

Clock = Callable[[], datetime]


@dataclass(slots=True)
class Look:
    """What one look came to."""

    decided: Decided = field(default_factory=Decided)
    messages: int = 0
    held: int = 0
    failed: list[str] = field(default_factory=list)
    busy: bool = False

    def add(self, decided: Decided, sent: Sent) -> None:
        """Another look of the same tick."""
        self.decided += decided
        self.messages += sent.messages
        self.held = sent.held
        self.failed += sent.failed
        self.busy = sent.busy

    def problems(self) -> list[str]:
        """What did not reach anybody, each once."""
        why = f"no route of {FILE} fits, or its owners have no destination"
        unheard = [f"{each} reaches nobody: {why}" for each in self.decided.unheard]
        return list(dict.fromkeys([*self.failed, *unheard]))

    def words(self) -> str:
        """For the tick's line on the Automation page."""
        if self.busy:
            return "Another process sends alerts."
        told = self.decided
        said = []
        if told.happenings:
            opened = f"{told.opened} {noun(told.opened, 'alert')} opened, {told.closed} closed."
            said.append(f"{told.happenings} {noun(told.happenings, 'happening')}: {opened}")
        if self.messages:
            said.append(f"{self.messages} {noun(self.messages, 'message')} sent.")
        if self.failed:
            count = len(self.failed)
            said.append(f"{count} {noun(count, 'destination')} did not take theirs; see the log.")
        if self.held:
            said.append(
                f"Held back for what their destination may get: {self.held} {noun(self.held, 'message')}."
            )
        if told.unheard:
            count = len(told.unheard)
            said.append(f"Reaching nobody by {FILE}: {count} {noun(count, 'alert')}; see the log.")
        return " ".join(said) or "Nothing has happened that anybody has to be told of."


def alerts_sensor(root: Path | None = None) -> dg.SensorDefinition:
    """The sensor over all happenings; a tick looks several times, until the next one is due.

    It keeps no state of its own: what is decided and what was sent is in the catalog. While the rules are wrong, those
    that were right last go on, and no sign of life is given; without any it does not tick, and happenings wait.
    """
    memory = _Memory(root or project_root())

    @dg.sensor(
        name=heartbeat.ALERTS,
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Tells people what happened to datasets and processes, by the rules in {FILE}.",
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        engine, rules = connect(), memory.rules()
        last_look = monotonic() + DAEMON_LOOP - 2 * PAUSE
        look = Look()
        while True:
            look.add(*tell(engine, rules, _now))
            if monotonic() >= last_look:
                break
            sleep(PAUSE)
        for problem in look.problems()[:_LISTED]:
            context.log.warning(problem)
        if memory.wrong:
            context.log.error(memory.wrong)
            words = f"{FILE} is wrong, and the rules before it go on; see the log. {look.words()}"
            return dg.SensorResult(skip_reason=dg.SkipReason(words))
        heartbeat.beat(engine, heartbeat.ALERTS, _now())
        if (silence := memory.sign_of_life(engine, rules, _now())) is not None:
            context.log.warning(silence)
        return dg.SensorResult(skip_reason=dg.SkipReason(look.words()))

    return alerts


class _Memory:
    """What one process knows from tick to tick: the rules that were right last, and when it gave a sign of life."""

    def __init__(self, root: Path) -> None:
        self.wrong = ""
        self._root = root
        self._right: AlertRules | None = None
        self._signed_at: datetime | None = None

    def rules(self) -> AlertRules:
        """The rules as they are now, or where these are wrong (`wrong` says how) those before."""
        try:
            self._right = alert_rules(self._root)
            self.wrong = ""
        except WrongRules as error:
            if self._right is None:
                raise
            self.wrong = str(error)
        return self._right

    def sign_of_life(self, engine: Engine, rules: AlertRules, now: datetime) -> str | None:
        """Give whoever watches from outside a sign of life, if all is well and it is time; else why not."""
        if rules.heartbeat is None or (self._signed_at and now - self._signed_at < PING_EVERY):
            return None
        found = heartbeat.standing(engine, now)
        if not found.is_alive:
            return f"no sign of life is given: {' '.join(found.problems(now))}"
        problem = heartbeat.ping(rules.heartbeat)
        if problem is None:
            self._signed_at = now
        return problem


def tell(engine: Engine, rules: AlertRules, now: Clock) -> tuple[Decided, Sent]:
    """Decide about what happened, and send what is due."""
    deadline = monotonic() + TIME_FOR_DECIDING.total_seconds()
    decided = Decided()
    while monotonic() < deadline:
        part = decide_next(engine, rules, now())
        decided += part
        if part.happenings < AT_ONCE:
            break
    return decided, send_due(engine, rules, now, TIME_FOR_SENDING)


def _now() -> datetime:
    return datetime.now(UTC)
