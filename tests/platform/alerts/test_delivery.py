"""Delivery to services: secrets, deduplication keys, and error messages."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
import requests
from apprise.plugins.opsgenie import OPSGENIE_API_LOOKUP
from apprise.plugins.pagerduty import PAGERDUTY_API_LOOKUP

from benchmarks.receivers import Receiver
from headrace.alerts.delivery import deliver, resolved
from headrace.alerts.records import NotDelivered, RenderedNotification
from headrace.alerts.rules import Destination
from headrace.severity import Severity
from tests.platform.alerts.making import OFTEN
from tests.platform.test_outgoing import dripping

Asked = tuple[str, str, dict[str, Any]]  # path, authorization, body
RENDERED = RenderedNotification(
    uuid4(), uuid4(), "LATE mart/delays", "What: it is late.\nSince: now", Severity.ERROR
)


def to(url: str) -> Destination:
    return Destination("there", url, OFTEN)


def test_a_message_that_is_sent_again_is_known_by_its_id(http: Receiver, mail: Receiver) -> None:
    posted = to(f"json://127.0.0.1:{http.port}/a?+X-Team=data")
    mailed = to(f"mailto://127.0.0.1:{mail.port}?from=headrace@example.com&to={{owner}}")
    for _ in range(2):
        deliver(posted, "", RENDERED)
        deliver(mailed, "alice@example.com", RENDERED)
    assert len(http.received) == len(mail.received) == 2
    assert [each.key for each in http.known] == [str(RENDERED.notification_id)]
    assert [each.key for each in mail.known] == [
        f"<{RENDERED.notification_id}@example.com> alice@example.com"
    ]
    assert http.known[0].message["alert"] == str(RENDERED.thread)
    assert mail.known[0].title == RENDERED.title
    assert mail.known[0].body.replace("\r\n", "\n").strip() == RENDERED.body
    assert mail.known[0].message["Auto-Submitted"] == "auto-generated"


@pytest.fixture
def pager(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Asked]]:
    """PagerDuty and Opsgenie, as far as this machine knows: what they are asked, in order."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, str(self.headers["Authorization"]), message))
            answer = b'{"result": "Request will be processed", "requestId": "r-1"}'
            self.send_response(202)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    here = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setitem(PAGERDUTY_API_LOOKUP, "us", f"{here}/v2/enqueue")
    monkeypatch.setitem(OPSGENIE_API_LOOKUP, "us", f"{here}/v2/alerts")
    try:
        yield asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_pagerduty_gets_one_incident_for_an_alert_and_its_end(
    pager: list[Asked], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its Events API v2 has it: https://developer.pagerduty.com/docs/send-alert-event."""
    monkeypatch.setenv("PD_KEY", "k" * 32)
    there = to("pagerduty://${PD_KEY}@" + "a" * 20)
    long = replace(RENDERED, body="What: it is late.\n" * 200)
    deliver(there, "", long)
    deliver(there, "", replace(long, notification_id=uuid4(), ends_thread=True))
    (_, _, opened), (path, _, ended) = pager
    assert path == "/v2/enqueue"
    assert opened["routing_key"] == "k" * 32
    assert opened["event_action"] == "trigger"
    assert opened["dedup_key"] == str(RENDERED.thread)
    assert opened["payload"]["summary"] == RENDERED.title, "a summary is cut after 1024 characters"
    assert opened["payload"]["custom_details"] == {"message": long.body}
    assert (opened["payload"]["severity"], opened["payload"]["source"]) == ("critical", "Headrace")
    assert ended == {
        "routing_key": "k" * 32,
        "event_action": "resolve",
        "dedup_key": str(RENDERED.thread),
    }


def test_opsgenie_gets_one_alert_with_all_responders_and_its_end(pager: list[Asked]) -> None:
    """As its Alert API has it: https://docs.opsgenie.com/docs/alert-api."""
    there = to("opsgenie://a39a0f0e-aaaa-bbbb-cccc-1234567890ab/#data/@lead@example.com")
    deliver(there, "", RENDERED)
    deliver(there, "", replace(RENDERED, notification_id=uuid4(), ends_thread=True))
    (path, key, opened), (end, end_key, ended) = pager
    assert path == "/v2/alerts"
    assert key == end_key == "GenieKey a39a0f0e-aaaa-bbbb-cccc-1234567890ab"
    assert (opened["alias"], opened["message"]) == (str(RENDERED.thread), RENDERED.title)
    assert opened["description"] == RENDERED.body
    assert [each["type"] for each in opened["responders"]] == ["team", "user"]
    assert end == f"/v2/alerts/{RENDERED.thread}/close?identifierType=alias"
    assert ended["note"] == RENDERED.body


@pytest.mark.parametrize(
    ("severity", "priority"),
    [(Severity.CRITICAL, "P1"), (Severity.ERROR, "P2"), (Severity.WARNING, "P3"), (Severity.INFO, "P5")],
)
def test_opsgenies_priority_follows_the_severity(
    pager: list[Asked], severity: Severity, priority: str
) -> None:
    """P1 is critical, P2 high, P3 moderate, P4 low, P5 informational."""
    there = to("opsgenie://a39a0f0e-aaaa-bbbb-cccc-1234567890ab")
    deliver(there, "", replace(RENDERED, severity=severity))
    assert pager[0][2]["priority"] == priority


def test_a_priority_in_the_url_goes_before_the_severity(pager: list[Asked]) -> None:
    deliver(to("opsgenie://a39a0f0e-aaaa-bbbb-cccc-1234567890ab?priority=p4"), "", RENDERED)
    assert pager[0][2]["priority"] == "P4"


def test_what_is_no_more_than_news_leaves_for_opsgenie_too(pager: list[Asked]) -> None:
    there = to("opsgenie://a39a0f0e-aaaa-bbbb-cccc-1234567890ab")
    deliver(there, "", replace(RENDERED, severity=Severity.INFO))
    assert [path for path, _, _ in pager] == ["/v2/alerts"]


def test_a_mail_server_that_never_ends_its_greeting_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.alerts.delivery.MAIL_SECONDS", 1.0)
    with dripping(b"220-mail.example.com\r\n", b"220-\r\n", greets=True) as url:
        there = to(f"mailto://127.0.0.1:{urlsplit(url).port}?from=a@example.com&to=b@example.com")
        with pytest.raises(
            NotDelivered, match=r"the mail server 127\.0\.0\.1 has not answered completely within 1 s"
        ):
            deliver(there, "", RENDERED)


def test_what_opsgenie_does_not_close_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPSGENIE_API_LOOKUP, "us", "http://127.0.0.1:1/v2/alerts")
    there = to("opsgenie://a39a0f0e-aaaa-bbbb-cccc-1234567890ab")
    with pytest.raises(NotDelivered, match="Opsgenie does not answer") as refused:
        deliver(there, "", replace(RENDERED, ends_thread=True))
    assert "a39a0f0e" not in str(refused.value)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A chat's webhook: what is posted to it."""
    posted: list[dict[str, Any]] = []

    def post(*_: object, data: str, **__: Any) -> requests.Response:
        posted.append(json.loads(data))
        answer = requests.Response()
        answer.status_code = 200
        answer._content = b"ok"
        return answer

    monkeypatch.setattr("requests.post", post)
    monkeypatch.setattr("requests.request", post)
    return posted


