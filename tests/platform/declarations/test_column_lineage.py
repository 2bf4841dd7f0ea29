"""Column lineage: derived by a run, stated by a declaration, reported to Dagster, stored with the version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from sqlalchemy import Engine

from headrace.catalog.column_lineage import ColumnLineage, ColumnSource, How, LineageOfOutput, Origin, Subtype
from headrace.catalog.sensitivity import SensitivityStatus, sensitivity
from headrace.database.connection import transaction
from headrace.execution.column_lineage import dagster_lineage, inherited_sources, inheriting
from headrace.queries.columns import version_columns
from tests.platform.declarations.conftest import Project
from tests.platform.projects import load_project, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHAIN = """
type: headrace.Dataset
attributes:
  key: shop/people
  sql: SELECT id, concat('p', id, '@example.com') AS email, id % 3 AS city FROM range(9)
  schema:
    columns:
      id: bigint
      email: {type: string, tags: [pii]}
      city: bigint
---
type: headrace.Dataset
attributes:
  key: shop/cities
  steps:
    - name: known
      sql: SELECT city, email, upper(email) AS address FROM shop.people WHERE id > 1
  sql: >-
    SELECT city, max(address) AS last_address, count(*) AS people, sha2(max(email), 256) AS digest
    FROM known GROUP BY city
