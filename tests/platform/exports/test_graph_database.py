"""The graph in a real Neo4j: in full once, then by changes, with the same result however often and wherever it
resumes."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.locks import alone
from headrace.exports import synchronisation
from headrace.exports.exporter import GraphUnavailable
from headrace.exports.neo4j import connected
from headrace.exports.synchronisation import SynchronisationResult, synchronise
from headrace.openlineage.ingestion import ingest
from headrace.registration.declarations import register
from tests.platform.conftest import DATASETS, PROCESSES
from tests.platform.exports.conftest import Filled, columns, event

Graph = tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]


def sync(filled: Filled, driver: Any, **given: Any) -> SynchronisationResult:
    return synchronise(filled.engine, "neo4j", current_context().organisation_id, **given)


def graph(driver: Any, *, stamps: bool = False) -> Graph:
    """Nodes by label, id and properties; edges by role, ends and properties."""

    def plain(properties: Any) -> tuple[Any, ...]:
        return tuple(sorted((k, str(v)) for k, v in dict(properties).items() if stamps or k != "stamp"))

    found, _, _ = driver.execute_query("MATCH (n) WHERE NOT n:HeadracePosition RETURN labels(n) AS labels, n")
    nodes = {(*row["labels"], plain(row["n"])) for row in found}
    assert len(nodes) == len(found)
    found, _, _ = driver.execute_query("MATCH (a)-[e]->(b) RETURN type(e) AS role, a.id AS a, b.id AS b, e")
    edges = {(row["role"], row["a"], row["b"], plain(row["e"])) for row in found}
    assert len(edges) == len(found)
    return nodes, edges


def counts(driver: Any) -> dict[str, int]:
    found, _, _ = driver.execute_query("MATCH (n) RETURN labels(n)[0] AS kind, count(*) AS n")
    ends, _, _ = driver.execute_query("MATCH ()-[e]->() RETURN type(e) AS kind, count(*) AS n")
    return {row["kind"]: row["n"] for row in [*found, *ends] if row["kind"] != "HeadracePosition"}


def sql(filled: Filled, statement: str, *given: Any) -> None:
    with transaction(filled.engine) as cursor:
        cursor.execute(statement, given)


FIRST = {"Dataset": 5, "Process": 3, "Column": 4, "CONSUMES": 3, "PRODUCES": 3, "DERIVES": 3 + 2, "HAS": 4}


def test_the_first_time_it_is_written_whole(filled: Filled, driver: Any) -> None:
    assert sync(filled, driver) == SynchronisationResult(True, 5 + 3 + 9 + 2, 0)
    assert counts(driver) == FIRST
    before = graph(driver)
    done = sync(filled, driver)
    assert (done.whole, done.removed) == (False, 0)
    assert sync(filled, driver) == SynchronisationResult(False, 0, 0)
    assert graph(driver) == before


def test_no_password_is_in_neo4j(filled: Filled, driver: Any) -> None:
    sql(filled, "UPDATE catalog.dataset SET description = 'see jdbc:db2://bob:hunter2@host'")
    sync(filled, driver)
    whole = str(graph(driver))
    sql(filled, "UPDATE catalog.dataset SET description = 'see jdbc:db2://ann:hunter2@host'")
    sync(filled, driver)
    assert "bob:***@host" in whole
    assert "ann:***@host" in str(graph(driver))
    assert "hunter2" not in whole + str(graph(driver))


def test_changes_lead_to_what_writing_it_whole_would(filled: Filled, driver: Any) -> None:
    sync(filled, driver)
    sync(filled, driver)
    register(
        filled.engine,
        [*DATASETS, DatasetRecord("mart/new", "csv", owners=("a", "b"))],
        [
            PROCESSES[0],
            ProcessRecord("mart/report", Technology.SPARK, inputs=("mart/new",), outputs=("mart/report",)),
        ],
    )
    sql(filled, "UPDATE catalog.dataset SET description = 'said anew' WHERE full_name = 'mart/delays'")
    # The next run says that sales come from other columns.
    again = event(
        "START", uuid4(), "2026-11-29T01:00:00Z", columns(("cents", "amount", "DIRECT", "IDENTITY"))
    )
    ingest(filled.engine, current_context().organisation_id, [again])
    sql(
        filled,
        "DELETE FROM catalog.lineage_edge WHERE process_id = %s AND edge_role = 'CONSUMES'",
        filled.loading,
    )
    done = sync(filled, driver)
    assert not done.whole
    changed = graph(driver)
    assert counts(driver) == {
        "Dataset": 6, "Process": 3, "Column": 2, "CONSUMES": 2, "PRODUCES": 3, "DERIVES": 3 + 1, "HAS": 2,
    }  # fmt: skip
    driver.execute_query("MATCH (n) DETACH DELETE n")
    assert sync(filled, driver).whole
    assert graph(driver) == changed
    assert sync(filled, driver, whole=True).whole
    assert graph(driver) == changed


def test_written_whole_over_an_old_graph_what_is_no_more_goes(filled: Filled, driver: Any) -> None:
    sync(filled, driver)
    driver.execute_query(
        "CREATE (:Dataset {id: 'mine'})-[:CONSUMES {id: 'mine'}]->(:Process {id: 'mine too'})"
    )
    referring = (
        "column_lineage",
        "column_lineage_report",
        "run_dataset",
        "lineage_edge",
        "dataset_name",
        "dataset_schema",
    )
    for table in referring:
        sql(filled, f"DELETE FROM catalog.{table}")  # noqa: S608
    sql(filled, "DELETE FROM catalog.dataset WHERE dataset_id = %s", filled.sales)
    done = sync(filled, driver, whole=True)
    assert done == SynchronisationResult(True, 4 + 3, 1 + 9 + 2 + 4)
    assert counts(driver) == {"Dataset": 4 + 1, "Process": 3 + 1, "CONSUMES": 1}


def test_a_dataset_that_is_merged_takes_its_edges_along(filled: Filled, driver: Any) -> None:
    from headrace.openlineage.naming.merges import merge

    sync(filled, driver)
    with transaction(filled.engine) as cursor:
        cursor.execute("SELECT dataset_id FROM catalog.dataset WHERE full_name = 'mart/report'")
        report = cursor.fetchone()["dataset_id"]
        merge(cursor, filled.sales, report)
    sync(filled, driver)
    changed = graph(driver)
    assert counts(driver)["Dataset"] == 4
    driver.execute_query("MATCH (n) DETACH DELETE n")
    sync(filled, driver)
    assert graph(driver) == changed


def test_what_died_in_between_goes_on_where_neo4j_was(
    filled: Filled, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(filled, driver)
    sync(filled, driver)
    sql(filled, "UPDATE catalog.dataset SET description = 'one'")
    sql(filled, "UPDATE catalog.dataset SET description = 'two'")
    monkeypatch.setattr("headrace.catalog.outbox._BATCH_SIZE", 2)

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(synchronisation, "note_read", die)
        with pytest.raises(KeyboardInterrupt):
            sync(filled, driver)
    done = sync(filled, driver)
    assert (done.whole, done.removed) == (False, 0)
    described, _, _ = driver.execute_query("MATCH (n:Dataset) RETURN collect(DISTINCT n.description) AS all")
    assert described[0]["all"] == ["two"]


def test_a_restored_catalog_is_synchronised_in_full(filled: Filled, driver: Any) -> None:
    sync(filled, driver)
    driver.execute_query("MATCH (mark:HeadracePosition) SET mark.transaction_id = 4611686018427387904")
    assert sync(filled, driver).whole
    assert not sync(filled, driver).whole


def test_a_reader_inactive_for_a_year_synchronises_in_full(filled: Filled, driver: Any) -> None:
    sync(filled, driver)
    sql(filled, "UPDATE catalog.outbox_reader SET read_at = now() - interval '13 months'")
    assert sync(filled, driver).whole
    assert not sync(filled, driver).whole


def test_what_is_not_committed_yet_is_not_passed_over(filled: Filled, driver: Any) -> None:
    sync(filled, driver)
    sync(filled, driver)
    with transaction(filled.engine) as slow:
        slow.execute(
            "UPDATE catalog.lineage_edge SET valid_to = now() WHERE process_id = %s", [filled.loading]
        )
        sql(filled, "UPDATE catalog.dataset SET description = 'fast' WHERE full_name = 'mart/delays'")
        sync(filled, driver)
        assert counts(driver) == FIRST
    assert sync(filled, driver).removed == 3
    described, _, _ = driver.execute_query("MATCH (n:Dataset {description: 'fast'}) RETURN n.key AS key")
    assert [row["key"] for row in described] == ["mart/delays"]


def test_graphs_of_two_organisations_are_apart(filled: Filled, driver: Any) -> None:
    sync(filled, driver)
    before = graph(driver)
    other = uuid4()
    sql(filled, "INSERT INTO catalog.organisation (organisation_id, name) VALUES (%s, 'other')", other)
    assert synchronise(filled.engine, "neo4j", other) == SynchronisationResult(True, 0, 0)
    assert graph(driver) == before


def test_two_at_a_time_are_refused(filled: Filled, driver: Any) -> None:
    with alone(filled.engine, "neo4j"), pytest.raises(GraphUnavailable, match="another process"):
        sync(filled, driver)


@pytest.mark.parametrize("uri", ["bolt://127.0.0.1:1", "nonsense", "http://127.0.0.1"])
def test_a_server_that_is_not_there_is_one_message_without_the_password(uri: Any) -> None:
    with (
        pytest.raises(GraphUnavailable, match="HEADRACE_NEO4J__URI") as refused,
        connected(uri, "neo4j", "s3cret"),
    ):
        pass
    assert "s3cret" not in str(refused.value)
