"""When a declared trigger starts a run, as evaluated by Dagster."""

from __future__ import annotations

import dagster as dg
import pytest

from headrace.catalog.records import TriggerMode
from headrace.declarations.automation import condition, trigger_mode
from headrace.declarations.trigger import Trigger
from headrace.execution.plan import ProcessTrigger
from tests.platform.declarations.conftest import Project

DAYS = dg.DailyPartitionsDefinition(start_date="2026-01-01", end_date="2026-01-11")
LATE = "2026-01-06"


@pytest.mark.parametrize("when", ["any_input", "all_inputs"])
def test_a_day_that_comes_late_starts_its_readers_too(when: str) -> None:
    raw = dg.AssetKey(["shop", "raw"])

    @dg.asset(key=raw, partitions_def=DAYS)
    def delivered() -> None: ...

    @dg.asset(
        key=["shop", "clean"],
        deps=[raw],
        partitions_def=DAYS,
        automation_condition=condition(Trigger(when=when), ["shop/raw"]),  # type: ignore[arg-type]
    )
    def cleaned() -> None: ...

    definitions = dg.Definitions(assets=[delivered, cleaned])
    with dg.DagsterInstance.ephemeral() as instance:
        before = dg.evaluate_automation_conditions(definitions, instance)
        assert before.total_requested == 0
        instance.report_runless_asset_event(dg.AssetMaterialization(raw, partition=LATE))
        after = dg.evaluate_automation_conditions(definitions, instance, cursor=before.cursor)
    assert after.get_requested_partitions(cleaned.key) == {LATE}


def test_ten_inputs_of_one_day_start_one_run_once_all_are_there() -> None:
    raw = [dg.AssetKey(["shop", f"raw_{number}"]) for number in range(10)]
    specs = [dg.AssetSpec(key, partitions_def=DAYS) for key in raw]

    @dg.asset(
        key=["shop", "clean"],
        deps=raw,
        partitions_def=DAYS,
        automation_condition=condition(Trigger(when="all_inputs"), [key.to_user_string() for key in raw]),
    )
    def cleaned() -> None: ...

    definitions = dg.Definitions(assets=[*specs, cleaned])
    with dg.DagsterInstance.ephemeral() as instance:
        cursor = dg.evaluate_automation_conditions(definitions, instance).cursor

        def arrive(*places: tuple[dg.AssetKey, str]) -> set[str]:
            nonlocal cursor
            for key, day in places:
                instance.report_runless_asset_event(dg.AssetMaterialization(key, partition=day))
            result = dg.evaluate_automation_conditions(definitions, instance, cursor=cursor)
            cursor = result.cursor
            return {str(day) for day in result.get_requested_partitions(cleaned.key)}

        assert arrive(*[(key, LATE) for key in raw[:9]]) == set()
        assert arrive((raw[9], "2026-01-07")) == set()
        assert arrive((raw[9], LATE)) == {LATE}
        assert arrive() == set()
        assert arrive(*[(key, "2026-01-07") for key in raw[:9]]) == {"2026-01-07"}


@pytest.mark.parametrize(
    ("trigger", "mode"),
    [
        (None, TriggerMode.DATASET),
        (Trigger(when="any_input"), TriggerMode.DATASET),
        (Trigger(schedule="0 6 * * *"), TriggerMode.PROCESS),
        (Trigger(schedule="0 6 * * *", when="all_inputs"), TriggerMode.HYBRID),
        (Trigger(process=["LOAD"]), TriggerMode.PROCESS),
        (Trigger(process=["LOAD"], when="all_inputs"), TriggerMode.HYBRID),
    ],
)
def test_the_catalog_knows_what_starts_a_process(trigger: Trigger | None, mode: TriggerMode) -> None:
    assert trigger_mode(trigger) is mode


SALES = """
type: headrace.Dataset
attributes:
  key: shop/sales
  sql: SELECT 1 AS id
  trigger:
"""


@pytest.mark.parametrize(
    ("declared", "field", "message"),
    [
        ("{process: [A, 'b c']}", "trigger.process.1", "'b c' has the wrong form"),
        ("{process: []}", "trigger.process", "is not valid"),
        ("{process: A, when: any_input}", "trigger", "not with any_input"),
        ("{process: A, when: sometimes}", "trigger.when", "'sometimes' is not valid"),
        ("{process: A, schedule: '0 6 * * *'}", "trigger", "`schedule` or `process`, not both"),
        ("{instance: PRD, when: missing}", "trigger", "`instance` belongs to `process`"),
        ("{proces: A}", "trigger.proces", "unknown field 'proces'"),
        ("{timezone: UTC}", "trigger", "a trigger has `when`, `schedule` or `process`"),
    ],
)
def test_a_wrong_trigger_is_an_error_of_its_line(
    project: Project, declared: str, field: str, message: str
) -> None:
    project.write("shop/defs.yaml", f"{SALES.strip()}\n    {declared}\n")
    [problem] = project.load().problems
    assert (problem.line in (5, 6), problem.field) == (True, field)
    assert message in problem.message


def test_a_process_by_name_becomes_what_the_sensor_waits_for(project: Project) -> None:
    project.write(
        "shop/defs.yaml",
        f"{SALES.strip()} {{process: [LOAD_FLIGHTS, AUTOSYS/BOX/LOAD], instance: PRD, when: all_inputs}}\n",
    )
    plan = project.plan("shop/sales")
    assert plan.started_by == ProcessTrigger(("LOAD_FLIGHTS", "AUTOSYS/BOX/LOAD"), "PRD", with_inputs=True)
    assert plan.condition is None
    assert plan.record.metadata["started_by"] == ("LOAD_FLIGHTS", "AUTOSYS/BOX/LOAD")