---
type: headrace.Dataset
attributes:
  key: shop/scores
  python: scores.py:scores
  lineage:
    score: {from: people.id, expression: a model's answer}
"""
SCORES = """
def scores(people):
    def each(frames):
        for frame in frames:
            frame["score"] = frame["id"] * 2
            yield frame[["id", "email", "score"]]

    return people.mapInPandas(each, "id bigint, email string, score bigint")
"""


def source(key: str, column: str, *, masking: bool = False) -> ColumnSource:
    return ColumnSource(key, column, How.DIRECT, Subtype.TRANSFORMATION, masking)


def test_a_materialized_chain_has_its_column_lineage_everywhere(
    tmp_path: Path, engine: Engine, spark: SparkSession
) -> None:
    root = write_project(tmp_path, "shop", CHAIN)
    (root / "assets/shop/scores.py").write_text(SCORES)
    project = load_project(root, engine)

    (result,) = project.materialize()

    assert result.success
    cities = version_columns(engine, "shop/cities")
    assert cities.lineage is not None
    assert (cities.known, cities.columns) == (4, 4)
    direct = {
        column.column: {(each.column, each.masking) for each in column.sources if each.type is How.DIRECT}
        for column in cities.lineage.columns
    }
    assert direct["city"] == {("city", False)}
    assert direct["last_address"] == {("email", False)}
    assert direct["digest"] == {("email", True)}
    assert {(each.column, each.subtype) for each in cities.lineage.whole} >= {("id", Subtype.FILTER)}
    assert [each.dataset for each in cities.inputs] == ["shop/people"]

    scores = version_columns(engine, "shop/scores")
    assert scores.lineage is not None
    by_name = {column.column: column for column in scores.lineage.columns}
    assert (by_name["score"].origin, by_name["score"].sources[0].column) == (Origin.DECLARED, "id")
    assert by_name["email"].unknown
    assert (scores.known, scores.columns) == (1, 3)

    (materialization,) = result.asset_materializations_for_node("shop__cities")
    lineage = materialization.metadata["dagster/column_lineage"].value
    assert isinstance(lineage, dg.TableColumnLineage)
    assert lineage.deps_by_column["city"] == [dg.TableColumnDep(dg.AssetKey(["shop", "people"]), "city")]
    assert materialization.metadata["columns_known_percent"].value == 100.0
    assert "p1@example.com" not in str(materialization.metadata["preview"].value)
    assert "P" not in str(materialization.metadata["preview"].value)

    assert {
        (each.dataset, each.column, each.status)
        for each in sensitivity(engine, ["shop/cities", "shop/scores"])
    } == {
        ("shop/cities", "last_address", SensitivityStatus.INHERITED),
        ("shop/scores", "id", SensitivityStatus.POSSIBLE),
        ("shop/scores", "email", SensitivityStatus.POSSIBLE),
    }
    with transaction(engine) as cursor:
        events = cursor.execute(
            "SELECT payload_json FROM catalog.run_event WHERE payload_json -> 'outputs' @> "
            """'[{"name": "shop/cities"}]' AND event_type = 'RUNNING'"""
        ).fetchall()
        statistics = cursor.execute(
            "SELECT full_name, statistics FROM catalog.dataset_version JOIN catalog.dataset USING (dataset_id)"
        ).fetchall()
    (facet,) = [
        output["facets"]["columnLineage"] for event in events for output in event["payload_json"]["outputs"]
    ]
    assert facet["fields"]["city"]["inputFields"][0]["name"] == "shop/people"
    assert "example.com" not in json.dumps(statistics)


STATED = """
type: headrace.Dataset
attributes:
  key: shop/a
  sql: SELECT id, 1 AS x FROM shop.b
  schema: {{columns: {{id: bigint, x: int}}}}
  lineage: {lineage}
---
type: headrace.ExternalDataset
attributes: {{key: shop/b}}
"""


@pytest.mark.parametrize(
    ("lineage", "sources"),
    [
        ("{x: b.id}", [("shop/b", "id", False)]),
        ("{x: [shop/b.id, b.s.t]}", [("shop/b", "id", False), ("shop/b", "s.t", False)]),
        ("{x: {from: b, masking: true}}", [("shop/b", "", True)]),
        ("{x: []}", []),
    ],
)
def test_a_declaration_states_where_a_column_comes_from(
    project: Project, lineage: str, sources: list[tuple[str, str, bool]]
) -> None:
    project.write("shop/defs.yaml", STATED.format(lineage=lineage))
    (stated,) = project.plan("shop/a").outputs[0].lineage
    assert (stated.column, stated.origin) == ("x", Origin.DECLARED)
    assert [(each.input, each.column, each.masking) for each in stated.sources] == sources


@pytest.mark.parametrize(
    ("lineage", "message"),
    [
        ("{y: b.id}", "'y' is not among the columns of the schema"),
        ("{x: c.id}", "'c' is not an input"),
        ("{x.f: b.id}", "'x.f' is a field of a column"),
    ],
)
def test_what_a_declaration_cannot_state(project: Project, lineage: str, message: str) -> None:
    project.write("shop/defs.yaml", STATED.format(lineage=lineage))
    (problem,) = project.check()
    assert message in str(problem)
    assert "lineage" in str(problem)


def test_columns_inherit_through_what_is_unknown_and_not_through_a_mask() -> None:
    lineage = LineageOfOutput(
        (
            ColumnLineage("plain", (source("a/b", "city"),)),
            ColumnLineage("field", (source("a/b", "email.domain"),)),
            ColumnLineage("masked", (source("a/b", "email", masking=True),)),
            ColumnLineage("perhaps", (source("a/b", ""),), "a Python function"),
            ColumnLineage("filtered", (ColumnSource("a/b", "email", How.INDIRECT, Subtype.CONDITIONAL),)),
        )
    )
    assert inheriting(lineage, {"a/b": frozenset({"email"})}) == {"field", "perhaps"}
    assert inheriting(lineage, {"a/b": frozenset()}) == frozenset()


def test_a_column_inherits_from_the_tagged_columns_behind_its_direct_sources() -> None:
    def source(column: str, masking: bool = False) -> ColumnSource:
        return ColumnSource("a/b", column, How.DIRECT, Subtype.TRANSFORMATION, masking)

    lineage = LineageOfOutput(
        (
            ColumnLineage("x", (source("name.first"), source("phone", masking=True))),
            ColumnLineage("y", (source(""),), unknown="a function"),
        )
    )
    sources = {"a/b": {"name": frozenset({"p:email", "p:name"}), "phone": frozenset({"p:phone"})}}
    assert inherited_sources(lineage, "x", sources) == {"p:email", "p:name"}
    assert inherited_sources(lineage, "y", sources) == {"p:email", "p:name", "p:phone"}
    assert inherited_sources(lineage, "z", sources) == frozenset()


def test_dagster_gets_input_columns_and_lineage_coverage() -> None:
    lineage = LineageOfOutput(
        (
            ColumnLineage("s", (source("a/b", "x.y"), source("a/b", "x.z"), source("/a/path", "x"))),
            ColumnLineage("s.f", (source("a/b", "x.y"),)),
            ColumnLineage("u", (source("a/b", ""),), "a Python function"),
        )
    )
    materialization = dagster_lineage(lineage, ["a/b"])
    assert materialization["dagster/column_lineage"] == dg.TableColumnLineage(
        {"s": [dg.TableColumnDep(dg.AssetKey(["a", "b"]), "x")]}
    )
    assert (materialization["columns_known"], materialization["columns_known_percent"]) == (1, 50.0)
    assert materialization["columns_unknown"].md_str == "- `u`: a Python function"
