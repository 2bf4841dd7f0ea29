"""The process that decides and sends may die at any time: nothing is lost, and duplicates have the same id."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from benchmarks.alert_killing import alert_and_be_killed, breaches
from benchmarks.receivers import Receiver
from headrace.database.connection import transaction

pytestmark = pytest.mark.slow


def test_no_alert_is_lost_and_none_duplicated_for_deduplicating_receivers(
    engine: Engine, http: Receiver, mail: Receiver
) -> None:
    breaches(engine, 60)
    killed = alert_and_be_killed(http.port, mail.port, kills=20, seconds=0.02)
    assert killed >= 10
    wanted = {f"LATE mart/table_{number}" for number in range(60)}
    for receiver in (http, mail):
        assert sorted(each.title for each in receiver.known) == sorted(wanted)
    with transaction(engine) as cursor:
        rows = cursor.execute("SELECT state, notification_id FROM catalog.notification").fetchall()
    assert {row["state"] for row in rows} == {"SENT"}
    sent = {str(row["notification_id"]) for row in rows}
    assert {each.key for each in http.known} | {each.key[1:37] for each in mail.known} == sent
