"""Handing messages over to services: secrets, what a second copy is known by, and what is said when it fails."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from benchmarks.receivers import Receiver
from catalog.alerts.delivery import deliver, resolved
from catalog.alerts.records import NotDelivered, Parcel
from catalog.alerts.rules import Destination
from catalog.sla.happenings import Urgency
from tests.catalog.alerts.making import OFTEN

PARCEL = Parcel(uuid4(), uuid4(), "LATE mart/delays", "What: it is late.\nSince: now", Urgency.ERROR)


def to(url: str) -> Destination:
    return Destination("there", url, OFTEN)


def test_a_message_that_is_sent_again_is_known_by_its_id(http: Receiver, mail: Receiver) -> None:
    posted = to(f"json://127.0.0.1:{http.port}/a?+X-Team=data")
    mailed = to(f"mailto://127.0.0.1:{mail.port}?from=headrace@example.com&to={{owner}}")
    for _ in range(2):
        deliver(posted, "", PARCEL)
        deliver(mailed, "alice@example.com", PARCEL)
    assert len(http.received) == len(mail.received) == 2
    assert [each.key for each in http.known] == [str(PARCEL.message_id)]
    assert [each.key for each in mail.known] == [f"<{PARCEL.message_id}@example.com> alice@example.com"]
    assert http.known[0].said["alert"] == str(PARCEL.thread)
    assert mail.known[0].title == PARCEL.title
    assert mail.known[0].body.replace("\r\n", "\n").strip() == PARCEL.body
    assert mail.known[0].said["Auto-Submitted"] == "auto-generated"


def test_pagerduty_gets_one_incident_for_an_alert_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    class Answer:
        status_code = 202
        content = b"{}"

    def post(*_: object, data: str, **__: object) -> Answer:
        from json import loads

        asked.append(loads(data))
        return Answer()

    monkeypatch.setattr("requests.post", post)
    monkeypatch.setenv("PD_KEY", "k" * 32)
    pager = to("pagerduty://${PD_KEY}@" + "a" * 20)
    deliver(pager, "", PARCEL)
    deliver(pager, "", replace(PARCEL, message_id=uuid4(), is_recovery=True))
    assert [each["event_action"] for each in asked] == ["trigger", "resolve"]
    assert {each["dedup_key"] for each in asked} == {str(PARCEL.thread)}


def test_secrets_come_from_the_environment_and_are_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORD", "p@ss/w:rd?")
    monkeypatch.setenv("WHOLE", "json://host/path?a=b")
    assert resolved(to("json://me:${WORD}@host"), "") == "json://me:p%40ss%2Fw%3Ard%3F@host"
    assert resolved(to("${WHOLE}"), "") == "json://host/path?a=b"
    with pytest.raises(NotDelivered, match="environment variable NOT_SET, which there needs, is not set"):
        deliver(to("json://${NOT_SET}"), "", PARCEL)


def test_what_cannot_be_delivered_says_why_and_nothing_secret(http: Receiver, mail: Receiver) -> None:
    http.refuses = mail.refuses = True
    with pytest.raises(NotDelivered, match="503") as refused:
        deliver(to(f"json://me:hunter2@127.0.0.1:{http.port}"), "", PARCEL)
    assert "hunter2" not in str(refused.value)
    with pytest.raises(NotDelivered, match="does not take it"):
        deliver(to(f"mailto://127.0.0.1:{mail.port}?from=a@example.com&to=b@example.com"), "", PARCEL)
    with pytest.raises(NotDelivered, match="cannot be had"):
        deliver(to("mailto://127.0.0.1:1?from=a@example.com&to=b@example.com"), "", PARCEL)
    with pytest.raises(NotDelivered, match="onnection"):
        deliver(to("json://127.0.0.1:1"), "", PARCEL)


def test_a_url_that_nobody_knows_is_refused() -> None:
    with pytest.raises(NotDelivered, match="the URL of there is none that apprise knows"):
        deliver(to("nonsense://x"), "", PARCEL)
