"""Profiles of columns, measured by the write, and checks of how far they have moved."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

from headrace.access.callers import Role
from headrace.access.sensitivity import MASK
from headrace.catalog.masking import visible
from headrace.catalog.records import CheckStatus
from headrace.catalog.sensitivity_suggestions import accept, store_suggestions
from headrace.cli import app
from headrace.database import connection as database
from headrace.database.connection import transaction
from headrace.execution import writing
from headrace.personal_data.suggestions import Suggestion
from headrace.queries.profiles import BrokenProfile, profile
from headrace.queries.versions import version, versions
from tests.platform.access.conftest import caller
from tests.platform.execution.growing import Feed
from tests.platform.projects import Project, checks, failure, load_project, write_project

pytestmark = pytest.mark.usefixtures("spark")

SALES = """
type: headrace.ExternalDataset
attributes: {key: shop/feed}
---
type: headrace.Dataset
attributes:
  key: shop/sales
  profile: full
  output: OUTPUT
  sql: SELECT * FROM feed
  CHECKS
"""
COLUMNS = {"day": "date", "id": "bigint", "country": "string", "amount": "int"}


def sale(id: int, country: str | None = "GB", amount: int | None = None, day: int = 1) -> dict[str, Any]:
    return {
        "day": date(2026, 1, day),
        "id": id,
        "country": country,
        "amount": id if amount is None else amount,
    }


def shop(
    tmp_path: Path, engine: Engine, checks: str = "", output: str = "{store: files}", **others: str
) -> Project:
    text = SALES.replace("CHECKS", f"checks: [{checks}]" if checks else "").replace("OUTPUT", output)
    for before, after in others.items():
        assert before in text
        text = text.replace(before, after)
    return load_project(write_project(tmp_path / "project", "shop", text), engine)


def run(project: Project) -> Any:
    (result,) = project.materialize("shop/sales")
    assert result.success, failure(result)
    return result


@pytest.mark.parametrize(
    "output",
    [
        "{store: files}",
        "{store: files, format: csv}",
        "{store: iceberg}",
        "{store: delta}",
        "{store: jdbc, connection: catalog, table: shop.sales}",
    ],
)
def test_each_store_s_write_measures_the_columns_in_its_own_pass(
    output: str, tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "read_back", lambda *_, **__: pytest.fail("the rows were read again"))
    project = shop(tmp_path, engine, output=output)
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish(
        [sale(id, "GB" if id % 4 else "Fr2") for id in range(100)] + [sale(100, None)]
    )

    run(project)

    found = version(engine, "shop/sales").statistics
    assert found["id"]["distinct_count"] == 101
    assert found["id"]["mean"] == 50
    assert found["id"]["quantiles"]["p50"] == pytest.approx(50, abs=2)
    assert found["country"]["null_count"] == 1
    assert found["country"]["distinct_count"] == 2
    assert found["country"]["top_values"] == [["GB", 75], ["Fr2", 25]]
    assert found["country"]["patterns"] == [["AA", 75], ["Aa9", 25]]
    assert found["country"]["length"] == {"min": 2, "max": 3, "mean": 2.25}
    assert found["day"]["quantiles"]["p50"] == "2026-01-01"


def test_without_a_profile_only_columns_of_drift_checks_are_measured(tmp_path: Path, engine: Engine) -> None:
    text = "drift: {column: amount, method: ks}"
    project = shop(tmp_path, engine, "{" + text + "}", **{"profile: full": "profile: basic"})
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish([sale(1)])

    run(project)

    found = version(engine, "shop/sales").statistics
    assert "distinct_count" in found["amount"]
    assert all("distinct_count" not in found[name] for name in ("id", "country", "day"))


def test_rows_that_are_set_aside_are_not_in_the_profile(tmp_path: Path, engine: Engine) -> None:
    project = shop(tmp_path, engine, "{sql: amount < 10, quarantine: true}")
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish([sale(id) for id in range(20)])

    run(project)

    found = version(engine, "shop/sales")
    assert (found.version.row_count, found.statistics["id"]["distinct_count"]) == (10, 10)


def test_sensitive_columns_have_counts_of_nulls_only(tmp_path: Path, engine: Engine) -> None:
    schema = "schema: {columns: {day: date, id: bigint, country: {type: string, tags: [pii]}, amount: int}}"
    project = shop(tmp_path, engine, **{"profile: full": f"profile: full\n  {schema}"})
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish([sale(1), sale(2, None)])

    run(project)

    assert version(engine, "shop/sales").statistics["country"] == {"null_count": 1}
    with transaction(engine) as cursor:
        rows = cursor.execute("SELECT column_name FROM catalog.column_sketch ORDER BY 1").fetchall()
    assert [row["column_name"] for row in rows] == ["amount", "day", "id"]


def test_nan_is_in_no_mean_nor_quantile(tmp_path: Path, engine: Engine) -> None:
    odd = "SELECT *, CASE WHEN id = 0 THEN DOUBLE('NaN') ELSE DOUBLE(id) END AS price FROM feed"
    project = shop(tmp_path, engine, **{"SELECT * FROM feed": odd})
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish([sale(id) for id in range(4)])

    run(project)

    found = version(engine, "shop/sales").statistics["price"]
    assert (found["mean"], found["quantiles"]["p50"], found["null_count"]) == (2, 2, 0)


def test_values_of_an_earlier_version_are_hidden_by_its_own_lineage(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = shop(tmp_path, engine)
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish([sale(1, "GB")])
    run(project)
    [earlier] = versions(engine, "shop/sales")
    breaking = "allow_breaking_schema_change: true\n  sql: SELECT id FROM feed"
    run(shop(tmp_path, engine, **{"sql: SELECT * FROM feed": breaking}))
    suggested = Suggestion("country", "gender", 0.9, "its name contains country")
    store_suggestions(engine, "shop/feed", [suggested], datetime.now(UTC))
    with transaction(engine) as cursor:
        accept(cursor, "shop/feed", "country", by="steward")

    found = profile(engine, "shop/sales", earlier.version.tag)

    seen = visible(engine, caller(Role.DATA_CONSUMER), found, "shop/sales").columns
    assert (seen["country"]["null_count"], seen["country"]["top_values"]) == (0, MASK)
    assert seen["id"]["max"] == 1
    shown = ["profile", "shop/sales", "--version", earlier.version.tag]
    monkeypatch.setattr(database, "connect", lambda: engine)
    for arguments, is_shown in (([], False), (["--json"], False), (["--unmask"], True)):
        printed = CliRunner().invoke(app, [*shown, *arguments])
        assert printed.exit_code == 0, printed.output
        assert ("GB" in printed.output) is is_shown


def test_a_version_that_rows_are_appended_to_has_the_profile_of_all_rows(
    tmp_path: Path, engine: Engine
) -> None:
    grows = "incremental: {mode: append, watermark: id}\n  sql: SELECT * FROM feed"
    project = shop(tmp_path, engine, **{"sql: SELECT * FROM feed": grows})
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([sale(id) for id in range(10)])
    run(project)
    feed.publish([sale(id, "FR") for id in range(30)])
    run(project)

    found = version(engine, "shop/sales")
    assert len(found.version.segments) == 2
    assert found.statistics["id"]["distinct_count"] == 30
    assert found.statistics["country"]["top_values"] == [["FR", 20], ["GB", 10]]


PARTITIONED = """
type: headrace.ExternalDataset
attributes: {key: shop/feed}
---
type: headrace.Dataset
attributes:
  key: shop/sales
  profile: full
  partitions: {type: daily, start: "2026-01-01", end: "2026-01-04", column: day, ranges: true}
  sql: SELECT * FROM feed WHERE day >= DATE(:partition_start) AND day < DATE(:partition_end)
  checks:
    - drift: {column: amount, method: ks, against: previous_partition}
      severity: warning
