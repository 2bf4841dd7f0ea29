"""Effects of alert events and acknowledgements: the state table, and its invariants."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headrace.alerts.decisions import Decision, acknowledge, decide, decide_due, hand_over, resolve
from headrace.alerts.records import (
    AcknowledgementAction,
    Alert,
    AlertState,
    Notification,
    NotificationState,
    Purpose,
)
from headrace.alerts.rules import AlertRules
from headrace.errors import NotAcknowledged
from headrace.severity import Severity
from headrace.slas.events import Kind
from tests.platform.alerts.making import START, alert_event, at, incident, night, rules

INCIDENT = incident()
ENDS = (Kind.INCIDENT_CLOSED, Kind.INCIDENT_MERGED)
LAST = (Purpose.RECOVERED, Purpose.UNDELIVERED, Purpose.JOINED)


class Thread:
    """One alert, as the outbox would keep it."""

    def __init__(self, rules: AlertRules) -> None:
        self.rules = rules
        self.alert: Alert | None = None
        self.notifications: dict[object, Notification] = {}

    def happens(self, kind: Kind, minutes: float, **given: Any) -> Decision | None:
        event = alert_event(kind, INCIDENT, minutes, **given)
        decision = decide(
            INCIDENT, self.alert, list(self.notifications.values()), event, self.rules, at(minutes)
        )
        if decision:
            self.take(decision)
        return decision

    def acknowledged(self, minutes: float, by: str = "alice", lasts: timedelta | None = None) -> None:
        assert self.alert is not None
        notifications = list(self.notifications.values())
        self.take(acknowledge(self.alert, notifications, by, None, at(minutes), lasts))

    def handed_over(self, minutes: float, to: str) -> None:
        assert self.alert is not None
        self.take(hand_over(self.alert, "alice", to, "the file is there", at(minutes)))

    def resolved(self, minutes: float, by: str = "alice") -> None:
        assert self.alert is not None
        self.take(resolve(self.alert, list(self.notifications.values()), by, "no need", at(minutes)))

    def time_passes(self, minutes: float) -> None:
        """Decide again, as the outbox does at each tick."""
        assert self.alert is not None
        decision = decide_due(self.alert, list(self.notifications.values()), self.rules, at(minutes))
        if decision:
            self.take(decision)

    def take(self, decision: Decision) -> None:
        self.alert = decision.alert
        for key in decision.drop:
            assert self.notifications[key].state is NotificationState.PENDING
            self.notifications[key] = replace(self.notifications[key], state=NotificationState.DROPPED)
        for notification in decision.send:
            known = self.notifications.get(notification.notification_id)
            assert known is None or known.subjects < notification.subjects, (
                "one message is decided upon twice"
            )
            self.notifications[notification.notification_id] = notification

    def send(self, minutes: float) -> list[tuple[str, str]]:
        """Send due notifications; returns purpose and destination of each."""
        sent = []
        for key, notification in self.notifications.items():
            if notification.state is NotificationState.PENDING and notification.due_at <= at(minutes):
                self.notifications[key] = replace(notification, state=NotificationState.SENT, tries=1)
                sent.append((notification.purpose.value, notification.recipient.destination))
        return sent


def test_at_risk_then_late_escalates_until_the_file_is_there() -> None:
    thread = Thread(rules())
    thread.happens(Kind.AT_RISK, 0)
    assert thread.send(0) == [("RAISED", "data")]
    thread.happens(Kind.LATE, 40)
    assert thread.send(40) == [("WORSENED", "data")]
    assert thread.send(69) == []
    assert thread.send(70) == [("ESCALATED", "lead")]
    thread.happens(Kind.MET_LATE, 80)
    thread.happens(Kind.INCIDENT_CLOSED, 80)
    assert thread.send(80) == [("RECOVERED", "data"), ("RECOVERED", "lead")]
    assert thread.send(600) == []
    assert thread.alert is not None
    assert thread.alert.state is AlertState.CLOSED
    assert [
        m.recipient.destination for m in thread.notifications.values() if m.state is NotificationState.DROPPED
    ] == ["on_call"]


def test_an_acknowledged_alert_does_not_escalate() -> None:
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0)
    thread.send(0)
    thread.acknowledged(10)
    assert thread.send(600) == []
    thread.happens(Kind.INCIDENT_CLOSED, 610)
    assert thread.send(610) == [("RECOVERED", "data")]


def test_an_acknowledged_alert_that_worsens_notifies_the_first_step() -> None:
    thread = Thread(rules())
    thread.happens(Kind.AT_RISK, 0)
    thread.send(0)
    thread.acknowledged(1)
    thread.happens(Kind.LATE, 40)
    assert thread.send(600) == [("WORSENED", "data")]
    assert thread.alert is not None
    assert thread.alert.state is AlertState.ACKNOWLEDGED


def test_the_same_again_and_its_consequences_are_no_news() -> None:
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0)
    thread.send(0)
    for minute, key in ((1, "mart/delays"), (2, "mart/report"), (3, "mart/summary")):
        thread.happens(Kind.LATE, minute, key=key, owners=("team:bi",))
    assert thread.send(4) == []
    assert thread.alert is not None
    assert thread.alert.event_count == 4
    assert thread.alert.affected == {"mart/report": ("team:bi",), "mart/summary": ("team:bi",)}


def test_the_steps_start_again_until_someone_acknowledges() -> None:
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0)
    for minute in (0, 30, 60):
        thread.send(minute)
    thread.time_passes(60 + 4 * 60 - 1)
    assert thread.send(60 + 4 * 60 - 1) == []
    thread.time_passes(60 + 4 * 60)
    assert thread.send(300) == [("REPEATED", "data")], "four hours after the last step"
    assert thread.send(330) == [("ESCALATED", "lead")]
    thread.acknowledged(331)
    assert thread.send(400) == []


def test_a_route_may_never_repeat() -> None:
    routes = tuple(replace(route, repeat_every=None) for route in rules().routes)
    thread = Thread(replace(rules(), routes=routes))
    thread.happens(Kind.LATE, 0)
    for minute in (0, 30, 60):
        thread.send(minute)
    thread.time_passes(100_000)
    assert thread.send(100_000) == []


def test_an_alert_without_a_route_finds_one_later() -> None:
    thread = Thread(replace(rules(), routes=()))
    thread.happens(Kind.LATE, 0)
    thread.rules = rules()
    thread.time_passes(4 * 60)
    assert thread.send(4 * 60) == [("RAISED", "data")]


def test_an_acknowledgement_expires_and_the_alert_escalates_again() -> None:
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0)
    thread.send(0)
    thread.acknowledged(10, lasts=timedelta(hours=4))
    thread.time_passes(249)
    assert thread.send(249) == []
    thread.time_passes(250)
    alert = thread.alert
    assert alert is not None
    assert (alert.state, alert.acknowledged_by) == (AlertState.OPEN, None)
    assert thread.send(250) == [("REPEATED", "data")]
    assert thread.send(280) == [("ESCALATED", "lead")]
    assert [(each.action, each.holder, each.at) for each in alert.acknowledgements] == [
        (AcknowledgementAction.ACKNOWLEDGED, "alice", at(10)),
        (AcknowledgementAction.EXPIRED, "alice", at(250)),
    ]


def test_without_a_duration_an_acknowledgement_lasts_as_long_as_the_rules_say() -> None:
    thread = Thread(replace(rules(), acknowledge_for=timedelta(hours=2)))
    thread.happens(Kind.LATE, 0)
    thread.send(0)
    thread.acknowledged(10)
    thread.time_passes(129)
    assert thread.send(129) == []
    thread.time_passes(130)
    assert thread.send(130) == [("REPEATED", "data")]


def test_only_who_acknowledged_it_may_renew_it() -> None:
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0)
    thread.acknowledged(10, lasts=timedelta(hours=1))
    thread.acknowledged(20, by="bob", lasts=timedelta(hours=9))
    assert thread.alert is not None
    assert (thread.alert.acknowledged_by, thread.alert.acknowledged_until) == ("alice", at(70))
    thread.acknowledged(30, lasts=timedelta(hours=2))
    assert thread.alert.acknowledged_until == at(150)


def test_a_hand_over_notifies_the_new_holder_and_is_kept() -> None:
    thread = Thread(replace(rules(), owners={"team:data": ("data",), "team:ops": ("on_call",)}))
    thread.happens(Kind.LATE, 0)
    thread.send(0)
    thread.acknowledged(10)
    thread.handed_over(20, "team:ops")
    thread.time_passes(20)
    thread.time_passes(21)
    assert thread.send(600) == [("HANDED_OVER", "on_call")]
    assert thread.alert is not None
    assert (thread.alert.state, thread.alert.acknowledged_by) == (AlertState.ACKNOWLEDGED, "team:ops")
    assert [(each.action, each.by, each.holder) for each in thread.alert.acknowledgements] == [
        (AcknowledgementAction.ACKNOWLEDGED, "alice", "alice"),
        (AcknowledgementAction.HANDED_OVER, "alice", "team:ops"),
    ]
    thread.happens(Kind.INCIDENT_CLOSED, 610)
    assert thread.send(610) == [("RECOVERED", "data"), ("RECOVERED", "on_call")]


def test_an_alert_that_no_one_acknowledged_is_not_handed_over() -> None:
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0)
    with pytest.raises(NotAcknowledged, match="the alert is open"):
        thread.handed_over(20, "team:ops")


def due(minutes: float) -> str:
    return at(minutes).isoformat()


def test_owners_learn_of_their_own_broken_deadline_behind_an_acknowledged_incident() -> None:
    thread = Thread(replace(rules(), owners={"team:data": ("data",), "team:bi": ("lead",)}))
    thread.happens(Kind.RUN_FAILED, 0, key="core/load")
    thread.send(0)
    thread.acknowledged(5)
    thread.happens(Kind.AT_RISK, 30, key="mart/report", owners=("team:bi",), deadline=due(60))
    assert thread.send(30) == [], "a risk is no broken deadline"
    thread.happens(Kind.LATE, 60, key="mart/report", owners=("team:bi",), deadline=due(60))
    thread.happens(Kind.LATE, 60, key="mart/summary", owners=("team:bi",), deadline=due(60))
    assert thread.send(60) == [("BREACHED", "lead")], "one notification for what happened at once"
    (breached,) = (m for m in thread.notifications.values() if m.purpose is Purpose.BREACHED)
    assert breached.subjects == ("mart/report", "mart/summary")
    assert thread.alert is not None
    assert thread.alert.state is AlertState.ACKNOWLEDGED
    thread.happens(Kind.MISSED, 90, key="mart/report", owners=("team:bi",), deadline=due(60))
    assert thread.send(90) == [], "the same deadline"
    thread.happens(Kind.INCIDENT_CLOSED, 100)
    assert thread.send(100) == [("RECOVERED", "data"), ("RECOVERED", "lead")]
    ends = {m.recipient.destination: m.subjects for m in thread.notifications.values() if m.purpose.is_end}
    assert ends == {"data": (), "lead": ("mart/report", "mart/summary")}


def test_a_recipient_of_the_alert_knows_the_deadlines_that_it_affects() -> None:
    thread = Thread(rules())
    thread.happens(Kind.RUN_FAILED, 0, key="core/load")
    thread.send(0)
    thread.acknowledged(5)
    thread.happens(Kind.LATE, 60, key="mart/report", deadline=due(60))
    assert thread.send(60) == []
    assert thread.alert is not None
    assert [each.key for each in thread.alert.breaches] == ["mart/report"]
    thread.happens(Kind.LATE, 24 * 60, key="mart/report", deadline=due(24 * 60))
    assert thread.send(24 * 60) == [("BREACHED", "data")]


def test_the_next_deadline_of_the_same_dataset_is_news_but_not_every_few_minutes() -> None:
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0, deadline=due(0))
    thread.send(0)
    thread.acknowledged(1, lasts=timedelta(days=7))
    for minute in range(20, 239, 20):
        thread.happens(Kind.LATE, minute, deadline=due(minute))
    assert thread.send(239) == []
    day = 24 * 60
    thread.happens(Kind.LATE, day, deadline=due(day))
    assert thread.send(day) == [("BREACHED", "data")]


def test_a_worse_issue_at_another_subject_changes_the_alerts_subject() -> None:
    """Recipients of the milder alert are notified as well."""
    thread = Thread(rules())
    thread.happens(
        Kind.AT_RISK, 0, key="mart/delays", owners=("alice@example.com",), deadline="2026-11-02T10:00:00Z"
    )
    thread.happens(Kind.LATE, 5, key="mart/report", owners=("team:data",), deadline="2026-11-02T09:05:00Z")
    alert = thread.alert
    assert alert is not None
    assert (alert.subject.key, alert.kind, alert.at) == ("mart/report", Kind.LATE, at(5))
    assert alert.facts["deadline"] == "2026-11-02T09:05:00Z"
    assert alert.affected == {"mart/delays": ("alice@example.com",)}
    assert thread.send(5) == [("RAISED", "data")]


def test_owners_notified_before_learn_of_the_worse_issue() -> None:
    thread = Thread(replace(rules(), owners={"team:data": ("data",), "team:bi": ("on_call",)}))
    thread.happens(Kind.AT_RISK, 0, owners=("team:bi",))
    assert thread.send(0) == [("RAISED", "on_call")]
    thread.happens(Kind.LATE, 5, key="mart/report", owners=("team:data",))
    assert thread.send(5) == [("WORSENED", "data"), ("WORSENED", "on_call")]


def test_a_root_cause_is_notified_once_at_the_same_severity() -> None:
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0)
    thread.send(0)
    thread.happens(Kind.AT_RISK, 20, key="core/input", is_cause=True)
    assert thread.send(20) == [("WORSENED", "data")]
    thread.happens(Kind.LATE, 40, key="core/input", is_cause=True)
    assert thread.send(40) == []
    alert = thread.alert
    assert alert is not None
    assert (alert.subject.key, alert.kind, alert.severity) == ("core/input", Kind.LATE, Severity.ERROR)
    assert alert.affected == {"mart/delays": ("team:data",)}
    assert thread.send(50) == [("ESCALATED", "lead")], "half an hour after the cause was told"


def test_what_goes_on_as_part_of_another_neither_escalates_nor_recovers() -> None:
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0)
    thread.send(0)
    thread.acknowledged(5)
    thread.happens(Kind.INCIDENT_MERGED, 10, part_of="core/input", part_of_id=str(INCIDENT))
    assert thread.send(600) == [("JOINED", "data")]
    assert thread.happens(Kind.INCIDENT_CLOSED, 610) is None
    assert thread.alert is not None
    assert (thread.alert.state, thread.alert.acknowledged_by) == (AlertState.CLOSED, "alice")


def test_recovery_is_not_sent_to_those_never_notified() -> None:
    thread = Thread(rules(night()))
    thread.happens(Kind.AT_RISK, 13 * 60)  # 22:00
    assert thread.send(13 * 60) == []
    thread.happens(Kind.INCIDENT_CLOSED, 14 * 60)
    assert thread.send(48 * 60) == []


def test_recovery_is_sent_to_everyone_possibly_notified() -> None:
    """The sender died, or the answer was lost, after it had begun."""
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0)
    key, notification = next(iter(thread.notifications.items()))
    thread.notifications[key] = replace(notification, tries=1)
    thread.happens(Kind.INCIDENT_CLOSED, 1)
    assert thread.send(1) == [("RECOVERED", "data")]


def test_one_whom_no_notification_reached_learns_more_than_a_recovery() -> None:
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0)
    key, notification = next(iter(thread.notifications.items()))
    thread.notifications[key] = replace(notification, tries=9, reason="refused")
    thread.happens(Kind.INCIDENT_CLOSED, 1)
    assert thread.send(1) == [("UNDELIVERED", "data")]


def test_an_alert_that_ends_without_recovery_keeps_the_reason() -> None:
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0)
    thread.send(0)
    thread.happens(Kind.INCIDENT_CLOSED, 10, ended_by="PAUSED", pause="on hold")
    assert thread.alert is not None
    assert (thread.alert.facts["ended_by"], thread.alert.facts["pause"]) == ("PAUSED", "on hold")


def test_a_resolved_alert_informs_its_recipients_once_and_stays_closed() -> None:
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0)
    thread.send(0)
    thread.resolved(10)
    assert thread.alert is not None
    assert (thread.alert.state, thread.alert.closed_at) == (AlertState.CLOSED, at(10))
    assert thread.alert.acknowledgements[-1].action is AcknowledgementAction.RESOLVED

    thread.time_passes(11)
    assert thread.send(11) == [("RECOVERED", "data")]
    thread.time_passes(600)
    thread.resolved(601)
    assert thread.happens(Kind.INCIDENT_CLOSED, 602) is None
    assert thread.send(700) == []
    assert thread.alert.closed_at == at(10)


def test_anything_new_opens_a_resolved_alert_again() -> None:
    thread = Thread(rules())
    thread.happens(Kind.LATE, 0)
    thread.send(0)
    thread.resolved(10)
    thread.happens(Kind.ON_TRACK, 12)
    assert thread.alert is not None
    assert thread.alert.state is AlertState.CLOSED

    opened = thread.happens(Kind.MISSED, 20)
    assert opened is not None
    assert opened.alert.state is AlertState.OPEN
    assert "ended_by" not in opened.alert.facts
    assert thread.send(20) == [("RAISED", "data")]


def test_escalation_counts_from_when_the_first_message_may_leave() -> None:
    thread = Thread(rules(night(least=Severity.ERROR)))
    quiet = replace(thread.rules, quiet=(replace(thread.rules.quiet[0], least=Severity.ERROR),))
    thread.rules = replace(quiet, routes=(replace(quiet.routes[0], least=Severity.INFO),))
    thread.happens(Kind.AT_RISK, 14 * 60)  # 23:00; it may leave at 07:00, 22 hours after START
    due = [notification.due_at for notification in thread.notifications.values()]
    assert due == [at(22 * 60), at(22 * 60 + 30), at(22 * 60 + 60)]


def test_a_reopened_incident_alerts_and_recovers_again() -> None:
    thread = Thread(rules())
    for start in (0, 100):
        thread.happens(Kind.LATE, start)
        assert thread.send(start) == [("RAISED", "data")]
        thread.happens(Kind.INCIDENT_CLOSED, start + 5)
        assert thread.send(start + 5) == [("RECOVERED", "data")]


def test_an_event_without_incident_is_sent_once_and_closed() -> None:
    event = replace(alert_event(Kind.SCHEMA_CHANGED, None), severity=Severity.ERROR)
    decision = decide(INCIDENT, None, (), event, rules(), START)
    assert decision is not None
    assert decision.alert.state is AlertState.CLOSED
    assert [(m.purpose, m.recipient.destination) for m in decision.send] == [(Purpose.RAISED, "data")]


def test_good_news_alone_is_no_alert() -> None:
    for kind in (Kind.ON_TRACK, Kind.MET_LATE, Kind.PAUSED, Kind.SENSOR_BACK, *ENDS):
        assert Thread(rules()).happens(kind, 0) is None


def test_an_alert_that_no_route_fits_is_kept_and_says_so() -> None:
    thread = Thread(replace(rules(), routes=()))
    thread.happens(Kind.LATE, 0)
    assert thread.alert is not None
    assert (thread.alert.state, thread.alert.route, thread.notifications) == (AlertState.OPEN, None, {})


class Anything(RuleBasedStateMachine):
    """Any events in any order: the invariants of the states hold."""

    def __init__(self) -> None:
        super().__init__()
        self.minutes = 0.0
        self.thread = Thread(rules(night()))

    @rule(kind=st.sampled_from(Kind), key=st.sampled_from(["mart/delays", "mart/report"]))
    def happens(self, kind: Kind, key: str) -> None:
        before = self.thread.alert
        decision = self.thread.happens(kind, self.minutes, key=key)
        if decision and before and before.state is not AlertState.CLOSED and kind not in ENDS:
            is_worse = decision.alert.severity != before.severity
            assert bool(decision.send) <= is_worse, "no news was told"
        if decision and kind in ENDS:
            sent = {notification.recipient for notification in decision.send}
            assert len(sent) == len(decision.send), "more than one recovery for one recipient"

    @precondition(lambda self: self.thread.alert is not None)
    @rule()
    def someone_acknowledges(self) -> None:
        self.thread.acknowledged(self.minutes)

    @precondition(lambda self: self.thread.alert is not None)
    @rule()
    def someone_resolves(self) -> None:
        self.thread.resolved(self.minutes)
        self.thread.time_passes(self.minutes)

    @rule(minutes=st.sampled_from([0.5, 29, 31, 600]))
    def time_passes(self, minutes: float) -> None:
        self.minutes += minutes
        if self.thread.alert is not None:
            self.thread.time_passes(self.minutes)

    @rule()
    def messages_leave(self) -> None:
        closed = self.thread.alert is None or self.thread.alert.state is AlertState.CLOSED
        sent = self.thread.send(self.minutes)
        if closed:
            assert {purpose for purpose, _ in sent} <= set(LAST)
        elif self.thread.alert and self.thread.alert.state is AlertState.ACKNOWLEDGED:
            assert "ESCALATED" not in {purpose for purpose, _ in sent}

    @rule(number=st.integers(0, 5))
    def a_sender_dies(self, number: int) -> None:
        pending = [
            key for key, each in self.thread.notifications.items() if each.state is NotificationState.PENDING
        ]
        if pending:
            key = pending[number % len(pending)]
            self.thread.notifications[key] = replace(self.thread.notifications[key], tries=1)

    @invariant()
    def everyone_notified_learns_of_the_end(self) -> None:
        thread = self.thread
        if thread.alert is None or thread.alert.state is not AlertState.CLOSED:
            return
        recovered = {(m.recipient, m.round) for m in thread.notifications.values() if m.purpose in LAST}
        for notification in thread.notifications.values():
            if notification.state is NotificationState.SENT and notification.purpose not in LAST:
                ends = [number for recipient, number in recovered if recipient == notification.recipient]
                assert any(number >= notification.round for number in ends)

    @invariant()
    def an_open_alert_has_notified_or_will_notify(self) -> None:
        alert = self.thread.alert
        if alert is not None and alert.state is not AlertState.CLOSED and alert.route is not None:
            mine = [m for m in self.thread.notifications.values() if m.purpose not in LAST]
            assert any(
                m.state in (NotificationState.PENDING, NotificationState.SENT) or m.tries for m in mine
            )


Anything.TestCase.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
TestAnything = Anything.TestCase
