"""Known problems of other catalogs: slow lists, inputs without versions, hubs that block queries."""

from __future__ import annotations

from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from headrace import queries
from headrace.context import current_context
from headrace.queries.graph.process_lineage import process_lineage
from headrace.queries.impact import impact
from headrace.queries.lineage import MAX_NODES
from headrace.queries.process_detail import process_page
from headrace.queries.rows import Direction
from headrace.queries.sql import statement
from headrace.retention.run_reports import why as explain_run
from tests.platform.openlineage.events import (
    dataset,
    everything,
    facet,
    ingest,
    ingest_valid,
    run_event,
    uuid,
)

_READERS = 2500
_HUB = """
WITH made AS (
    INSERT INTO catalog.dataset (
        dataset_id, organisation_id, namespace, name, full_name, default_format, owners, tags, columns, metadata_json,
        declaration_hash
    )
    SELECT gen_random_uuid(), :organisation, 'wide', CAST(number AS text), 'wide/' || number, 'csv', '{team}', '{}',
           '[]', '{}', ''
    FROM generate_series(0, :readers) AS number
    RETURNING dataset_id, name
)
INSERT INTO catalog.lineage_edge (organisation_id, source_type, source_id, target_type, target_id, edge_role, origin)
SELECT :organisation, 'DATASET', hub.dataset_id, 'DATASET', reader.dataset_id, 'DERIVES', 'OBSERVED'
FROM made hub
JOIN made reader ON reader.name <> '0'
WHERE hub.name = '0'
RETURNING source_id
"""


@pytest.fixture
def hub(engine: Engine) -> tuple[Engine, UUID]:
    """A dataset, wide/0, that 2,500 others are computed from."""
    with engine.begin() as connection:
        connection.execute(
            sa.text("INSERT INTO catalog.organisation VALUES (:id, 'hub') ON CONFLICT DO NOTHING"),
            {"id": current_context().organisation_id},
        )
        ids = connection.execute(
            sa.text(_HUB), {"organisation": current_context().organisation_id, "readers": _READERS}
        )
        return engine, ids.scalars().first()  # type: ignore[return-value]


def test_a_list_of_6000_jobs_asks_for_no_runs(engine: Engine) -> None:
    for begin in range(0, 6000, 2000):
        ingest_valid(engine, *(run_event(run=n, job=f"job {n:04}") for n in range(begin, begin + 2000)))
    seen: list[str] = []
    after = ""
    while page := process_page(engine, after=after, limit=500):
        seen += [row.key for row in page]
        after = page[-1].key
    assert seen == [f"airflow#job {n:04}" for n in range(6000)]
    with engine.connect() as connection:
        for name in ("runs/process_page", "datasets/datasets"):
            text = statement(name).text.decode()
            for table in ("process_run", "run_attempt", "run_event", "completion"):
                assert table not in text
        assert connection.execute(sa.text("SELECT count(*) FROM catalog.process_run")).scalar_one() == 6000


def test_each_version_has_the_very_version_of_its_input_and_older_lineage_can_be_asked_for(
    engine: Engine,
) -> None:
    def version(tag: str) -> dict:
        schema = "https://openlineage.io/spec/facets/1-0-1/DatasetVersionDatasetFacet.json"
        return {"version": {**facet(datasetVersion=tag), "_schemaURL": schema}}

    for number in (1, 2):
        source = dataset("source", **version(f"s{number}"))
        ingest_valid(
            engine,
            run_event(run=f"write {number}", job="write", minutes=number * 10, outputs=[source]),
            run_event(
                run=f"read {number}",
                job="read",
                minutes=number * 10 + 5,
                inputs=[source],
                outputs=[dataset("target", **version(f"t{number}"))],
            ),
        )
    for number in (1, 2):
        found = queries.version_lineage(engine, "db#target", Direction.UP, 3, tag=f"t{number}")
        assert [node.version.tag for node in found.nodes] == [f"t{number}", f"s{number}"]
        (run,) = explain_run(engine, uuid(f"read {number}"))
        assert run.run_id == UUID(uuid(f"read {number}"))


def test_a_hub_shows_as_much_as_fits_and_counts_the_rest(hub: tuple[Engine, UUID]) -> None:
    engine, centre = hub
    found = queries.lineage(engine, "wide/0", Direction.DOWN, depth=1)
    assert (len(found.nodes), found.truncated) == (MAX_NODES, True)
    assert found.nodes[0].hidden == _READERS - (MAX_NODES - 1)
    near = queries.lineage(engine, "wide/7", Direction.UP, depth=1)
    assert [(node.key, node.hidden) for node in near.nodes] == [("wide/7", 0), ("wide/0", 0)]
    first = impact(engine, centre, 1, limit=100)
    assert (first.datasets, len(first.readers), first.truncated) == (_READERS, 100, False)
    last = first.readers[-1]
    second = impact(engine, centre, 1, after=(last.depth, last.kind, last.key), limit=100)
    assert {row.key for row in second.readers}.isdisjoint({row.key for row in first.readers})
    assert process_lineage(engine, centre, Direction.DOWN, 1).nodes[0].key == "wide/0"


def test_whatever_is_not_taken_has_a_reason_and_a_place(engine: Engine) -> None:
    wrong = [
        {},
        "no event",
        None,
        run_event() | {"eventTime": "yesterday"},
        run_event() | {"run": {"runId": ""}},
        run_event(outputs=[{"namespace": "db"}]),
        run_event(outputs=[dataset("x", schema=facet(fields=5))]),
    ]
    outcomes = ingest(engine, *wrong)
    assert [each.index for each in outcomes] == list(range(len(wrong)))
    assert all(each.reason for each in outcomes)
    assert [each.field for each in outcomes[3:]] == [
        "eventTime",
        "run.runId",
        "outputs[0].name",
        "outputs[0].facets.schema.fields",
    ]


def test_the_dated_directories_of_a_table_are_one_dataset_with_a_version_a_day(engine: Engine) -> None:
    url = "https://openlineage.io/spec/facets/1-0-1/SymlinksDatasetFacet.json"
    table = {"namespace": "hive://metastore:9083", "name": "shop.sales", "type": "TABLE"}
    linked = {**facet(identifiers=[table]), "_schemaURL": url}
    for day in range(1, 4):
        path = dataset(f"sales/dt=2026-03-0{day}", "s3://lake", symlinks=linked)
        ingest_valid(
            engine,
            run_event(run=f"write {day}", job="write", minutes=day * 1440, inputs=["orders"], outputs=[path]),
            run_event(
                run=f"read {day}", job="read", minutes=day * 1440 + 5, inputs=[path], outputs=["report"]
            ),
        )
    found = queries.lineage(engine, "db#report", Direction.UP, 5)
    assert len(found.nodes) == 3
    (sales,) = {node.key for node in found.nodes} - {"db#report", "db#orders"}
    assert len(queries.versions(engine, sales)) == 3
    assert len(queries.versions(engine, "db#report")) == 3


def test_an_event_that_comes_twice_leaves_the_graph_as_it_was(engine: Engine) -> None:
    message = [run_event("START", inputs=["a"]), run_event("COMPLETE", minutes=1, outputs=["b"])]
    ingest_valid(engine, *message)
    before = everything(engine)
    ingest_valid(engine, *message, *reversed(message))
    assert everything(engine) == before
