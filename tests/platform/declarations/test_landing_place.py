"""A location that is inconsistent with the rest of an external dataset's declaration is reported at its line."""

import pytest

from headrace.execution.plan import ExternalPlan
from tests.platform.declarations.conftest import Project

DAILY = "partitions: {type: daily, start: 2026-01-01}"
CONTROL = "{rows: 'N=(.*)', location: "
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
        (["reader: copybook:accounts", "format: fixed"], "reader", "`location` is missing"),
        (["reader: copybook.py", "format: fixed"], "reader", "has the wrong form"),
        (["reader: copybook:accounts", "location: a"], "reader", "Spark reads parquet by itself"),
        (
            ["control: {rows: 'N=(\\d+)'}", "location: a", "format: db2"],
            "control",
            "format 'db2' are not read",
        ),
        (["control: {rows: 'N=(\\d+)'}", "location: a"], "control", "is a row to Spark"),
        ([f"control: {CONTROL}'n_{{partition}}.ctl'}}", "location: a"], "control", "if, and only if"),
        ([f"control: {CONTROL}a/n.ctl}}", "location: a/"], "control", "is among the data files"),
        (
            [f"control: {CONTROL}n.ctl, totals: {{id: '(.)', x: '(.)'}}}}", "location: a", COLUMNS],
            "control",
            "x",
        ),
        (["control: {rows: 'N=\\d+'}", "location: a"], "control", "has 0 groups"),
        (["control: {rows: 'N=(\\d+'}", "location: a"], "control", "is not a regular expression"),
        (["control: {encoding: ebcdic, rows: '(.)'}", "location: a"], "control", "is not an encoding"),
        (["control: {location: a.ctl}", "location: a"], "control", "needs `rows`, `totals` or `checksum`"),
        (["control: {checksum: '(.*)'}", "location: a"], "control", "a file cannot state its own `checksum`"),
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
        assert (str(problem.field).partition(".")[0], problem.line) == (field, line)


@pytest.mark.parametrize(
    "attributes",
    [
        [],
        [DAILY],
        ["location: viewfs:/feed/day={partition}/", "marker: _SUCCESS", DAILY],
        ["location: 's3a://feed/{partition}/orders_{partition}.parquet'", DAILY],
        ["format: json", "location: orders.json", COLUMNS],
        ["format: db2", "location: PROD.ORDERS", DAILY],
        ["format: fixed", "reader: copybook:orders", "location: 'orders_{partition}'", DAILY],
        [f"control: {CONTROL}a/_n.ctl, totals: {{id: '(.*)'}}}}", "location: a", COLUMNS],
    ],
)
def test_what_does(project: Project, attributes: list[str]) -> None:
    project.write("shop/defs.yaml", declared(*attributes))
    (plan,) = project.load().plans
    assert isinstance(plan, ExternalPlan)
    assert plan.marker == ("_SUCCESS" if "marker: _SUCCESS" in attributes else None)
    assert plan.record.metadata.get("location") == plan.location
