"""Old closed alerts are deleted with their notifications, by the job that limits the database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Engine

from benchmarks.receivers import Receiver
from headrace.alerts.queries import alerts
from headrace.alerts.rules import AlertRules, Limit
from headrace.alerts.sending import SendingResult
from headrace.database.connection import transaction
from headrace.retention.archiving import archive
from headrace.slas.events import Kind
from tests.platform.alerts.making import START, alert_event, rules

Tick = Callable[[AlertRules, float], SendingResult]
Opened = Callable[[], UUID]
Happen = Callable[..., None]


def rows(engine: Engine) -> dict[str, int]:
    with transaction(engine) as cursor:
        counted = cursor.execute(
            "SELECT (SELECT count(*) FROM catalog.alert) AS alerts, "
            "(SELECT count(*) FROM catalog.notification) AS notifications, "
            "(SELECT count(*) FROM catalog.alert_event) AS alert_events, "
            "(SELECT count(*) FROM catalog.incident) AS incidents"
        ).fetchone()
    assert counted is not None
    return dict(counted)


def test_what_is_over_goes_after_400_days_and_what_is_open_stays(
    engine: Engine, http: Receiver, opened: Opened, happen: Happen, tick: Tick
) -> None:
    """Two incidents, one notified in a digest; a changed schema without an incident; and one open incident."""
    sent = rules(url=f"json://localhost:{http.port}/{{}}", limit=Limit(2, timedelta(hours=1)))
    over, also, still = opened(), opened(), opened()
    happen(
        alert_event(Kind.AT_RISK, over),
        alert_event(Kind.AT_RISK, also, key="mart/other"),
        alert_event(Kind.SCHEMA_CHANGED, None, key="mart/third"),
    )
    happen(alert_event(Kind.AT_RISK, still, key="mart/open"))
    tick(sent, 0)
    tick(sent, 61)
    for each in (over, also):
        happen(alert_event(Kind.INCIDENT_CLOSED, each, 70))
        with transaction(engine) as cursor:
            cursor.execute("UPDATE catalog.incident SET closed_at = %s WHERE incident_id = %s", [START, each])
    tick(sent, 130)
    before = rows(engine)
    assert (before["alerts"], before["incidents"], before["alert_events"]) == (4, 3, 6)

    assert archive(engine, now=START + timedelta(days=399)).alerts == 0
    assert rows(engine) == before
    assert archive(engine, now=START + timedelta(days=401)).alerts == 3
    assert [each.alert.alert_id for each in alerts(engine)] == [still]
    left = rows(engine)
    assert (left["alerts"], left["incidents"], left["alert_events"]) == (1, 1, 1)
    with transaction(engine) as cursor:
        (kept,) = cursor.execute(
            "SELECT alert_id, state FROM catalog.notification WHERE purpose <> 'DIGEST'"
        ).fetchall()
    assert kept["alert_id"] == still
    assert left["notifications"] == (2 if kept["state"] == "MERGED" else 1), (
        "a digest stays as long as one that it tells"
    )
