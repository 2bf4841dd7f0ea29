"""The graph in a real JanusGraph: by changes it becomes what writing the whole would make, wherever it resumes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.exports import synchronisation
from headrace.exports.exporter import GraphUnavailable
from headrace.exports.janusgraph import connected
from headrace.exports.synchronisation import SynchronisationResult, synchronise
from headrace.openlineage.ingestion import ingest
from headrace.registration.declarations import register
from headrace.settings import JanusGraphSettings, settings
from tests.platform.conftest import DATASETS, PROCESSES
from tests.platform.exports.conftest import Filled, columns, event

Graph = tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]


@pytest.fixture
def source(janusgraph_uri: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An empty JanusGraph, which the settings name."""
    monkeypatch.setenv("HEADRACE_JANUSGRAPH__URI", janusgraph_uri)
    settings.cache_clear()
    with connected(JanusGraphSettings(uri=janusgraph_uri)) as found:
        found.V().drop().iterate()
        yield found
    settings.cache_clear()


def sync(filled: Filled, **given: Any) -> SynchronisationResult:
    return synchronise(filled.engine, "janusgraph", current_context().organisation_id, **given)


def graph(source: Any) -> Graph:
    """Vertices by label and properties; edges by label, ends and properties; without stamps and ids of JanusGraph."""

    def plain(found: dict[Any, Any]) -> tuple[Any, ...]:
        return tuple(sorted((k, v) for k, v in found.items() if isinstance(k, str) and k != "stamp"))

    vertices = source.V().project("label", "all").by(label_of()).by(map_of()).to_list()
    nodes = {(each["label"], plain(each["all"])) for each in vertices if each["label"] != "HeadracePosition"}
    found = (
        source.E().project("label", "from", "to", "all")
        .by(label_of()).by(end_of("out_v")).by(end_of("in_v")).by(map_of()).to_list()
    )  # fmt: skip
    edges = {(each["label"], each["from"], each["to"], plain(each["all"])) for each in found}
    assert len(edges) == len(found)
    return nodes, edges


def label_of() -> Any:
    from gremlin_python.process.graph_traversal import __ as anonymous

    return anonymous.label()


def map_of() -> Any:
    from gremlin_python.process.graph_traversal import __ as anonymous

    return anonymous.value_map().by(anonymous.unfold())


def end_of(step: str) -> Any:
    from gremlin_python.process.graph_traversal import __ as anonymous

    return getattr(anonymous, step)().values("headraceId")


def counts(source: Any) -> dict[str, int]:
    found = {**source.V().label().group_count().next(), **source.E().label().group_count().next()}
    return {kind: count for kind, count in found.items() if kind != "HeadracePosition"}


def change(filled: Filled) -> None:
    """New and other datasets, other edges, and other columns."""
    register(
        filled.engine,
        [*DATASETS, DatasetRecord("mart/new", "csv", owners=("a", "b"))],
        [
            PROCESSES[0],
            ProcessRecord("mart/report", Technology.SPARK, inputs=("mart/new",), outputs=("mart/report",)),
        ],
    )
    again = event(
        "START", uuid4(), "2026-11-29T01:00:00Z", columns(("cents", "amount", "DIRECT", "IDENTITY"))
    )
    ingest(filled.engine, current_context().organisation_id, [again])
    with transaction(filled.engine) as cursor:
        cursor.execute("UPDATE catalog.dataset SET description = NULL WHERE full_name = 'mart/delays'")
        cursor.execute(
            "DELETE FROM catalog.lineage_edge WHERE process_id = %s AND edge_role = 'CONSUMES'",
            [filled.loading],
        )


def test_changes_lead_to_what_writing_it_whole_would(filled: Filled, source: Any) -> None:
    assert sync(filled, is_dry=True).written == 5 + 3 + 9 + 2
    assert counts(source) == {}
    assert sync(filled) == SynchronisationResult(True, 5 + 3 + 9 + 2, 0)
    assert counts(source) == {
        "Dataset": 5, "Process": 3, "Column": 4, "CONSUMES": 3, "PRODUCES": 3, "DERIVES": 3 + 2, "HAS": 4
    }  # fmt: skip
    sync(filled)
    assert sync(filled) == SynchronisationResult(False, 0, 0)
    change(filled)
    assert not sync(filled).whole
    changed = graph(source)
    assert counts(source) == {
        "Dataset": 6, "Process": 3, "Column": 2, "CONSUMES": 2, "PRODUCES": 3, "DERIVES": 3 + 1, "HAS": 2
    }  # fmt: skip
    assert sync(filled, whole=True).whole
    assert graph(source) == changed


def test_the_whole_removes_what_is_no_more_and_nothing_of_others(filled: Filled, source: Any) -> None:
    sync(filled)
    source.add_v("Dataset").property("headraceId", "mine").iterate()
    change(filled)
    assert sync(filled, whole=True).removed > 0
    assert source.V().has("headraceId", "mine").count().next() == 1
    whole = graph(source)
    source.V().drop().iterate()
    assert sync(filled).whole
    fresh = graph(source)
    assert whole[0] - fresh[0] == {("Dataset", (("headraceId", "mine"),))}
    assert whole[1] == fresh[1]


def test_an_interrupted_one_continues_where_janusgraph_was(
    filled: Filled, source: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(filled)
    sync(filled)
    change(filled)
    monkeypatch.setattr("headrace.catalog.outbox._BATCH_SIZE", 1)

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(synchronisation, "note_read", die)
        with pytest.raises(KeyboardInterrupt):
            sync(filled)
    assert not sync(filled).whole
    changed = graph(source)
    sync(filled, whole=True)
    assert graph(source) == changed


@pytest.mark.parametrize("uri", ["ws://127.0.0.1:1/gremlin", "http://127.0.0.1", None])
def test_a_server_that_cannot_be_reached_says_what_to_set(uri: str | None) -> None:
    pytest.importorskip("gremlin_python", reason="no driver: `make janusgraph` brings it")
    with (
        pytest.raises(GraphUnavailable, match="HEADRACE_JANUSGRAPH__URI"),
        connected(JanusGraphSettings(uri=uri)),
    ):
        pass