"""


def test_a_profile_of_partitions_is_merged_from_their_sketches(tmp_path: Path, engine: Engine) -> None:
    project = load_project(write_project(tmp_path / "project", "shop", PARTITIONED), engine)
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish(
        [sale(id, amount=id + (1000 if id % 3 == 2 else 0), day=id % 3 + 1) for id in range(300)]
    )
    project.materialize("shop/sales", partitions=("2026-01-01", "2026-01-03"))

    whole = profile(engine, "shop/sales")
    assert (whole.row_count, len(whole.versions), whole.partial) == (300, 3, ())
    assert whole.columns["id"]["distinct_count"] == pytest.approx(300, rel=0.02)
    assert (whole.columns["id"]["min"], whole.columns["id"]["max"]) == (0, 299)
    assert whole.columns["day"]["distinct_count"] == 3
    part = profile(engine, "shop/sales", partitions=("2026-01-01", "2026-01-02"))
    assert (part.row_count, part.columns["amount"]["max"]) == (200, 298)


def test_drift_is_measured_against_the_partition_before(tmp_path: Path, engine: Engine) -> None:
    project = load_project(write_project(tmp_path / "project", "shop", PARTITIONED), engine)
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish(
        [sale(id, amount=id + (1000 if id % 3 == 2 else 0), day=id % 3 + 1) for id in range(300)]
    )
    for day in ("2026-01-01", "2026-01-02", "2026-01-03"):
        project.materialize("shop/sales", partitions=(day, day))

    details = [
        next(
            each.detail
            for each in version(engine, "shop/sales", partition=f"2026-01-0{day}").checks
            if each.name == "amount_drift"
        )
        for day in (1, 2, 3)
    ]
    assert details[0] == {"message": "not compared: there is no version to compare it with"}
    assert details[1]["ks"] < 0.05
    assert details[2]["ks"] == 1
    assert details[2]["against"].endswith("of 2026-01-02")


@pytest.mark.parametrize("method", ["ks", "psi"])
def test_drift_blocks_a_version_and_says_what_changed_most(
    method: str, tmp_path: Path, engine: Engine
) -> None:
    column = "amount" if method == "ks" else "country"
    project = shop(tmp_path, engine, f"{{drift: {{column: {column}, method: {method}}}}}")
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([sale(id) for id in range(100)])
    assert checks([run(project)]) == {f"{column}_drift": True}
    feed.publish([sale(id) for id in range(1, 100)])
    assert checks([run(project)]) == {f"{column}_drift": True}
    feed.publish([sale(id, "GB" if id % 2 else "FR", id + 50) for id in range(100)])

    (result,) = project.materialize("shop/sales")

    assert f"failed check: {column}_drift" in failure(result)
    newest = versions(engine, "shop/sales")[0].version
    detail = version(engine, "shop/sales", newest.tag).checks[0].detail
    changed = {
        "ks": "50.0% of the values are at most 99, before 100.0%",
        "psi": "50.0% of the values are 'FR', before 0.0%",
    }
    assert detail["message"].endswith(changed[method])
    assert detail[method] > detail["threshold"]


def test_a_version_from_before_sketches_is_not_compared(tmp_path: Path, engine: Engine) -> None:
    project = shop(tmp_path, engine, "{drift: {column: amount, method: ks}}")
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([sale(1)])
    run(project)
    with transaction(engine) as cursor:
        cursor.execute("DELETE FROM catalog.column_sketch")
    feed.publish([sale(500)])

    run(project)

    assert (
        "it was written before it was profiled" in version(engine, "shop/sales").checks[0].detail["message"]
    )


def test_a_sketch_that_cannot_be_read_warns_and_is_named(tmp_path: Path, engine: Engine) -> None:
    project = shop(tmp_path, engine, "{drift: {column: amount, method: ks}}")
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([sale(1)])
    run(project)
    with transaction(engine) as cursor:
        cursor.execute(
            "UPDATE catalog.column_sketch SET quantile_sketch = '\\x00ff', distinct_sketch = '\\x00'"
        )
    feed.publish([sale(500)])

    run(project)

    (found,) = version(engine, "shop/sales").checks
    assert found.status is CheckStatus.WARN
    assert "the sketch of amount in version" in found.detail["message"]


def test_a_merged_profile_names_the_column_whose_sketch_is_broken(tmp_path: Path, engine: Engine) -> None:
    project = load_project(write_project(tmp_path / "project", "shop", PARTITIONED), engine)
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish([sale(id, day=id % 3 + 1) for id in range(6)])
    project.materialize("shop/sales", partitions=("2026-01-01", "2026-01-03"))
    with transaction(engine) as cursor:
        cursor.execute("UPDATE catalog.column_sketch SET distinct_sketch = '\\x00' WHERE column_name = 'id'")

    with pytest.raises(BrokenProfile, match="the sketches of the column id cannot be read"):
        profile(engine, "shop/sales")


def test_a_column_that_a_steward_makes_sensitive_is_not_compared(tmp_path: Path, engine: Engine) -> None:
    project = shop(tmp_path, engine, "{drift: {column: country, method: psi}}")
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish([sale(1)])
    run(project)
    suggested = Suggestion("country", "gender", 0.9, "its name contains country")
    store_suggestions(engine, "shop/feed", [suggested], datetime.now(UTC))
    with transaction(engine) as cursor:
        accept(cursor, "shop/feed", "country", by="steward")

    run(project)

    [found] = [each for each in version(engine, "shop/sales").checks if each.name == "country_drift"]
    assert found.status is CheckStatus.WARN
    assert "not compared: country is sensitive" in found.detail["message"]


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        ("column: amuont, method: ks", "has no column 'amuont'"),
        ("column: country, method: ks", "ks cannot compare country, as its type is string; psi can"),
    ],
)
def test_a_check_that_cannot_be_measured_fails_the_run(
    check: str, problem: str, tmp_path: Path, engine: Engine
) -> None:
    project = shop(tmp_path, engine, f"{{drift: {{{check}}}}}")
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish([sale(1)])

    (result,) = project.materialize("shop/sales")

    assert problem in failure(result)
