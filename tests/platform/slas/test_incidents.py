"""One cause is one incident and one notification, whatever becomes known first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.alerts.outbox import acknowledge, decide_next
from headrace.alerts.queries import alerts
from headrace.alerts.records import AlertState, RenderedNotification
from headrace.alerts.rules import AlertRules, Destination, Route, Step
from headrace.alerts.sending import send_due
from headrace.slas.queries import incidents as listed
from headrace.slas.tick import evaluate
from tests.platform.alerts.making import rules
from tests.platform.slas.building import alert_events, declare, published, ran
from tests.platform.slas.test_tick import at, events, incidents

TO_OWNERS = replace(rules(), routes=(Route("all", (Step(("owners",)),)),))


def by(time: str, **more: Any) -> dict[str, Any]:
    """An SLA with a deadline every day."""
    hour, minute = time.split(":")
    return {"deadline": f"{int(minute)} {int(hour)} * * *", "timezone": "UTC", **more}


@dataclass
class Night:
    """The engine and the alerts of one night, tick by tick; pages: the titles of what has left, in order."""

    engine: Engine
    rules: AlertRules = TO_OWNERS
    pages: list[str] = field(default_factory=list)
    rendered: list[RenderedNotification] = field(default_factory=list)

    def tick(self, *times: str, day: int = 10) -> None:
        for time in times:
            now = at(f"2026-11-{day:02}T{time}")
            evaluate(self.engine, now)
            while decide_next(self.engine, self.rules, now).alert_events:
                pass
            send_due(self.engine, self.rules, lambda now=now: now, timedelta(seconds=60), self._send)  # type: ignore[misc]

    def _send(self, destination: Destination, address: str, rendered: RenderedNotification) -> None:
        self.pages.append(
            rendered.title if destination.name == "data" else f"{destination.name}: {rendered.title}"
        )
        self.rendered.append(rendered)

    def publish(self, time: str, *keys: str) -> None:
        for key in keys:
            published(self.engine, key, at(f"2026-11-10T{time}"))


def arrived(engine: Engine, times: Mapping[str, str], days: Iterable[int] = range(4, 10)) -> None:
    """Versions of the days before, at these times, each by a run of twenty minutes that ended a minute later."""
    for day in days:
        for key, time in times.items():
            moment = at(f"2026-11-{day:02}T{time}")
            published(engine, key, moment)
            ran(engine, key, moment - timedelta(minutes=20), moment + timedelta(minutes=1), "SUCCESS")


def test_a_child_that_is_late_before_its_parent_is_one_incident_with_it(engine: Engine) -> None:
    declare(engine, {"core/p": by("07:00"), "mart/c": by("06:00")}, [("core/p", "mart/c")])
    night = Night(engine)
    night.tick("00:00", "06:01")
    assert night.pages == ["LATE mart/c"]
    night.tick("07:01", "07:02")
    assert incidents(engine) == [("core/p", True)]
    night.publish("07:30", "core/p")
    night.tick("07:31")
    night.publish("08:00", "mart/c")
    night.tick("08:01", "08:02")
    assert incidents(engine) == [("core/p", False)]
    assert night.pages == ["LATE mart/c", "Now LATE core/p", "Recovered: LATE core/p"]


def test_an_incident_moves_to_what_turns_out_to_be_its_cause(engine: Engine) -> None:
    """The parent has not been reported so far, so it is not missed before its own deadline."""
    declare(engine, {"core/p": by("07:00"), "mart/c": by("06:00")}, [("core/p", "mart/c")])
    published(engine, "mart/c", at("2026-11-09T05:30"))
    night = Night(engine)
    night.tick("00:00", "06:01")
    assert incidents(engine) == [("mart/c", True)]
    night.tick("07:01")
    assert incidents(engine) == [("core/p", True)]
    night.publish("07:30", "core/p", "mart/c")
    night.tick("07:31")
    assert incidents(engine) == [("core/p", False)]
    assert night.pages == ["LATE mart/c", "Now LATE core/p", "Recovered: LATE core/p"]
    assert len({each.incident_id for each in alert_events(engine)}) == 1


def test_a_run_that_fails_after_what_it_makes_is_late_explains_it(engine: Engine) -> None:
    declare(engine, {"raw/a": None, "mart/c": by("06:00")}, [("raw/a", "mart/c")])
    arrived(engine, {"raw/a": "03:00", "mart/c": "05:00"})
    night = Night(engine)
    night.tick("00:00")
    night.publish("03:00", "raw/a")
    night.tick("06:01")
    assert incidents(engine) == [("mart/c", True)]
    ran(engine, "mart/c", at("2026-11-10T05:50"), at("2026-11-10T06:20"), "FAILED")
    night.tick("06:21")
    (found,) = listed(engine)
    assert (found.cause_type, found.cause) == ("PROCESS", "mart/c")
    assert night.pages == ["LATE mart/c", "Now RUN_FAILED process mart/c"]
    night.publish("06:50", "mart/c")
    night.tick("06:51")
    assert incidents(engine) == [("mart/c", True)], "the process that failed has not run since"
    ran(engine, "mart/c", at("2026-11-10T06:30"), at("2026-11-10T06:51"), "SUCCESS")
    night.tick("06:52")
    assert night.pages[2:] == ["Recovered: RUN_FAILED process mart/c"]


def test_forty_datasets_below_one_failed_input_are_one_page(engine: Engine) -> None:
    marts = [f"mart/m{number:02}" for number in range(40)]
    declare(
        engine,
        {"raw/a": None, **{key: by(f"06:{place:02}") for place, key in enumerate(marts)}},
        [("raw/a", key) for key in marts],
    )
    night = Night(engine)
    night.tick("00:00")
    ran(engine, "raw/a", at("2026-11-10T03:00"), at("2026-11-10T03:05"), "FAILED")
    night.tick("03:06", "06:10", "06:20", "06:59")
    assert night.pages == ["RUN_FAILED process raw/a"]
    assert incidents(engine) == [("raw/a", True)]
    (found,) = listed(engine)
    assert {(each.key, each.owners) for each in found.members} >= {(key, ("team:data",)) for key in marts}


def test_what_waits_for_a_member_joins_its_incident_though_the_cause_has_come_since(engine: Engine) -> None:
    declare(
        engine,
        {"raw/a": None, "core/b": by("06:00"), "mart/c": by("08:00")},
        [("raw/a", "core/b"), ("core/b", "mart/c")],
    )
    night = Night(engine)
    night.tick("00:00")
    ran(engine, "raw/a", at("2026-11-10T03:00"), at("2026-11-10T03:05"), "FAILED")
    night.tick("03:06", "06:01")
    ran(engine, "raw/a", at("2026-11-10T06:10"), at("2026-11-10T06:20"), "SUCCESS")
    night.publish("06:20", "raw/a")
    night.tick("06:21", "08:01")
    assert incidents(engine) == [("raw/a", True)]
    assert night.pages == ["RUN_FAILED process raw/a"]


def test_forty_datasets_that_were_late_before_the_input_failed_are_one_incident(engine: Engine) -> None:
    marts = [f"mart/m{number:02}" for number in range(40)]
    declare(engine, {"raw/a": None, **dict.fromkeys(marts, by("06:00"))}, [("raw/a", key) for key in marts])
    arrived(engine, {"raw/a": "03:00", **dict.fromkeys(marts, "05:00")})
    night = Night(engine)
    night.tick("00:00", "06:01")
    ran(engine, "raw/a", at("2026-11-10T05:00"), at("2026-11-10T06:05"), "FAILED")
    night.tick("06:06")
    assert incidents(engine) == [("raw/a", True)]
    assert len(night.pages) == 2
    assert night.pages[1] == "Now RUN_FAILED process raw/a"


def test_siblings_under_one_input_that_has_not_come_are_one_incident_at_that_input(engine: Engine) -> None:
    declare(
        engine,
        {"raw/x": None, "core/y": None, "raw/static": None, "mart/a": by("06:00"), "mart/b": by("06:30")},
        [("raw/x", "core/y"), ("core/y", "mart/a"), ("raw/x", "mart/b"), ("raw/static", "mart/b")],
    )
    published(engine, "raw/static", at("2026-10-01T03:00"))
    arrived(engine, {"raw/x": "03:00", "core/y": "04:00", "mart/a": "05:00", "mart/b": "05:30"})
    night = Night(engine)
    night.tick("00:00", "06:01", "06:31")
    assert incidents(engine) == [("raw/x", True)]
    assert night.pages == ["LATE mart/a"]
    assert "Waiting for raw/x." in night.rendered[0].body
    night.publish("07:00", "raw/x", "core/y", "mart/a", "mart/b")
    night.tick("07:01")
    assert night.pages == ["LATE mart/a", "Recovered: LATE mart/a"]


def test_who_has_all_inputs_is_the_cause_himself(engine: Engine) -> None:
    declare(
        engine,
        {"raw/x": None, "raw/z": None, "mart/a": by("06:00"), "mart/b": by("06:00")},
        [("raw/x", "mart/a"), ("raw/z", "mart/b")],
    )
    arrived(engine, {"raw/x": "03:00", "raw/z": "03:00", "mart/a": "05:00", "mart/b": "05:00"})
    night = Night(engine)
    night.tick("00:00")
    night.publish("03:00", "raw/x")
    night.tick("06:01")
    assert incidents(engine) == [("mart/a", True), ("raw/z", True)]


def test_a_volume_that_is_too_small_is_apart_from_who_comes_late(engine: Engine) -> None:
    declare(engine, {"core/p": by("05:00"), "mart/c": {"min_rows": 100}}, [("core/p", "mart/c")])
    night = Night(engine)
    night.tick("00:00", "05:01")
    published(engine, "mart/c", at("2026-11-10T05:30"), rows=3)
    night.tick("05:31")
    assert incidents(engine) == [("core/p", True), ("mart/c", True)]
    assert night.pages == ["LATE core/p", "MISSED mart/c"]


def test_a_volume_stays_behind_when_what_is_late_at_the_same_place_moves(engine: Engine) -> None:
    declare(engine, {"core/p": None, "mart/c": by("06:00", min_rows=100)}, [("core/p", "mart/c")])
    night = Night(engine)
    night.tick("00:00", day=9)
    published(engine, "mart/c", at("2026-11-09T05:30"), rows=3)
    night.tick("05:31", day=9)
    night.tick("06:01")
    assert incidents(engine) == [("mart/c", True)]
    ran(engine, "core/p", at("2026-11-10T05:50"), at("2026-11-10T06:20"), "FAILED")
    night.tick("06:21")
    assert sorted(incidents(engine)) == [("core/p", True), ("mart/c", True)]
    ran(engine, "core/p", at("2026-11-10T06:30"), at("2026-11-10T06:40"), "SUCCESS")
    published(engine, "mart/c", at("2026-11-10T07:20"), rows=3)
    night.tick("07:21")
    assert sorted(incidents(engine)) == [("core/p", False), ("mart/c", True)]


def test_a_child_whose_own_run_failed_keeps_its_own_incident(engine: Engine) -> None:
    declare(engine, {"core/p": by("07:00"), "mart/c": by("06:00")}, [("core/p", "mart/c")])
    night = Night(engine)
    night.tick("00:00")
    ran(engine, "mart/c", at("2026-11-10T05:00"), at("2026-11-10T05:10"), "FAILED")
    night.tick("05:11", "06:01", "07:01")
    assert incidents(engine) == [("mart/c", True), ("core/p", True)]
    assert night.pages == ["RUN_FAILED process mart/c", "LATE core/p"]


def test_what_a_parent_owes_for_the_next_day_is_no_cause_for_what_is_late_since_yesterday(
    engine: Engine,
) -> None:
    declare(
        engine, {"core/p": by("05:00"), "mart/c": by("06:00", within_seconds=7200)}, [("core/p", "mart/c")]
    )
    arrived(engine, {"core/p": "04:30", "mart/c": "05:30"}, days=range(4, 9))
    night = Night(engine)
    night.tick("00:00", day=9)
    published(engine, "core/p", at("2026-11-09T04:30"))
    night.tick("06:01", day=9)
    night.tick("05:01", day=10)
    assert incidents(engine) == [("mart/c", True), ("core/p", True)]


def test_incidents_that_were_two_end_as_one(engine: Engine) -> None:
    """The older one continues at the cause; recipients of the other one learn where it continues."""
    declare(
        engine,
        {"core/p": by("07:00"), "mart/a": by("06:00"), "mart/b": by("06:10")},
        [("core/p", "mart/a"), ("core/p", "mart/b")],
    )
    arrived(engine, {"mart/a": "05:00", "mart/b": "05:00"})
    night = Night(engine, rules())
    night.tick("00:00", "06:01", "06:11")
    assert incidents(engine) == [("mart/a", True), ("mart/b", True)]
    of_b = next(each.alert for each in alerts(engine) if each.alert.subject.key == "mart/b")
    acknowledge(engine, of_b.alert_id, "alice", at("2026-11-10T06:15"))
    night.tick("06:35")
    assert night.pages == ["LATE mart/a", "LATE mart/b", "lead: Not acknowledged: LATE mart/a"]

    night.tick("07:01")
    assert sorted(night.pages[3:]) == ["Now LATE core/p", "Part of core/p: LATE mart/b"]
    (message,) = [each for each in night.rendered if each.title.startswith("Part of")]
    assert "mart/b is late. It is now part of core/p." in message.body
    assert "Acknowledged: by alice" in message.body
    assert message.ends_thread, "a pager's own incident is over"
    (found,) = listed(engine)
    assert (found.cause, {each.key for each in found.members}) == ("core/p", {"core/p", "mart/a", "mart/b"})
    (old,) = [each for each in listed(engine, open_only=False) if each.closed_at]
    assert old.part_of == found.incident_id
    assert [each.incident_id for each in listed(engine, key="mart/b")] == [found.incident_id]

    night.tick(
        "08:02"
    )  # the one that continues is not acknowledged: it escalates, and the other one does not
    assert sorted(night.pages[5:]) == [
        "lead: Not acknowledged: LATE core/p",
        "on_call: Not acknowledged: LATE core/p",
    ]
    night.publish("08:10", "core/p", "mart/a", "mart/b")
    night.tick("08:11", "08:12")
    assert sorted(night.pages[7:]) == [
        "Recovered: LATE core/p",
        "lead: Recovered: LATE core/p",
        "on_call: Recovered: LATE core/p",
    ]
    assert {each.alert.state for each in alerts(engine)} == {AlertState.CLOSED}


def test_an_acknowledgement_stays_when_the_incident_moves_to_its_cause(engine: Engine) -> None:
    declare(engine, {"core/p": by("07:00"), "mart/c": by("06:00")}, [("core/p", "mart/c")])
    published(engine, "mart/c", at("2026-11-09T05:30"))
    night = Night(engine, rules())
    night.tick("00:00", "06:01")
    (found,) = alerts(engine)
    acknowledge(engine, found.alert.alert_id, "alice", at("2026-11-10T06:15"))
    night.tick("07:01", "09:00")
    assert night.pages == ["LATE mart/c", "Now LATE core/p"], (
        "the first step hears of it, and nothing escalates"
    )
    (found,) = alerts(engine)
    assert (found.alert.state, found.alert.acknowledged_by) == (AlertState.ACKNOWLEDGED, "alice")
    assert found.alert.affected == {"mart/c": ("team:data",)}


def test_the_end_of_an_incident_lists_who_was_late_because_of_it(engine: Engine) -> None:
    declare(engine, {"core/p": by("05:00"), "mart/c": by("06:00"), "mart/d": by("09:00")},
            [("core/p", "mart/c"), ("core/p", "mart/d")])  # fmt: skip
    night = Night(engine)
    night.tick("00:00", "05:01")
    night.publish("06:30", "core/p", "mart/c", "mart/d")
    night.tick("07:00")
    (end,) = [each for each in alert_events(engine) if each.kind.value == "INCIDENT_CLOSED"]
    assert end.facts["members"] == ["core/p", "mart/c"], "one of them late and back between two looks"


def test_a_run_and_the_version_that_its_check_stopped_are_one_incident(engine: Engine) -> None:
    declare(engine, {"mart/c": by("06:00")})
    night = Night(engine)
    night.tick("00:00")
    run = ran(engine, "mart/c", at("2026-11-10T04:00"), at("2026-11-10T04:31"), "BLOCKED")
    published(engine, "mart/c", at("2026-11-10T04:30"), outcome="BLOCKED", run=run)
    night.tick("04:32", "06:01")
    assert incidents(engine) == [("mart/c", True)]
    assert night.pages == ["RUN_FAILED process mart/c"]


def test_a_job_that_fails_after_its_failed_input_is_part_of_it_until_it_has_run(engine: Engine) -> None:
    declare(engine, {"raw/a": None, "core/b": by("06:00")}, [("raw/a", "core/b")])
    night = Night(engine)
    night.tick("00:00")
    ran(engine, "raw/a", at("2026-11-10T03:00"), at("2026-11-10T03:05"), "FAILED")
    night.tick("03:06")
    ran(engine, "core/b", at("2026-11-10T03:10"), at("2026-11-10T03:15"), "FAILED")
    night.tick("03:16")
    assert incidents(engine) == [("raw/a", True)]
    ran(engine, "raw/a", at("2026-11-10T04:00"), at("2026-11-10T04:05"), "SUCCESS")
    night.tick("04:06")
    assert incidents(engine) == [("raw/a", True)]
    ran(engine, "core/b", at("2026-11-10T04:10"), at("2026-11-10T04:15"), "SUCCESS")
    night.tick("04:16")
    assert incidents(engine) == [("raw/a", False)]
    assert night.pages == ["RUN_FAILED process raw/a", "Recovered: RUN_FAILED process raw/a"]


@pytest.mark.parametrize("warned", ["05:30", "05:59"])
def test_an_input_that_arrived_late_no_longer_blocks(engine: Engine, warned: str) -> None:
    """The input's input fails after the input arrived: it is not a cause of what is late then."""
    declare(
        engine,
        {"raw/a": None, "core/p": by("05:00"), "mart/c": by("06:00")},
        [("raw/a", "core/p"), ("core/p", "mart/c")],
    )
    night = Night(engine)
    night.tick("00:00", "05:01")
    night.publish("05:20", "core/p")
    night.tick("05:21")
    ran(engine, "raw/a", at("2026-11-10T05:25"), at(f"2026-11-10T{warned}"), "FAILED")
    night.tick("06:01")
    assert [each for each in incidents(engine) if each[1]] == [("raw/a", True), ("mart/c", True)]
    assert ("mart/c", "LATE") in events(engine)
