"""When a declared trigger starts a run, as Dagster itself evaluates it."""

from __future__ import annotations

import dagster as dg
import pytest

from components.automation import condition
from components.declaration import Trigger

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
        automation_condition=condition(Trigger(when=when), ["shop/raw"]),
    )
    def cleaned() -> None: ...

    definitions = dg.Definitions(assets=[delivered, cleaned])
    with dg.DagsterInstance.ephemeral() as instance:
        before = dg.evaluate_automation_conditions(definitions, instance)
        assert before.total_requested == 0
        instance.report_runless_asset_event(dg.AssetMaterialization(raw, partition=LATE))
        after = dg.evaluate_automation_conditions(definitions, instance, cursor=before.cursor)
    assert after.get_requested_partitions(cleaned.key) == {LATE}