def test_slack_gets_links_with_a_text(sent: list[dict[str, Any]]) -> None:
    """As its mrkdwn has it: https://api.slack.com/reference/surfaces/formatting#linking-urls."""
    body = "What: mart/x_y [1] is late.\n\nAcknowledge: https://catalog.example.com/alert?t=a_b"
    url = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#data"
    deliver(to(url), "", replace(RENDERED, body=body))
    (attachment,) = sent[0]["attachments"]
    assert attachment["text"] == (
        "*What:* mart/x_y [1] is late.\n\n<https://catalog.example.com/alert?t=a_b|Acknowledge>"
    )
    assert sent[0]["mrkdwn"] is True


def test_teams_gets_paragraphs_and_links_that_can_be_pressed(sent: list[dict[str, Any]]) -> None:
    """An adaptive card: its text is Markdown, which ignores single line breaks and does not link plain URLs."""
    body = "What: mart/x_y [1] is late.\nNext: `headrace why 3f`\n\nRun: https://dagster.example.com/runs/3f?a=b_c&d=(e)"
    deliver(to("workflows://prod-1.logic.azure.com:443/WF/SIG"), "", replace(RENDERED, body=body))
    (card,) = (each["content"] for each in sent[0]["attachments"])
    assert card["type"] == "AdaptiveCard"
    (text,) = (each["text"] for each in card["body"] if each.get("id") == "body")
    assert text == (
        "**What:** mart/x_y \\[1\\] is late.\n\n"
        "**Next:** `headrace why 3f`\n\n"
        "[Run](https://dagster.example.com/runs/3f?a=b_c&d=%28e%29)"
    )


