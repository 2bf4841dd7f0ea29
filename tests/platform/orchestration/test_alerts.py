"""The alerts sensor, as shown on Dagster's Automation page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import dagster as dg
import pytest
from sqlalchemy import Engine

from benchmarks.alert_killing import breaches
from benchmarks.receivers import Receiver, http_receiver
from headrace.alerts import heartbeat
from headrace.alerts.heartbeat import alerting_status
from headrace.declarations.alerting.rules import WrongRules
from headrace.orchestration.sensors import alerts as module
from headrace.orchestration.sensors.alerts import alerts_sensor

Tick = Callable[[], str]


@pytest.fixture
def http() -> Iterator[Receiver]:
    with http_receiver() as receiver:
        yield receiver


@pytest.fixture
def root(tmp_path: Path, http: Receiver) -> Path:
    (tmp_path / "alerts.yaml").write_text(
        f"destinations: {{http: 'json://127.0.0.1:{http.port}/alerts'}}\n"
        f"routes: [{{name: all, steps: [{{to: http}}]}}]\n"
        f"heartbeat: http://127.0.0.1:{http.port}/alive\n"
    )
    return tmp_path


@pytest.fixture
def tick(root: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Tick:
    """One tick that looks once; what it says."""
    monkeypatch.setattr(module, "DAEMON_INTERVAL_SECONDS", 0.0)
    sensor = alerts_sensor(root)

    def tick() -> str:
        with (
            dg.DagsterInstance.ephemeral() as instance,
            dg.build_sensor_context(instance=instance) as context,
        ):
            found = sensor.evaluate_tick(context)
        assert found.skip_message is not None
        return found.skip_message

    return tick


def test_a_tick_says_what_it_did(tick: Tick, engine: Engine, http: Receiver) -> None:
    assert tick() == "No new alert events."
    breaches(engine, 2)
    assert tick() == "2 events: 2 alerts opened, 0 closed. 2 notifications sent."
    assert len([each for each in http.received if each.to == "/alerts"]) == 2


def test_alerts_without_a_recipient_are_reported(tick: Tick, engine: Engine, root: Path) -> None:
    (root / "alerts.yaml").write_text("")
    breaches(engine, 1)
    assert tick() == (
        "1 event: 1 alert opened, 0 closed. Without a recipient in alerts.yaml: 1 alert; see the log."
    )


def test_an_unavailable_destination_is_reported(tick: Tick, engine: Engine, http: Receiver) -> None:
    http.refuses = True
    breaches(engine, 1)
    assert "1 destination rejected notifications; see the log." in tick()


def test_the_sign_of_life_goes_out_once_a_minute_and_only_if_all_live(
    tick: Tick, engine: Engine, http: Receiver
) -> None:
    def audit_only() -> int:
        return len([each for each in http.received if each.to == "/alive"])

    tick()
    assert audit_only() == 0, "nobody judges SLAs"
    heartbeat.record_heartbeat(engine, heartbeat.JUDGING, datetime.now(UTC) - timedelta(minutes=10))
    tick()
    assert audit_only() == 0
    heartbeat.record_heartbeat(engine, heartbeat.JUDGING, datetime.now(UTC))
    tick()
    tick()
    assert audit_only() == 1
    assert alerting_status(engine, datetime.now(UTC)).is_alive


def test_with_wrong_rules_the_right_ones_before_go_on_and_no_sign_of_life_is_given(
    tick: Tick, engine: Engine, root: Path, http: Receiver
) -> None:
    heartbeat.record_heartbeat(engine, heartbeat.JUDGING, datetime.now(UTC))
    tick()
    before = alerting_status(engine, datetime.now(UTC))
    (root / "alerts.yaml").write_text("destinations: nonsense")
    breaches(engine, 1)
    assert tick().startswith(
        "alerts.yaml is invalid, so the previous rules stay in effect; see the log. 1 event:"
    )
    assert len([each for each in http.received if each.to == "/alerts"]) == 1
    assert alerting_status(engine, datetime.now(UTC)).sensors == before.sensors


def test_an_invalid_entry_is_reported_and_the_others_notify(
    tick: Tick, engine: Engine, root: Path, http: Receiver
) -> None:
    heartbeat.record_heartbeat(engine, heartbeat.JUDGING, datetime.now(UTC))
    text = (root / "alerts.yaml").read_text()
    (root / "alerts.yaml").write_text(text.replace("destinations: {", "destinations: {bad: 'foo://x', "))
    breaches(engine, 1)
    assert tick().startswith("Invalid entries of alerts.yaml are ignored; see the log. 1 event:")
    assert [each.to for each in http.received] == ["/alerts"], "no sign of life"


def test_events_wait_while_there_are_no_valid_rules(engine: Engine, root: Path) -> None:
    (root / "alerts.yaml").write_text("destinations: nonsense")
    breaches(engine, 1)
    sensor = alerts_sensor(root)
    with (
        dg.DagsterInstance.ephemeral() as instance,
        dg.build_sensor_context(instance=instance) as context,
        pytest.raises(WrongRules, match=r"alerts\.yaml:1: destinations"),
    ):
        sensor.evaluate_tick(context)
    assert alerting_status(engine, datetime.now(UTC)).undecided == 1


def test_no_log_has_the_address_of_the_heartbeat(http: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    assert heartbeat.ping(f"http://127.0.0.1:{http.port}/hunter2") is None
    assert "hunter2" not in caplog.text


def test_the_address_of_the_heartbeat_may_be_wrong(http: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    http.refuses = True
    assert heartbeat.ping(f"http://127.0.0.1:{http.port}/x") == "the heartbeat's address answers 503"
    assert "does not answer" in str(heartbeat.ping("http://127.0.0.1:1/x"))
    name = f"NOT_SET_{uuid4().hex}"
    assert (
        heartbeat.ping(f"${{{name}}}")
        == f"the environment variable {name}, which the heartbeat needs, is not set"
    )
