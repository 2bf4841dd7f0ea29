"""A location that is inconsistent with the rest of an external dataset's declaration is reported at its line."""

import pytest

from headrace.execution.plan import ExternalPlan
from tests.platform.declarations.conftest import Project

DAILY = "partitions: {type: daily, start: 2026-01-01}"
COLUMNS = "schema: {columns: {id: int}}"


def declared(*attributes: str) -> str:
    lines = ["type: headrace.ExternalDataset", "attributes:", "  key: shop/orders"]
    return "\n".join([*lines, *(f"  {attribute}" for attribute in attributes)]) + "\n"


@pytest.mark.parametrize(
    ("attributes", "field", "words"),
    [
        (["location: s3a://feed/{partition}.parquet"], "location", "the dataset has no partitions"),
        (["location: s3a://feed/orders", DAILY], "location", "{partition} is not in it"),
        (["location: 's3a://{partition}/orders'", DAILY], "location", "in the host or bucket"),
        (["format: json", "location: orders.json"], None, "schema"),
        (["marker: _SUCCESS"], "marker", "`location` is missing"),
        (["location: orders", "marker: done/_SUCCESS"], "marker", "has the wrong form"),
    ],
)
def test_what_does_not_go_together(
    project: Project, attributes: list[str], field: str | None, words: str
) -> None:
    project.write("shop/defs.yaml", declared(*attributes))
    (problem,) = project.check()
    assert words in f"{problem.field}: {problem.message}"
    if field:
        line = next(n for n, text in enumerate(attributes, 4) if text.startswith(field))
        assert (problem.field, problem.line) == (field, line)


@pytest.mark.parametrize(
    "attributes",
    [
        [],
        [DAILY],
        ["location: viewfs:/feed/day={partition}/", "marker: _SUCCESS", DAILY],
        ["location: 's3a://feed/{partition}/orders_{partition}.parquet'", DAILY],
        ["format: json", "location: orders.json", COLUMNS],
        ["format: db2", "location: PROD.ORDERS", DAILY],
    ],
)
def test_what_does(project: Project, attributes: list[str]) -> None:
    project.write("shop/defs.yaml", declared(*attributes))
    (plan,) = project.load().plans
    assert isinstance(plan, ExternalPlan)
    assert plan.marker == ("_SUCCESS" if "marker: _SUCCESS" in attributes else None)
    assert plan.record.metadata.get("location") == plan.location