def test_a_mail_has_its_links_in_html_too(mail: Receiver) -> None:
    body = 'What: <b>x</b> & y\nmore\n\nAcknowledge: https://c.example.com/a?token=t&x="1'
    address = f"mailto://127.0.0.1:{mail.port}?from=a@example.com&to=b@example.com"
    deliver(to(address), "", replace(RENDERED, body=body))
    (found,) = mail.received
    assert found.body.replace("\r\n", "\n").strip() == body
    assert found.message["html"].replace("\r\n", "\n") == (
        "<p><b>What:</b> &lt;b&gt;x&lt;/b&gt; &amp; y<br>\nmore</p>\n"
        '<p><a href="https://c.example.com/a?token=t&amp;x=%221">Acknowledge</a></p>'
    )


def test_secrets_come_from_the_environment_and_are_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORD", "p@ss/w:rd?")
    monkeypatch.setenv("WHOLE", "json://host/path?a=b")
    assert resolved(to("json://me:${WORD}@host"), "") == "json://me:p%40ss%2Fw%3Ard%3F@host"
    assert resolved(to("${WHOLE}"), "") == "json://host/path?a=b"
    with pytest.raises(NotDelivered, match="environment variable NOT_SET, which there needs, is not set"):
        deliver(to("json://${NOT_SET}"), "", RENDERED)


def test_what_cannot_be_delivered_says_why_and_nothing_secret(http: Receiver, mail: Receiver) -> None:
    http.refuses = mail.refuses = True
    with pytest.raises(NotDelivered, match="503") as refused:
        deliver(to(f"json://me:hunter2@127.0.0.1:{http.port}"), "", RENDERED)
    assert "hunter2" not in str(refused.value)
    with pytest.raises(NotDelivered, match="rejected it: 451 not now"):
        deliver(to(f"mailto://127.0.0.1:{mail.port}?from=a@example.com&to=b@example.com"), "", RENDERED)
    with pytest.raises(NotDelivered, match="is unreachable"):
        deliver(to("mailto://127.0.0.1:1?from=a@example.com&to=b@example.com"), "", RENDERED)
    with pytest.raises(NotDelivered, match="onnection"):
        deliver(to("json://127.0.0.1:1"), "", RENDERED)


def test_no_log_has_a_secret_however_much_is_logged(http: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    deliver(to(f"json://me:hunter2@127.0.0.1:{http.port}/hunter2?+X-Key=hunter2"), "", RENDERED)
    http.refuses = True
    with pytest.raises(NotDelivered):
        deliver(to(f"json://me:hunter2@127.0.0.1:{http.port}/hunter2?+X-Key=hunter2"), "", RENDERED)
    assert "503" in caplog.text, "what went wrong is said"
    assert "hunter2" not in caplog.text


def test_an_unknown_url_scheme_is_refused() -> None:
    with pytest.raises(NotDelivered, match="apprise does not support the URL of there"):
        deliver(to("nonsense://x"), "", RENDERED)
