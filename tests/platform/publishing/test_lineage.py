"""The column lineage of versions: stored with each, one graph of all columns, as of a time, free without lineage."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headrace.catalog.column_lineage import (
    ColumnLineage,
    ColumnSource,
    How,
    LineageOfOutput,
    Origin,
    Subtype,
    as_json,
    facet,
    from_json,
    unknown,
)
from headrace.catalog.records import CheckResult, CheckStatus, ProcessRecord, Technology
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.openlineage.naming.merges import merge
from headrace.publishing.publication import publish
from headrace.publishing.rollback import rollback
from headrace.publishing.runs import attempt
from headrace.queries import Direction
from headrace.queries.columns import column_place
from headrace.queries.names import column_lineage, locate
from headrace.registration.declarations import register
from headrace.retention.rebuild import rebuild
from headrace.settings import settings
from headrace.slas.column_impact import NO_LINEAGE, column_impact
from tests.platform.conftest import DATASETS, PROCESSES


def direct(dataset: Any, column: Any, subtype: Any = Subtype.IDENTITY, **more: Any) -> Any:
    return ColumnSource(dataset, column, How.DIRECT, subtype, **more)


def indirect(dataset: Any, column: Any, subtype: Any = Subtype.FILTER) -> Any:
    return ColumnSource(dataset, column, How.INDIRECT, subtype)


DELAYS = LineageOfOutput(
    (
        ColumnLineage("id", (direct("raw/flights", "id"),)),
        ColumnLineage(
            "delay",
            (direct("raw/flights", "delay", Subtype.TRANSFORMATION, expression="abs(delay)"),),
        ),
    ),
    whole=(indirect("raw/flights", "delay"),),
)
REPORT = LineageOfOutput(
    (ColumnLineage("total", (direct("mart/delays", "delay", Subtype.AGGREGATION),)),),
)


def dataset_id(engine: Engine, key: Any) -> Any:
    found = locate(engine, current_context().organisation_id, f"headrace://{_organisation(engine)}", key)
    assert found is not None
    return found


def _organisation(engine: Engine) -> Any:
    with transaction(engine) as cursor:
        return cursor.execute("SELECT name FROM catalog.organisation").fetchone()["name"]


def edges(engine: Engine, key: Any, direction: Any = Direction.UP, depth: Any = 1, **more: Any) -> Any:
    return [
        (e.source_key, e.source_field, e.target_key, e.target_field, e.type, e.subtype)
        for e in column_lineage(engine, dataset_id(engine, key), direction, depth, **more)
    ]


def count(engine: Engine, table: Any) -> Any:
    with transaction(engine) as cursor:
        return cursor.execute(f"SELECT count(*) AS n FROM catalog.{table}").fetchone()["n"]  # noqa: S608


def test_values_survive_json_and_the_facet_has_all_of_them() -> None:
    lineage = LineageOfOutput(
        (
            ColumnLineage(
                "a", (direct("x/y", "a.b", masking=True, expression="sha2(a.b)"),), None, 0.5, Origin.SQL
            ),
            ColumnLineage("b", unknown="a Python function", confidence=0.0),
        ),
        (indirect("x/y", "c"),),
        "note",
    )
    assert from_json(as_json(lineage)) == lineage
    assert lineage.coverage() == (1, 2)
    message = facet(lineage, lambda key: ("ns", key))
    assert message["fields"]["a"]["inputFields"] == [
        {
            "namespace": "ns",
            "name": "x/y",
            "field": "a.b",
            "transformations": [
                {"type": "DIRECT", "subtype": "IDENTITY", "description": "sha2(a.b)", "masking": True}
            ],
        }
    ]
    assert message["fields"]["b"]["headrace"]["unknown"] == "a Python function"
    assert message["dataset"][0]["transformations"][0]["subtype"] == "FILTER"


def test_a_source_cannot_be_direct_by_a_filter() -> None:
    with pytest.raises(ValueError, match="FILTER is not a subtype of DIRECT"):
        ColumnSource("x/y", "a", How.DIRECT, Subtype.FILTER)


def test_one_query_walks_through_the_lineage_of_several_datasets(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft(lineage=DELAYS), draft("mart/report", lineage=REPORT)])
    assert edges(catalog, "mart/report", depth=5) == [
        ("mart/delays", "delay", "mart/report", "total", "DIRECT", "AGGREGATION"),
        ("raw/flights", "delay", "mart/delays", "", "INDIRECT", "FILTER"),
        ("raw/flights", "delay", "mart/delays", "delay", "DIRECT", "TRANSFORMATION"),
    ]
    down = edges(catalog, "raw/flights", Direction.DOWN, 5, field="id")
    assert down == [("raw/flights", "id", "mart/delays", "id", "DIRECT", "IDENTITY")]


def test_of_versions_without_lineage_nothing_is_kept(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft()])
    assert [
        count(catalog, t)
        for t in ("dataset_lineage", "column_lineage", "column_lineage_report", "dataset_name")
    ] == [
        0,
        0,
        0,
        0,
    ]


def test_the_same_lineage_again_writes_nothing_but_its_hash(catalog: Engine, draft: Any) -> None:
    first = publish(catalog, None, [draft(lineage=DELAYS)])[0]
    with transaction(catalog) as cursor:
        before = cursor.execute("SELECT * FROM catalog.column_lineage ORDER BY 1").fetchall()
    publish(catalog, None, [draft(generation=first.generation, lineage=from_json(as_json(DELAYS)))])
    with transaction(catalog) as cursor:
        assert cursor.execute("SELECT * FROM catalog.column_lineage ORDER BY 1").fetchall() == before
        hashes = cursor.execute("SELECT lineage_hash FROM catalog.dataset_version").fetchall()
    assert len({row["lineage_hash"] for row in hashes}) == 1
    assert count(catalog, "dataset_lineage") == 1


def test_lineage_no_longer_reported_is_not_current_but_found_as_of_then(catalog: Engine, draft: Any) -> None:
    less = LineageOfOutput((ColumnLineage("id", (direct("raw/flights", "id"),)),))
    first = publish(catalog, None, [draft(lineage=DELAYS)])[0]
    second = publish(catalog, None, [draft(generation=1, lineage=less)])[0]
    third = publish(catalog, None, [draft(generation=2, lineage=DELAYS)])[0]
    assert len(edges(catalog, "mart/delays")) == 3

    def at(publication: Any, **shift: Any) -> Any:
        return edges(catalog, "mart/delays", as_of=publication.version.created_at + timedelta(**shift))

    assert at(first, seconds=-1) == []
    assert len(at(first)) == 3
    assert len(at(second, microseconds=-2)) == 3
    assert [edge[1] for edge in at(second)] == ["id"]
    assert [edge[1] for edge in at(third, microseconds=-2)] == ["id"]
    assert len(at(third)) == 3


LESS = LineageOfOutput((ColumnLineage("id", (direct("raw/flights", "id"),)),))


def sources(engine: Engine, **more: Any) -> Any:
    return [edge[1] for edge in edges(engine, "mart/delays", **more)]


def test_after_a_rollback_the_graph_has_what_readers_get(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft(lineage=DELAYS)])
    second = publish(catalog, None, [draft(generation=1, lineage=LESS)])[0]
    rollback(catalog, "mart/delays", None, None, by="ann", reason="wrong")
    assert sources(catalog) == ["delay", "delay", "id"]
    assert sources(catalog, as_of=second.version.created_at) == ["id"]
    with transaction(catalog) as cursor:
        at = cursor.execute("SELECT moved_at FROM catalog.published_pointer").fetchone()["moved_at"]
    assert sources(catalog, as_of=at) == ["delay", "delay", "id"]
    publish(catalog, None, [draft(generation=3, lineage=LESS)])
    assert sources(catalog) == ["id"]


def test_after_a_rollback_to_a_version_without_lineage_the_graph_has_none(
    catalog: Engine, draft: Any
) -> None:
    publish(catalog, None, [draft()])
    publish(catalog, None, [draft(generation=1, lineage=DELAYS)])
    rollback(catalog, "mart/delays", None, None, by="ann", reason="wrong")
    assert sources(catalog) == []
    found = column_impact(catalog, column_place(catalog, "raw/flights.delay")).used_by
    assert ("mart/delays", NO_LINEAGE) in [(each.key, each.reason) for each in found]
    rollback(catalog, "mart/delays", None, "v2", by="ann", reason="right")
    assert sources(catalog) == ["delay", "delay", "id"]


def test_of_several_partitions_the_newest_that_readers_get_is_what_the_graph_has(
    catalog: Engine, draft: Any
) -> None:
    publish(catalog, None, [draft(partition="1", lineage=DELAYS)])
    publish(catalog, None, [draft(partition="1", generation=1, lineage=LESS)])
    publish(catalog, None, [draft(partition="2", lineage=LESS)])
    rollback(catalog, "mart/delays", "1", None, by="ann", reason="wrong")
    assert sources(catalog) == ["id"]
    publish(catalog, None, [draft(partition="2", generation=1, lineage=DELAYS)])
    rollback(catalog, "mart/delays", "2", None, by="ann", reason="wrong")
    assert sources(catalog) == ["id"]


def test_lineage_of_another_process_ends_when_its_version_is_replaced(catalog: Engine, draft: Any) -> None:
    others = [ProcessRecord(name, Technology.SPARK, outputs=("mart/delays",)) for name in ("old", "new")]
    register(catalog, DATASETS, [*PROCESSES, *others])
    for name, generation, lineage in (("old", 0, DELAYS), ("new", 1, LESS)):
        with running(catalog, name) as current:
            publish(catalog, current.run_id, [draft(generation=generation, lineage=lineage)])
    assert sources(catalog) == ["id"]
    rollback(catalog, "mart/delays", None, None, by="ann", reason="wrong")
    assert sources(catalog) == ["delay", "delay", "id"]
    found = column_lineage(catalog, dataset_id(catalog, "mart/delays"))
    assert {each.process for each in found} == {"old"}


def running(engine: Engine, process: Any) -> Any:
    return attempt(
        engine,
        run_id=uuid4(),
        process_key=process,
        root_dagster_run_id=process,
        dagster_run_id=process,
        partitions=[],
        log_location=None,
    )


def test_a_version_that_readers_do_not_get_says_nothing_in_the_graph(catalog: Engine, draft: Any) -> None:
    failed = (CheckResult("id_not_null", CheckStatus.FAIL, 3),)
    publish(catalog, None, [draft(lineage=DELAYS, checks=failed)])
    assert count(catalog, "dataset_lineage") == 1
    assert count(catalog, "column_lineage") == 0


def test_unknown_columns_have_edges_from_all_that_may_be_in_them(catalog: Engine, draft: Any) -> None:
    lineage = unknown(["id", "delay"], "mapInPandas").possible(["raw/flights"])
    publish(catalog, None, [draft(lineage=lineage)])
    found = column_lineage(catalog, dataset_id(catalog, "raw/flights"), Direction.DOWN, 1, field="whatever")
    assert [(e.target_field, e.source_field, e.unknown, e.confidence, e.origin) for e in found] == [
        ("delay", "", "mapInPandas", 0.0, "PLAN"),
        ("id", "", "mapInPandas", 0.0, "PLAN"),
    ]
    with transaction(catalog) as cursor:
        rows = cursor.execute(
            "SELECT transformation_subtype, confidence_score, is_active FROM openlineage.ol_column_lineage"
        ).fetchall()
    assert [(r["transformation_subtype"], float(r["confidence_score"]), r["is_active"]) for r in rows] == [
        ("UNKNOWN", 0.0, "Y")
    ] * 2


def test_the_process_of_the_run_says_it_and_partitions_say_it_once(catalog: Engine, draft: Any) -> None:
    with attempt(
        catalog,
        run_id=uuid4(),
        process_key="mart/delays",
        root_dagster_run_id="r",
        dagster_run_id="r",
        partitions=["1", "2"],
        log_location=None,
    ) as current:
        publish(catalog, current.run_id, [draft(partition=key, lineage=DELAYS) for key in ("1", "2")])
    found = column_lineage(catalog, dataset_id(catalog, "mart/delays"))
    assert {(e.process, e.run_id) for e in found} == {("mart/delays", current.run_id)}
    assert len(found) == 3


def test_fields_of_a_struct_are_walked_apart(catalog: Engine, draft: Any) -> None:
    lineage = LineageOfOutput(
        (
            ColumnLineage("s", (direct("raw/flights", "id"), direct("raw/flights", "delay"))),
            ColumnLineage("s.a", (direct("raw/flights", "id"),)),
            ColumnLineage("s.b", (direct("raw/flights", "delay"),)),
        )
    )
    publish(catalog, None, [draft(lineage=lineage)])
    assert [edge[1] for edge in edges(catalog, "mart/delays", field="s.a")] == ["id"]
    assert [edge[1] for edge in edges(catalog, "mart/delays", field="s")] == ["id", "delay"]
    assert [edge[1] for edge in edges(catalog, "mart/delays", field="s.a.deep")] == ["id"]


def test_a_rebuild_from_events_leaves_it_alone(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft(lineage=DELAYS)])
    before = edges(catalog, "mart/delays")
    rebuild(catalog)
    assert edges(catalog, "mart/delays") == before
    assert len(before) == 3


def test_datasets_that_become_one_bring_their_lineage_and_clearings(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft(lineage=DELAYS), draft("mart/report", lineage=REPORT)])
    ids = {key: dataset_id(catalog, key) for key in ("mart/delays", "mart/report")}
    with transaction(catalog) as cursor:
        cursor.execute(
            "INSERT INTO catalog.cleared_column "
            "(organisation_id, dataset_id, column_name, cleared_by, reason, sources) "
            "SELECT organisation_id, dataset_id, 'x', 'ann', 'none', ARRAY[%s || ':id'] FROM catalog.dataset "
            "WHERE full_name <> 'raw/flights'",
            [str(ids["mart/delays"])],
        )
        merge(cursor, ids["mart/delays"], ids["mart/report"])
        kept = cursor.execute(
            "SELECT count(*) AS n, count(withdrawn_at) AS withdrawn, count(DISTINCT dataset_id) AS of, "
            "min(sources[1]) AS least, max(sources[1]) AS most FROM catalog.cleared_column"
        ).fetchone()
    judged = f"{ids['mart/report']}:id"
    assert kept == {"n": 2, "withdrawn": 1, "of": 1, "least": judged, "most": judged}
    assert count(catalog, "lineage_flow") == 3
    assert count(catalog, "dataset_lineage") == 2
    assert {edge[3] for edge in edges(catalog, "mart/report")} == {"", "delay", "id", "total"}


def test_the_event_of_a_publish_carries_the_facet(catalog: Engine, draft: Any) -> None:
    past = LineageOfOutput(
        (
            ColumnLineage(
                "id", (direct("raw/flights", "id"), direct("/data/x.csv", "a"), direct("spark.t", "b"))
            ),
        )
    )
    publish(catalog, None, [draft(lineage=past), draft("mart/report")])
    with transaction(catalog) as cursor:
        found = cursor.execute(
            "SELECT payload_json -> 'dataset' AS reported FROM catalog.run_event"
        ).fetchall()
    reported = {row["reported"]["name"]: row["reported"]["facets"] for row in found}
    assert "columnLineage" not in reported["mart/report"]
    facet = reported["mart/delays"]["columnLineage"]
    assert [(each["namespace"], each["name"]) for each in facet["fields"]["id"]["inputFields"]] == [
        (f"headrace://{_organisation(catalog)}", "raw/flights"),
        ("file", "/data/x.csv"),
        ("spark", "spark.t"),
    ]


def test_what_was_read_past_the_inputs_is_in_the_graph(catalog: Engine, draft: Any) -> None:
    warehouse = settings().warehouse_uri
    read = (
        direct("file:/data/x.csv", "a"),
        direct("s3a://lake/day/2", "b"),
        direct("spark_catalog.default.t", "c"),
        direct(f"{warehouse}/raw/flights/20260101T000000Z-0a1b2c3d", "id"),
    )
    publish(catalog, None, [draft(lineage=LineageOfOutput((ColumnLineage("id", read),)))])
    found = edges(catalog, "mart/delays")
    assert [edge[:2] for edge in found] == [
        ("file#/data/x.csv", "a"),
        ("raw/flights", "id"),
        ("s3://lake#day/2", "b"),
        ("spark#spark_catalog.default.t", "c"),
    ]
    used, *_ = column_impact(catalog, column_place(catalog, "file#/data/x.csv.a")).used_by
    assert (used.key, used.direct) == ("mart/delays", ("id",))
    rebuild(catalog)
    assert edges(catalog, "mart/delays") == found
    publish(catalog, None, [draft(lineage=LineageOfOutput((ColumnLineage("id", read[:1]),)), generation=1)])
    assert edges(catalog, "mart/delays") == found[:1]
