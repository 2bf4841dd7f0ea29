"""Latency from breach to notification, throughput, and the effect of 200 deaths between deciding and sending.

The sensor itself ticks at the interval of Dagster's daemon, and sends to an HTTP endpoint and a mail server on this
machine; on a fresh PostgreSQL server in a temporary folder. Run: python -m benchmarks.alerts [--json]
"""

from __future__ import annotations

import json
import os
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy import Engine

from benchmarks import alert_killing
from benchmarks.receivers import Receiver, http_receiver, mail_receiver
from headrace.alerts.outbox import BATCH_SIZE, decide_next
from headrace.alerts.sending import send_due
from headrace.database import connection as database
from headrace.settings import settings

RULES = """
destinations:
  http: "json://127.0.0.1:{http}/alerts"
  mail: "mailto://127.0.0.1:{mail}?from=headrace@example.com&to=ops@example.com"
limit: {{at_most: 1000000, within: 1h}}
routes:
  - name: all
    steps: [{{to: [http, mail]}}]
"""


def main(
    breaches: Annotated[int, typer.Option(help="Breaches of which the way to the receiver is timed.")] = 30,
    alert_events: Annotated[int, typer.Option(help="Alert events of a flood.")] = 1000,
    kills: Annotated[int, typer.Option(help="Processes to kill.")] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, _catalog(Path(folder)) as engine:
        with http_receiver() as http, mail_receiver() as mail:
            report: dict[str, Any] = {
                "cpus": os.cpu_count(),
                "latency": _latency(engine, Path(folder), http, mail, breaches),
            }
        with http_receiver() as http, mail_receiver() as mail:
            report["flood"] = _flood(engine, http, mail, alert_events)
        with http_receiver() as http, mail_receiver() as mail:
            report["kills"] = _kills(engine, http, mail, kills)
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _show(report)


@contextmanager
def _catalog(folder: Path) -> Iterator[Engine]:
    os.environ |= {"HEADRACE_HOME": str(folder / "home")}
    os.environ.pop("HEADRACE_DATABASE_URL", None)
    settings.cache_clear()
    from headrace.database import embedded

    engine = database.connect()
    try:
        yield engine
    finally:
        database.disconnect()
        embedded.stop(settings().home)


def _latency(engine: Engine, root: Path, http: Receiver, mail: Receiver, count: int) -> dict[str, float]:
    """Seconds from the commit of a breach to its arrival at both receivers, breaches coming at random."""
    from headrace.orchestration.sensors.alerts import DAEMON_INTERVAL_SECONDS, alerts_sensor

    (root / "alerts.yaml").write_text(RULES.format(http=http.port, mail=mail.port))
    sensor, stopped, chance = alerts_sensor(root), threading.Event(), random.Random(1)

    def daemon() -> None:
        with dg.DagsterInstance.ephemeral() as instance:
            while not stopped.is_set():
                began = time.monotonic()
                with dg.build_sensor_context(instance=instance) as context:
                    sensor.evaluate_tick(context)
                stopped.wait(max(0.0, DAEMON_INTERVAL_SECONDS - (time.monotonic() - began)))

    ticking = threading.Thread(target=daemon)
    ticking.start()
    happened: list[float] = []
    try:
        alert_killing.breaches(engine, 1, "first")  # which loads every service that apprise knows
        _until(lambda: bool(http.received and mail.received))
        http.received.clear()
        mail.received.clear()
        for number in range(count):
            time.sleep(chance.uniform(0.5, 2.5))
            alert_killing.breaches(engine, 1, f"late_{number}")
            happened.append(time.time())
        _until(lambda: min(len(http.received), len(mail.received)) >= count)
    finally:
        stopped.set()
        ticking.join()
    taken = [
        each.at - at
        for receiver in (http, mail)
        for each, at in zip(receiver.received, happened, strict=True)
    ]
    return {
        "breaches": count,
        "median_s": round(statistics.median(taken), 2),
        "longest_s": round(max(taken), 2),
    }


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it did not arrive within a minute"
        time.sleep(0.1)


def _flood(engine: Engine, http: Receiver, mail: Receiver, count: int) -> dict[str, float]:
    """Measure how many events per second become alerts, and how many notifications per second are sent."""
    rules, now = alert_killing.rules(http.port, mail.port), datetime.now(UTC)
    alert_killing.breaches(engine, count, "flood")
    began = time.perf_counter()
    while decide_next(engine, rules, now).alert_events == BATCH_SIZE:
        pass
    decided = time.perf_counter() - began
    began = time.perf_counter()
    sent = send_due(engine, rules, lambda: datetime.now(UTC), timedelta(seconds=30)).notifications
    sending = time.perf_counter() - began
    while send_due(engine, rules, lambda: datetime.now(UTC), timedelta(seconds=60)).notifications:
        pass
    assert len(http.received) == len(mail.received) == count
    return {
        "alert_events": count,
        "decided_per_s": round(count / decided),
        "sent_per_s": round(sent / sending),
    }


def _kills(engine: Engine, http: Receiver, mail: Receiver, kills: int) -> dict[str, float]:
    """Measure what is delivered if the sending processes are killed at random."""
    count = kills * 2
    alert_killing.breaches(engine, count, "killed")
    killed = alert_killing.alert_and_be_killed(http.port, mail.port, kills, seconds=0.02)
    lost = sum(count - len(receiver.known) for receiver in (http, mail))
    assert lost == 0
    with database.transaction(engine) as cursor:
        rows = cursor.execute("SELECT DISTINCT state FROM catalog.notification").fetchall()
    assert [row["state"] for row in rows] == ["SENT"]
    return {
        "killed": killed,
        "notifications": 2 * count,
        "lost": lost,
        "second_copies_with_the_same_id": sum(
            len(receiver.received) - len(receiver.known) for receiver in (http, mail)
        ),
        "doubled_for_who_can_tell": sum(len(receiver.known) - count for receiver in (http, mail)),
    }


def _show(report: dict[str, Any]) -> None:
    table = Table("what", "figure", title="Alerts")
    for part in ("latency", "flood", "kills"):
        for name, value in report[part].items():
            table.add_row(f"{part}: {name.replace('_', ' ')}", f"{value:,}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
