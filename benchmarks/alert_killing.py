"""Alerting by processes that are killed at random, until nothing is left to do: for a test and a benchmark."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.alerts.records import RenderedNotification
from headrace.alerts.rules import AlertRules, Destination, Limit, Route, Step
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.severity import Severity
from headrace.slas.events import (
    AlertEvent,
    Kind,
    Subject,
    SubjectType,
    record,
)
from tests.paths import REPOSITORY

FAST = 200  # how much faster than the world's the clock of the processes goes, so that pauses between tries are short
_STEPS = 6  # that a process takes at most before it is to die
_AT_ONCE = 4  # events and notifications per transaction: many small ones, for many places to die between


def rules(http_port: int, mail_port: int) -> AlertRules:
    """Each alert to an HTTP endpoint and to a mail server."""
    often = Limit(1_000_000, timedelta(hours=1))
    mail = f"mailto://127.0.0.1:{mail_port}?from=headrace@example.com&to=ops@example.com"
    return AlertRules(
        destinations={
            "http": Destination("http", f"json://127.0.0.1:{http_port}/alerts", often),
            "mail": Destination("mail", mail, often),
        },
        routes=(Route("all", (Step(("http", "mail")),)),),
    )


def breaches(engine: Engine, count: int, named: str = "table") -> None:
    """Store an event of a new incident each, like the SLA engine does."""
    with transaction(engine) as cursor:
        cursor.execute(
            "INSERT INTO catalog.organisation (organisation_id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            [current_context().organisation_id, current_context().organisation],
        )
        record(
            cursor, [_breach(cursor, f"mart/{named}_{number}") for number in range(count)], datetime.now(UTC)
        )


def alert_and_be_killed(http_port: int, mail_port: int, kills: int, seconds: float, seed: int = 1) -> int:
    """Alert by one process after another, each killed `seconds` at most after one of its steps, the last one not.

    How many were killed while they were at it: one that has nothing left to do ends by itself.
    """
    arguments = [str(http_port), str(mail_port), str(kills), str(seconds), str(seed)]
    command = [sys.executable, "-m", "benchmarks.alert_killing", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, check=True)
    return int(json.loads(done.stdout.splitlines()[-1])["killed"])


def _breach(cursor: Cursor[Any], key: str) -> AlertEvent:
    incident, now = uuid4(), datetime.now(UTC)
    cursor.execute(
        "INSERT INTO catalog.incident "
        "(incident_id, organisation_id, cause_type, cause_key, reason, severity, opened_at) "
        "VALUES (%s, %s, 'DATASET', %s, 'It was due.', 'ERROR', %s)",
        [incident, current_context().organisation_id, key, now],
    )
    subject = Subject(SubjectType.DATASET, key, None, ("team:data",))
    return AlertEvent(Kind.LATE, Severity.ERROR, subject, now, incident, {"reason": "It was due."})


def _kill(http_port: int, mail_port: int, kills: int, seconds: float, seed: int) -> None:
    """Processes are forked from this one, which has loaded everything and is connected to nothing."""
    import apprise

    apprise.Apprise.instantiate("json://localhost")  # loads every service that it knows
    chance, killed, began = random.Random(seed), 0, time.time()
    for number in range(kills + 1):
        message, says = os.pipe()
        child = os.fork()
        if child == 0:
            _alert(rules(http_port, mail_port), began, says)
            os._exit(0)
        os.close(says)
        if number == kills:
            while os.read(message, 4096):
                pass
            assert os.waitpid(child, 0)[1] == 0
            break
        for _ in range(chance.randint(1, _STEPS)):
            os.read(message, 1)
        time.sleep(chance.uniform(0, seconds))
        os.kill(child, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        os.close(message)
    print(json.dumps({"killed": killed}))


def _alert(rules: AlertRules, began: float, says: int) -> None:
    """Decide and send; a byte for each step: something was decided, a message is about to be sent, it was taken."""
    from headrace.alerts import outbox, sending
    from headrace.alerts.heartbeat import alerting_status
    from headrace.database.connection import connect

    def now() -> datetime:
        return datetime.fromtimestamp(began + (time.time() - began) * FAST, UTC)

    def send(destination: Destination, address: str, rendered: RenderedNotification) -> None:
        os.write(says, b"s")
        sending.by_apprise(destination, address, rendered)
        os.write(says, b"t")

    sending.BATCH_SIZE = _AT_ONCE
    engine = connect()
    while True:
        decided = outbox.decide_next(engine, rules, now(), _AT_ONCE)
        if decided.alert_events:
            os.write(says, b"d")
        sent = sending.send_due(engine, rules, now, timedelta(seconds=60), send)
        if not decided.alert_events and not sent.notifications:
            found = alerting_status(engine, now())
            if not (found.undecided or found.overdue or sent.busy):
                return
            time.sleep(0.01)


if __name__ == "__main__":
    http, mail, number, length, seeded = sys.argv[1:]
    _kill(int(http), int(mail), int(number), float(length), int(seeded))
