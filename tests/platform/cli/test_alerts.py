"""`headrace alerts`, and alerting in `headrace status`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from benchmarks.alert_killing import breaches
from benchmarks.receivers import Receiver, http_receiver
from headrace.alerts import heartbeat
from headrace.alerts.outbox import decide_next
from headrace.alerts.queries import alerts
from headrace.alerts.rules import AlertRules
from tests.platform.alerts.making import rules
from tests.platform.cli.conftest import Invoke

Ask = Callable[..., Any]


@pytest.fixture
def http() -> Iterator[Receiver]:
    with http_receiver() as receiver:
        yield receiver


@pytest.fixture
def written(tmp_path: Path, http: Receiver, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's alerts.yaml, in the place of this one's."""
    (tmp_path / "headrace.toml").touch()
    (tmp_path / "alerts.yaml").write_text(
        f"destinations:\n  http: json://127.0.0.1:{http.port}/a\n"
        "  mail: mailto://127.0.0.1?from=h@example.com&to={owner}\n"
        "owners: {'*': mail, 'team:data': http}\n"
        "routes:\n  - name: grave\n    severity: ERROR\n    steps: [{to: owners}, {to: http, after: 30m}]\n"
    )
    monkeypatch.setenv("HEADRACE_PROJECT", str(tmp_path))
    return tmp_path


@pytest.fixture
def alerted(engine: Engine) -> str:
    """An open alert; its id."""
    breaches(engine, 1)
    decide_next(engine, rules(), datetime.now(UTC))
    return str(alerts(engine)[0].alert.alert_id)


def test_alerts_are_listed_shown_and_acknowledged(invoke: Invoke, ask: Ask, alerted: str) -> None:
    listed = invoke("alerts", "list")
    assert listed.exit_code == 0, listed.output
    assert alerted[:8] in listed.output
    assert "mart/table_0" in listed.output
    assert [each["alert"]["alert_id"] for each in ask("alerts", "list")] == [alerted]

    shown = invoke("alerts", "show", alerted[:8])
    assert "It was due." in shown.output
    assert "on_call" in shown.output

    taken = invoke("alerts", "ack", alerted[:8], "--comment", "on my way")
    assert "acknowledged by" in taken.output
    found = ask("alerts", "show", alerted)
    assert found["alert"]["comment"] == "on my way"
    assert {each["state"] for each in found["notifications"] if each["step"]} == {"DROPPED"}


def test_an_alert_is_resolved(invoke: Invoke, ask: Ask, alerted: str) -> None:
    assert "resolved" in invoke("alerts", "resolve", alerted[:8], "--comment", "no need").output
    assert ask("alerts", "show", alerted[:8])["alert"]["state"] == "CLOSED"


def test_an_acknowledged_alert_is_handed_over(invoke: Invoke, ask: Ask, alerted: str) -> None:
    early = invoke("alerts", "hand-over", alerted[:8], "team:ops")
    assert early.exit_code == 1
    assert "only an acknowledged one can be handed over" in early.output
    assert "is not a valid duration" in invoke("alerts", "ack", alerted[:8], "--for", "4").output
    taken = ask("alerts", "ack", alerted[:8], "--for", "4h")
    assert taken["acknowledged_until"] is not None
    handed = invoke("alerts", "hand-over", alerted[:8], "team:ops", "--comment", "the load fails")
    assert "handed over to team:ops" in handed.output
    shown = invoke("alerts", "show", alerted[:8]).output
    assert "HANDED_OVER" in shown
    assert "the load fails" in shown


def test_without_alerts_it_says_so(invoke: Invoke, engine: Engine) -> None:
    assert invoke("alerts", "list").output == "No open alerts.\n"
    assert invoke("alerts", "list", "--all").output == "No alerts.\n"


@pytest.mark.parametrize("named", ["ffffffff", "f", "nonsense%"])
def test_an_alert_that_is_not_there(invoke: Invoke, alerted: str, named: str) -> None:
    result = invoke("alerts", "ack", named)
    assert result.exit_code == 1
    assert "`headrace alerts list` lists alerts" in result.output


@pytest.mark.usefixtures("written")
def test_a_destination_is_tested(invoke: Invoke, engine: Engine, http: Receiver) -> None:
    result = invoke("alerts", "test")
    assert result.exit_code == 0, result.output
    assert [each.title for each in http.received] == ["Headrace test"]
    http.refuses = True
    failed = invoke("alerts", "test", "http")
    assert failed.exit_code == 1
    assert "503" in failed.output
    assert "give the address with --to" in invoke("alerts", "test", "mail").output
    assert "Destinations: http, mail" in invoke("alerts", "test", "nobody").output


def test_nothing_to_test(invoke: Invoke, engine: Engine, written: Path) -> None:
    (written / "alerts.yaml").unlink()
    result = invoke("alerts", "test")
    assert result.exit_code == 1
    assert "declare them in alerts.yaml" in result.output


def test_route_shows_recipients(invoke: Invoke, ask: Ask, shop: Engine, written: Path) -> None:
    found = ask("alerts", "route", "shop/raw")
    assert found["route"] == "grave"
    assert [each["to"] for each in found["steps"]] == ["http"], "team:shop has no address"
    assert "no one would be notified" in invoke("alerts", "route", "shop/raw", "--severity", "WARNING").output
    wrong = invoke("alerts", "route", "shop/raw", "--severity", "BAD")
    assert wrong.exit_code == 2
    (written / "alerts.yaml").write_text("routes: 1")
    assert "alerts.yaml:1: routes" in invoke("alerts", "route", "shop/raw").output


def test_status_says_when_alerting_is_dead(invoke: Invoke, engine: Engine) -> None:
    assert "Alerts" not in invoke("status").output, "it never was needed"
    breaches(engine, 1)
    assert "Alerts: the sensor 'alerts' has never ticked" in invoke("status").output
    now = datetime.now(UTC)
    for sensor in (heartbeat.JUDGING, heartbeat.ALERTS):
        heartbeat.record_heartbeat(engine, sensor, now)
    assert "Alerts" not in invoke("status").output
    heartbeat.record_heartbeat(engine, heartbeat.ALERTS, now - timedelta(hours=1))
    assert "Alerts: the sensor 'alerts' has not ticked since" in invoke("status").output
    decide_next(engine, AlertRules(), now)
