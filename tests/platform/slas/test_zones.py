"""A country changes its clocks, and the machine learns of it: before it does so, or days later.

The country is three hours ahead of UTC; by the one rule it goes back to two hours in winter (on Friday, 30 October
2026, at 1:00), by the other it does not, as Jordan decided in 2022. The deadline is 6:00.
"""

from __future__ import annotations

import struct
import zoneinfo
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.slas import zones
from headrace.slas.tick import evaluate
from tests.platform.slas.building import alert_events, declare, published

GOES_BACK, STAYS = "<+02>-2<+03>,M3.5.5/0,M10.5.5/1", "<+03>-3"
SLA = {"deadline": "0 6 * * *", "timezone": "Test/Country"}
Rule = Callable[[str], None]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def rule(tmp_path: Path) -> Iterator[Rule]:
    """Makes a rule that of the country, as an update of the machine and a restart do."""
    usual = zoneinfo.TZPATH
    folder = tmp_path / "zoneinfo"
    (folder / "Test").mkdir(parents=True)

    def know() -> None:
        zoneinfo.ZoneInfo.clear_cache()
        zones.rules.cache_clear()

    def update(footer: str) -> None:
        (folder / "Test" / "Country").write_bytes(_zone(footer))
        zoneinfo.reset_tzpath([folder, *usual])
        know()

    yield update
    zoneinfo.reset_tzpath(usual)
    know()


def _zone(footer: str) -> bytes:
    """A zone without any past: TZif, version 2 (RFC 9636), all in its footer."""
    header = b"TZif2" + bytes(15) + struct.pack(">6l", 0, 0, 0, 0, 1, 4)
    data = struct.pack(">lbb", 0, 0, 0) + b"UTC\0"
    return 2 * (header + data) + f"\n{footer}\n".encode()


def objective_state(engine: Engine) -> tuple[str, datetime]:
    with transaction(engine) as cursor:
        row = cursor.execute("SELECT state, deadline FROM catalog.sla_objective").fetchone()
    assert row is not None
    return row["state"], row["deadline"]


def recorded_events(engine: Engine) -> list[tuple[str, datetime]]:
    return [(each.kind.value, each.at) for each in alert_events(engine)]


def test_a_deadline_that_comes_earlier_by_new_rules_is_late_then(engine: Engine, rule: Rule) -> None:
    rule(GOES_BACK)
    declare(engine, {"sales/orders": SLA})
    evaluate(engine, at("2026-10-29T12:00"))
    assert objective_state(engine) == ("UNKNOWN", at("2026-10-30T04:00"))
    rule(STAYS)
    evaluate(engine, at("2026-10-29T20:00"))
    assert objective_state(engine) == ("UNKNOWN", at("2026-10-30T03:00"))
    evaluate(engine, at("2026-10-30T03:01"))
    assert recorded_events(engine) == [("LATE", at("2026-10-30T03:00"))]


def test_rules_that_are_learned_in_the_last_hour_count_at_once(engine: Engine, rule: Rule) -> None:
    rule(GOES_BACK)
    declare(engine, {"sales/orders": SLA})
    evaluate(engine, at("2026-10-30T02:50"))
    rule(STAYS)
    evaluate(engine, at("2026-10-30T03:05"))
    assert recorded_events(engine) == [("LATE", at("2026-10-30T03:00"))]


def test_what_is_late_by_old_rules_only_is_late_no_more(engine: Engine, rule: Rule) -> None:
    rule(STAYS)
    declare(engine, {"sales/orders": SLA})
    evaluate(engine, at("2026-10-30T00:00"))
    evaluate(engine, at("2026-10-30T03:30"))
    assert objective_state(engine) == ("LATE", at("2026-10-30T03:00"))
    rule(GOES_BACK)
    evaluate(engine, at("2026-10-30T03:40"))
    assert objective_state(engine) == ("ON_TRACK", at("2026-10-30T04:00"))
    published(engine, "sales/orders", at("2026-10-30T03:50"))
    evaluate(engine, at("2026-10-30T04:10"))
    assert objective_state(engine) == ("ON_TRACK", at("2026-10-31T04:00"))


def test_a_day_that_has_had_its_deadline_by_old_rules_has_no_second_one(engine: Engine, rule: Rule) -> None:
    rule(STAYS)
    declare(engine, {"sales/orders": SLA})
    evaluate(engine, at("2026-11-02T00:00"))
    published(engine, "sales/orders", at("2026-11-02T02:30"))
    evaluate(engine, at("2026-11-02T03:10"))
    assert objective_state(engine) == ("ON_TRACK", at("2026-11-03T03:00"))
    rule(GOES_BACK)  # three days after the country did
    evaluate(engine, at("2026-11-02T03:20"))
    assert objective_state(engine) == ("ON_TRACK", at("2026-11-03T04:00"))
    evaluate(engine, at("2026-11-02T04:10"))
    assert recorded_events(engine) == []


def test_rules_that_have_not_changed_are_no_reason_to_look(engine: Engine, rule: Rule) -> None:
    rule(STAYS)
    declare(engine, {"sales/orders": SLA})
    evaluate(engine, at("2026-11-02T00:00"))
    rule(STAYS)
    assert evaluate(engine, at("2026-11-02T00:01")).evaluated == 0
    rule(GOES_BACK)
    assert evaluate(engine, at("2026-11-02T00:02")).evaluated == 1
    assert evaluate(engine, at("2026-11-02T00:03")).evaluated == 0
