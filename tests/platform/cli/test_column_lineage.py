"""`headrace lineage` of a column, `impact`, `diff-lineage` and `sensitive`, and the coverage in `show`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Engine
from typer.testing import Result

from headrace.catalog.column_lineage import ColumnLineage, ColumnSource, How, LineageOfOutput, Subtype
from headrace.catalog.records import Column, DatasetRecord, Outcome, ProcessRecord, Technology, VersionDraft
from headrace.publishing.publication import generations, publish
from headrace.publishing.rollback import rollback
from headrace.registration.declarations import register

Invoke = Callable[..., Result]
Ask = Callable[..., Any]

BILL = DatasetRecord(
    "shop/bill", "parquet", owners=("team:money",), sla={"max_age_seconds": 60.0}, declared_at="x"
)
AUDIT = DatasetRecord("shop/audit", "parquet", owners=("team:law",))
PROCESSES = [
    ProcessRecord("shop/bill", Technology.SPARK, inputs=("shop/clean",), outputs=("shop/bill",)),
    ProcessRecord("shop/audit", Technology.SPARK, inputs=("shop/bill",), outputs=("shop/audit",)),
]


def source(dataset: str, column: str, subtype: Subtype = Subtype.IDENTITY, **more: Any) -> ColumnSource:
    how = How.DIRECT if subtype in {Subtype.IDENTITY, Subtype.TRANSFORMATION} else How.INDIRECT
    return ColumnSource(dataset, column, how, subtype, **more)


CLEAN = LineageOfOutput(
    (
        ColumnLineage("id", (source("shop/raw", "id"),)),
        ColumnLineage(
            "name", (source("shop/raw", "name", Subtype.TRANSFORMATION, expression="upper(name)"),)
        ),
    ),
    whole=(source("shop/raw", "id", Subtype.FILTER),),
)
BILLED = LineageOfOutput(
    (
        ColumnLineage("customer", (source("shop/clean", "name"),)),
        ColumnLineage("score", (source("shop/clean", ""),), unknown="the function score", confidence=0.2),
    )
)


@pytest.fixture
def chain(shop: Engine) -> Engine:
    """shop/raw -> shop/clean -> shop/bill (one column unknown) -> shop/audit (not reported)."""
    register(shop, [BILL, AUDIT], PROCESSES)
    raw = published(shop, "shop/raw", "raw", None)
    published(shop, "shop/clean", "one", CLEAN, partition="2026-01-01", inputs=(raw,))
    published(shop, "shop/bill", "one", BILLED)
    return shop


def published(
    engine: Engine,
    key: str,
    tag: str,
    lineage: LineageOfOutput | None,
    partition: str | None = None,
    columns: tuple[Column, ...] = (),
    **more: Any,
) -> Any:
    draft = VersionDraft(
        key, partition, tag, f"file:/w/{key}/{tag}", "parquet", columns, 1, 1, 1, "", f"{key}/{tag}",
        generations(engine, [(key, partition)])[key, partition], lineage=lineage, **more,
    )  # fmt: skip
    (publication,) = publish(engine, None, [draft])
    assert publication.outcome is Outcome.PUBLISHED
    return publication.version.version_id


def test_an_unknown_column_is_an_error(chain: Engine, invoke: Invoke) -> None:
    """It is an error with the nearest names, and not the lineage of all rows; what a dataset had once is not an
    error."""
    columns = (Column("customer", "string", True), Column("score", "double", True))
    published(chain, "shop/bill", "two", BILLED, columns=columns)
    for command in ("lineage", "impact"):
        refused = invoke(command, "shop/bill.custmer")
        assert refused.exit_code == 1
        assert "shop/bill has no column custmer. Its columns: customer." in " ".join(refused.stderr.split())
    assert "shop/clean.name" in invoke("lineage", "shop/bill.customer").stdout
    assert "lineage is known for" in invoke("lineage", "shop/raw.anything").stdout  # its schema is unknown


def test_lineage_of_a_column_as_a_tree(chain: Engine, invoke: Invoke) -> None:
    shown = invoke("lineage", "shop/bill.customer").stdout
    assert [line.strip("│├└─ ") for line in shown.splitlines()] == [
        "shop/bill.customer",
        "shop/clean.name  identity",
        "all rows: shop/raw.id  filter, indirect",
        "shop/raw.name  transformation: upper(name)",
    ]


def test_lineage_of_a_column_downwards_and_for_scripts(chain: Engine, ask: Ask) -> None:
    found = ask("lineage", "shop/raw.name", "--down")
    assert [(e["source_key"], e["target_key"], e["target_field"], e["unknown"]) for e in found["edges"]] == [
        ("shop/raw", "shop/clean", "name", None),
        ("shop/clean", "shop/bill", "customer", None),
        ("shop/clean", "shop/bill", "score", "the function score"),
    ]


def test_lineage_of_a_column_for_graphviz(chain: Engine, invoke: Invoke) -> None:
    lines = invoke("lineage", "shop/bill.customer", "--dot").stdout.splitlines()
    assert '  "shop/clean.name" -> "shop/bill.customer" [style=solid, label="identity"];' in lines
    assert '  "shop/raw.id" -> "shop/clean" [style=dashed, label="filter"];' in lines


def test_the_lineage_page_is_self_contained(chain: Engine, invoke: Invoke) -> None:
    page = invoke("lineage", "shop/raw", "--down", "--html").stdout
    assert not re.search(r"https?://|src=|@import|url\(", page)
    assert "{{" not in page
    assert page.count('class="dataset"') == 3
    assert page.count("<path ") == page.count("<tr><td>") == 5
    assert "upper(name)" in page


def test_lineage_complaints_of_columns(chain: Engine, invoke: Invoke) -> None:
    assert "Did you mean shop/clean" in invoke("lineage", "shop/claen.id").stderr
    assert invoke("lineage", "shop/clean.id", "--version", "one").exit_code == 2
    assert invoke("lineage", "shop/clean.id", "--dot", "--html").exit_code == 2
    assert "No upstream lineage is known for shop/raw.id" in invoke("lineage", "shop/raw.id").stdout


def test_impact_distinguishes_direct_indirect_and_possible_uses(chain: Engine, ask: Ask) -> None:
    by_key = {each["key"]: each for each in ask("impact", "shop/raw.name")["used_by"]}
    assert list(by_key) == ["shop/clean", "shop/bill", "shop/audit"]
    assert (by_key["shop/clean"]["direct"], by_key["shop/clean"]["rows"]) == (["name"], False)
    bill = by_key["shop/bill"]
    assert (bill["direct"], bill["possible"], bill["reason"]) == (
        ["customer"],
        ["score"],
        "the function score",
    )
    assert (bill["owners"], bill["sla"]["max_age_seconds"]) == (["team:money"], 60.0)
    assert bill["sla_in_words"] == "never older than 1 min"
    assert by_key["shop/audit"]["reason"] == "no column lineage is known"
    rows = {each["key"]: each for each in ask("impact", "shop/raw.id")["used_by"]}
    assert (rows["shop/clean"]["direct"], rows["shop/clean"]["rows"]) == (["id"], True)
    assert rows["shop/bill"]["indirect"] == ["customer", "score"] or rows["shop/bill"]["possible"] == [
        "score"
    ]


def test_impact_for_people(chain: Engine, invoke: Invoke) -> None:
    shown = invoke("impact", "shop/raw.name").stdout
    assert re.search(r"shop/bill +2 +customer .*team:money +never older than 1 min", shown), shown
    assert "shop/raw.name is used by 3 datasets of 3 owners." in shown
    assert "No dataset is known to use shop/audit.x." in invoke("impact", "shop/audit.x").stdout


def test_diff_lineage_says_what_a_change_reads(chain: Engine, invoke: Invoke, ask: Ask) -> None:
    masked = source("shop/clean", "name", Subtype.TRANSFORMATION, masking=True)
    changed = LineageOfOutput(
        (
            replace(BILLED.columns[0], sources=(masked, source("shop/clean", "id"))),
            ColumnLineage("score", (), None),
            ColumnLineage("new", (), "a Python function"),
        ),
        whole=(source("shop/clean", "name", Subtype.GROUP_BY),),
    )
    published(chain, "shop/bill", "two", changed)
    assert invoke("diff-lineage", "shop/bill").stdout.splitlines() == [
        "shop/bill one -> two",
        "  customer: shop/clean.name is now transformation that masks it, and was identity",
        "  customer: now also reads shop/clean.id (identity)",
        "  score: now known",
        "  score: no longer reads the whole dataset shop/clean (identity)",
        "  new: new, from a Python function",
        "  all rows: now also depends on shop/clean.name (group by)",
    ]
    found = ask("diff-lineage", "shop/bill", "one", "one")
    assert found["changes"] == []


def test_after_a_rollback_column_lineage_is_of_the_restored_version(
    chain: Engine, invoke: Invoke, ask: Ask
) -> None:
    published(chain, "shop/bill", "two", LineageOfOutput((ColumnLineage("customer", ()),)))
    published(chain, "shop/bill", "three", BILLED)
    before = datetime.now(UTC)
    rollback(chain, "shop/bill", None, None, by="ann", reason="wrong")
    assert "lineage is known for" in invoke("lineage", "shop/bill.customer").stdout
    assert "shop/bill" not in {each["key"] for each in ask("impact", "shop/clean.name")["used_by"]}
    assert "shop/clean.name" in invoke("lineage", "shop/bill.customer", "--as-of", before.isoformat()).stdout
    assert invoke("diff-lineage", "shop/bill").stdout.splitlines()[0] == "shop/bill one -> two"


def test_diff_lineage_complaints(chain: Engine, invoke: Invoke) -> None:
    assert "no two published versions" in invoke("diff-lineage", "shop/bill").stderr
    published(chain, "shop/bill", "two", None)
    assert "is known for version two" in invoke("diff-lineage", "shop/bill").stderr


def test_coverage_is_reported(chain: Engine, ask: Ask, invoke: Invoke) -> None:
    rows = {row["key"]: row for row in ask("datasets")["datasets"]}
    assert (rows["shop/bill"]["known_columns"], rows["shop/bill"]["lineage_columns"]) == (1, 2)
    assert rows["shop/audit"]["known_columns"] is None
    assert "1 of 2 columns known" in invoke("show", "shop/bill").stdout


def test_an_owner_clears_what_a_column_inherits(chain: Engine, ask: Ask, invoke: Invoke) -> None:
    found = ask("sensitive", "show", "shop/bill")["columns"]
    assert [(c["column"], c["status"], c["from_dataset"], c["from_column"]) for c in found] == [
        ("customer", "INHERITED", "shop/clean", "name"),
        ("score", "POSSIBLE", "shop/clean", "name"),
    ]
    assert invoke("sensitive", "clear", "shop/bill.customer").exit_code == 2
    done = invoke("sensitive", "clear", "shop/bill.customer", "--reason", "initials only")
    assert done.stdout == "shop/bill.customer is cleared.\n"
    assert re.search(
        r"customer +CLEARED +\S+: initials only", invoke("sensitive", "show", "shop/bill").stdout
    )
    assert invoke("sensitive", "withdraw", "shop/bill.customer").exit_code == 0
    assert "is not cleared" in invoke("sensitive", "withdraw", "shop/bill.customer").stderr
    assert "is a dataset, not a column" in invoke("sensitive", "withdraw", "shop/bill").stderr
    assert "shop/audit has no sensitive columns" in invoke("sensitive", "show", "shop/audit").stdout


def test_a_clearing_that_lapsed_is_shown_with_the_new_source(chain: Engine, invoke: Invoke) -> None:
    phone = Column("phone", "string", tags=("pii",))
    register(chain, [DatasetRecord("shop/calls", "parquet", columns=(phone,))], [])
    invoke("sensitive", "clear", "shop/bill.customer", "--reason", "initials only")
    called = LineageOfOutput((ColumnLineage("customer", (source("shop/calls", "phone"),)),))
    published(chain, "shop/bill", "two", called)
    shown = " ".join(invoke("sensitive", "show", "shop/bill").stdout.split())
    assert re.search(
        r"customer LAPSED shop/calls.phone; cleared for other sources by \S+: initials only", shown
    )
