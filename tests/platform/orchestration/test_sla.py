"""The SLA sensor, as shown on Dagster's Automation page: the skip reason of a tick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pytest
from sqlalchemy import Engine

from headrace.catalog.records import DatasetRecord
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.execution.plan import ExternalPlan
from headrace.orchestration.sensors import slas as module
from headrace.orchestration.sensors.slas import slas_sensor
from headrace.slas import tick as judging
from headrace.slas.objectives import ObjectiveKind
from headrace.slas.queries import sla_statuses
from tests.platform.slas.building import declare, published

Look = Callable[..., str]
HOUR = {"max_age_seconds": 3600.0, "warn_after_seconds": 1800.0}


@pytest.fixture
def look(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Look:
    """What a tick reports."""

    def say(sensor: dg.SensorDefinition | None = None) -> str:
        with (
            dg.DagsterInstance.ephemeral() as instance,
            dg.build_sensor_context(instance=instance) as context,
        ):
            found = (sensor or slas_sensor()).evaluate_tick(context)
        assert found.skip_message is not None
        return found.skip_message

    return say


def ago(minutes: int) -> datetime:
    return datetime.now(UTC) - timedelta(minutes=minutes)


def test_a_tick_says_how_many_it_looked_at_what_happened_and_what_is_late_or_at_risk(
    look: Look, engine: Engine
) -> None:
    assert look() == "0 objectives evaluated, 0 forecast. Nothing is late or at risk."
    declare(engine, {"mart/late": HOUR, "mart/near": HOUR, "mart/fine": HOUR})
    for key, minutes in (("mart/late", 90), ("mart/near", 40), ("mart/fine", 5)):
        published(engine, key, ago(minutes))
    assert look() == (
        "3 objectives evaluated, 0 forecast. 3 SLAs new or changed. Events: 2 at risk, 1 late. "
        "Late: mart/late. At risk: mart/near."
    )
    published(engine, "mart/late", ago(0))
    assert look() == (
        "1 objective evaluated, 0 forecast. Events: 1 met late, 1 incident closed. At risk: mart/near."
    )
    assert look() == "0 objectives evaluated, 0 forecast. At risk: mart/near."


def declared(**sla: Any) -> ExternalPlan:
    return ExternalPlan(DatasetRecord("night/weekend", "csv", sla=sla))


def test_a_declared_sla_is_evaluated_although_the_dataset_never_ran(look: Look, engine: Engine) -> None:
    assert "1 SLA new or changed." in look(slas_sensor([declared(deadline="* * * * *", timezone="UTC")]))
    assert [each.key for each in sla_statuses(engine)] == ["night/weekend"]
    assert "1 SLA new or changed." in look(slas_sensor([declared(max_age_seconds=60.0)]))
    assert [each.kind for each in sla_statuses(engine)] == [ObjectiveKind.AGE]


def test_declarations_are_registered_once_for_each_load_of_the_code(
    look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered: list[int] = []

    def register(_: Engine, datasets: Sequence[DatasetRecord], *__: object) -> list[str]:
        registered.append(len(datasets))
        return []

    monkeypatch.setattr(module, "register", register)
    sensor = slas_sensor([declared(max_age_seconds=60.0)])
    look(sensor)
    look(sensor)
    assert registered == [1]


def test_what_cannot_be_registered_is_reported_and_tried_again(
    look: Look, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(engine, {"mart/late": HOUR, "night/weekend": None})
    published(engine, "mart/late", ago(90))
    with transaction(engine) as cursor:
        cursor.execute("UPDATE catalog.dataset SET project = 'other' WHERE full_name = 'night/weekend'")
    sensor = slas_sensor([declared(max_age_seconds=60.0)])
    found = look(sensor)
    assert found.startswith("New and changed SLAs are not evaluated")
    assert "night/weekend is already declared by the project other" in found
    assert found.endswith("Late: mart/late.")
    with transaction(engine) as cursor:
        cursor.execute("UPDATE catalog.dataset SET project = NULL WHERE full_name = 'night/weekend'")
    assert "1 SLA new or changed." in look(sensor)


def test_of_many_a_few_are_named_the_newest_first(look: Look, engine: Engine) -> None:
    declare(engine, {f"mart/late{number}": HOUR for number in range(6)})
    for number in range(6):
        published(engine, f"mart/late{number}", ago(90))
    look()
    with transaction(engine) as cursor:
        cursor.execute(
            "UPDATE catalog.sla_objective SET since = since + interval '1 second' * right(name, 1)::int "
            "FROM catalog.dataset WHERE dataset.dataset_id = sla_objective.dataset_id"
        )
    assert look().endswith("Late: mart/late5, mart/late4, mart/late3 and 3 more.")


def test_a_dataset_with_two_missed_objectives_is_named_once(look: Look, engine: Engine) -> None:
    declare(engine, {"mart/late": {**HOUR, "deadline": "* * * * *", "timezone": "UTC"}})
    published(engine, "mart/late", ago(90))
    look()
    with transaction(engine) as cursor:
        cursor.execute("UPDATE catalog.sla_objective SET state = 'LATE'")
    assert look().endswith(" Late: mart/late.")


def test_a_concurrent_evaluation_is_reported(look: Look, engine: Engine) -> None:
    key = int.from_bytes(current_context().organisation_id.bytes[:4], "big", signed=True)
    with transaction(engine) as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [judging._LOCK, key])
        assert look() == "Another process is evaluating the SLAs."


def test_a_complete_load_retires_what_is_no_longer_declared_and_names_it(look: Look, engine: Engine) -> None:
    declare(engine, {"mart/gone": HOUR})
    assert look(slas_sensor([declared(max_age_seconds=60.0)], complete=True)).startswith(
        "Retired, as they are no longer declared: mart/gone."
    )
    assert [each.key for each in sla_statuses(engine)] == ["night/weekend"]


@pytest.mark.parametrize(("plans", "complete"), [([declared(max_age_seconds=60.0)], False), ([], True)])
def test_a_load_with_problems_or_without_any_declaration_retires_nothing(
    look: Look, engine: Engine, plans: list[ExternalPlan], complete: bool
) -> None:
    declare(engine, {"mart/gone": HOUR})
    assert "Retired" not in look(slas_sensor(plans, complete=complete))
    assert "mart/gone" in [each.key for each in sla_statuses(engine)]
