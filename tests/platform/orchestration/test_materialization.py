"""The runs that a selection needs, and the errors of invalid selections."""

from __future__ import annotations

import dagster as dg
import pytest

from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.declarations.declaration import Static
from headrace.declarations.partitions import partition_plan
from headrace.execution.plan import OutputPlan, ProcessPlan
from headrace.execution.transform import Pipeline
from headrace.orchestration.materialization import InvalidSelection, PlannedRun, plan_runs, select

COUNTRIES = Static(type="static", keys=["us", "de", "fr"], column="country")


def process(name: str, partitions: Static | None) -> ProcessPlan:
    return ProcessPlan(
        record=ProcessRecord(name, Technology.SPARK),
        inputs=(),
        outputs=[OutputPlan(DatasetRecord(name, "parquet"))],
        transform=Pipeline((), {}),
        partitions=partition_plan(partitions) if partitions else None,
    )


SALES, PEOPLE = process("shop/sales", COUNTRIES), process("shop/people", None)


def planned(plans: list[ProcessPlan], first: str, last: str) -> list[PlannedRun]:
    graph = dg.Definitions().resolve_asset_graph()
    with dg.DagsterInstance.ephemeral() as instance:
        return plan_runs(graph, instance, plans, (first, last))


def test_partitions_from_one_to_another_in_the_order_of_the_declaration() -> None:
    assert [run.partitions for run in planned([SALES, PEOPLE], "us", "de")] == [("us",), ("de",), (None,)]


@pytest.mark.parametrize(
    ("plans", "keys", "message"),
    [
        ([SALES], ("de", "us"), "de comes after us in shop/sales; swap them: us...de"),
        ([SALES], ("us", "nope"), "shop/sales has no partition nope; it has us to fr"),
        ([PEOPLE], ("us", "us"), "shop/people is not partitioned"),
    ],
)
def test_partitions_that_cannot_be(plans: list[ProcessPlan], keys: tuple[str, str], message: str) -> None:
    with pytest.raises(InvalidSelection, match=message):
        planned(plans, *keys)


@pytest.mark.parametrize("pluses", ["{}", "+{}", "{}+"])
def test_a_dataset_that_is_not_there_is_named_with_the_nearest(pluses: str) -> None:
    definitions = dg.Definitions(assets=[dg.AssetSpec(["shop", "sales"]), dg.AssetSpec(["shop", "people"])])
    with pytest.raises(InvalidSelection) as refused:
        select(definitions, [SALES, PEOPLE], ["shop/people", pluses.format("shop/sale")])
    assert str(refused.value) == (
        "no dataset shop/sale; `headrace datasets` lists datasets. Did you mean shop/sales?"
    )
    with pytest.raises(InvalidSelection, match=r"no dataset nope/x; `headrace datasets` lists datasets$"):
        select(definitions, [SALES, PEOPLE], [pluses.format("nope/x")])


def test_a_selection_that_dagster_cannot_parse_is_refused_with_the_syntax() -> None:
    definitions = dg.Definitions(assets=[dg.AssetSpec(["shop", "sales"])])
    with pytest.raises(InvalidSelection, match="write dataset keys, or Dagster's selection syntax"):
        select(definitions, [SALES], ['key:"*'])
