"""OpenLineage events for tests, the recorded ones, and the resulting catalog as comparable rows."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import sqlalchemy as sa
from sqlalchemy import Engine
from sqlalchemy.dialects.postgresql import ARRAY

from headrace.context import current_context
from headrace.openlineage import ingestion
from headrace.openlineage.model import Outcome, Result
from headrace.retention.run_facets import RunFacets, run_facets
from headrace.retention.run_reports import why as explain_run

SAMPLES = Path(__file__).with_name("samples")
SCENARIOS = sorted(folder.name for folder in (SAMPLES / "scenarios").iterdir())
START = datetime(2026, 3, 1, 4, 0, tzinfo=UTC)
PRODUCER = "https://example.com/producer"
BASE = {"_producer": PRODUCER, "_schemaURL": "https://example.com/facet.json"}
CORE = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"


def recorded(scenario: str) -> list[dict[str, Any]]:
    """The events of a scenario by the names of their files, as text sorts them."""
    return [
        json.loads(path.read_text())
        for path in sorted((SAMPLES / "scenarios" / scenario / "events").iterdir())
    ]


def facet(**content: Any) -> dict[str, Any]:
    return {**BASE, **content}


def at(minutes: float) -> str:
    return (START + timedelta(minutes=minutes)).isoformat()


def uuid(run: object) -> str:
    return str(uuid5(UUID(int=0), str(run)))


def dataset(
    name: str, namespace: str = "db", use: dict[str, Any] | None = None, **facets: Any
) -> dict[str, Any]:
    return {"namespace": namespace, "name": name, "facets": facets, **(use or {})}


def run_event(
    kind: str | None = "COMPLETE",
    *,
    run: object = 1,
    job: str = "load",
    minutes: float = 0,
    inputs: list[Any] | None = None,
    outputs: list[Any] | None = None,
    run_facets: dict[str, Any] | None = None,
    job_facets: dict[str, Any] | None = None,
    namespace: str = "airflow",
) -> dict[str, Any]:
    return {
        **({"eventType": kind} if kind else {}),
        "eventTime": at(minutes),
        "run": {"runId": uuid(run), "facets": run_facets or {}},
        "job": {"namespace": namespace, "name": job, "facets": job_facets or {}},
        "inputs": [dataset(each) if isinstance(each, str) else each for each in inputs or ()],
        "outputs": [dataset(each) if isinstance(each, str) else each for each in outputs or ()],
        "producer": PRODUCER,
        "schemaURL": CORE + "RunEvent",
    }


def dataset_event(described: dict[str, Any], minutes: float = 0) -> dict[str, Any]:
    return {
        "eventTime": at(minutes),
        "dataset": described,
        "producer": PRODUCER,
        "schemaURL": CORE + "DatasetEvent",
    }


def job_event(
    job: str, inputs: list[str], outputs: list[str], minutes: float = 0, **facets: Any
) -> dict[str, Any]:
    return {
        "eventTime": at(minutes),
        "job": {"namespace": "airflow", "name": job, "facets": facets},
        "inputs": [dataset(each) for each in inputs],
        "outputs": [dataset(each) for each in outputs],
        "producer": PRODUCER,
        "schemaURL": CORE + "JobEvent",
    }


def ingest(engine: Engine, *events: object) -> list[Outcome]:
    return ingestion.ingest(engine, current_context().organisation_id, events)


def ingest_valid(engine: Engine, *events: object) -> None:
    """Ingest what has to be taken."""
    refused = [each for each in ingest(engine, *events) if each.result is Result.REFUSED]
    assert not refused, refused


def facets_of(engine: Engine, run: object) -> RunFacets:
    (report,) = explain_run(engine, UUID(uuid(run)))
    return run_facets(engine, report)


_QUERIES = {
    "datasets": """
        SELECT dataset_id, full_name, namespace, name, default_format, description, owners, tags, columns, metadata_json
        FROM catalog.dataset""",
    "names": """
        SELECT named.namespace, named.name, full_name, reported, renamed, kind
        FROM catalog.dataset_name named
        JOIN catalog.dataset USING (dataset_id)""",
    "processes": """
        SELECT process_id, process_key, job_namespace, job_name, description, owners, source, code_version,
               metadata_json
        FROM catalog.process""",
    "runs": """
        SELECT run_id, process_key, start_ts, end_ts, status, parent_run_id, parent_process_id, facets_json, historical
        FROM catalog.process_run JOIN catalog.process USING (process_id)""",
    "attempts": """
        SELECT run_id, attempt, run_start_ts, state, ending, start_ts, end_ts, reason FROM catalog.run_attempt""",
    "used": """
        SELECT run_id, full_name, named.name, role, version, partition_key, facets, at
        FROM catalog.run_dataset JOIN catalog.dataset_name named USING (name_id)
        JOIN catalog.dataset USING (dataset_id)""",
    "edges": """
        SELECT coalesce(source.full_name, source_job.process_key), coalesce(target.full_name, target_job.process_key),
               edge_role, process.process_key, edge.origin, edge.valid_from, edge.valid_to
        FROM catalog.lineage_edge edge
        LEFT JOIN catalog.dataset source ON source.dataset_id = source_id
        LEFT JOIN catalog.process source_job ON source_job.process_id = source_id
        LEFT JOIN catalog.dataset target ON target.dataset_id = target_id
        LEFT JOIN catalog.process target_job ON target_job.process_id = target_id
        LEFT JOIN catalog.process ON process.process_id = edge.process_id""",
    "versions": """
        SELECT dataset_version_id, full_name, version_tag, path, format, row_count, byte_size, file_count, schema_hash,
               produced_by_run_id, produced_at
        FROM catalog.dataset_version JOIN catalog.dataset USING (dataset_id)""",
    "moves": """
        SELECT full_name, generation, version_tag, run_id, moved_at, previous_version_id
        FROM catalog.pointer_move JOIN catalog.dataset USING (dataset_id)
        JOIN catalog.dataset_version USING (dataset_version_id)""",
    "published": """
        SELECT full_name, generation, version_tag, pointer.moved_at
        FROM catalog.published_pointer pointer JOIN catalog.dataset USING (dataset_id)
        LEFT JOIN catalog.dataset_version USING (dataset_version_id)""",
    "inputs": "SELECT dataset_version_id, input_version_id FROM catalog.version_input",
    "schemas": """
        SELECT full_name, schema_hash, column_order, column_name, column_type, column_metadata, schema.created_at
        FROM catalog.dataset_schema schema JOIN catalog.dataset USING (dataset_id)""",
    "facets": """
        SELECT subject_type, subject_id, name, at, digest, content, modelled, deleted FROM catalog.facet""",
    "columns": """
        SELECT target.full_name, target_field, source.full_name, source_field, process_id, via, transformation_type,
               transformation_subtype, masking, run_id, first_at, last_at
        FROM catalog.column_lineage
        JOIN catalog.dataset_name target_name ON target_name.name_id = target_name_id
        JOIN catalog.dataset target ON target.dataset_id = target_name.dataset_id
        JOIN catalog.dataset_name source_name ON source_name.name_id = source_name_id
        JOIN catalog.dataset source ON source.dataset_id = source_name.dataset_id""",
    "columns said": "SELECT target_name_id, reporter_id, process_id, via, last_at FROM catalog.column_lineage_report",
    "assertions": """
        SELECT run_id, name_id, assertion, column_name, success, severity, detail, at
        FROM catalog.dataset_assertion""",
    "metrics": """
        SELECT run_id, name_id, row_count, byte_size, file_count, last_updated, columns, at
        FROM catalog.dataset_metrics""",
    "documents": """
        SELECT run_id, reported_run_id, process_id, native, document, first_at, last_at
        FROM catalog.openlineage_run""",
    "completions": "SELECT event_key, run, process_key, historical FROM catalog.completion "
    "JOIN catalog.process USING (process_id)",
    "to tell": "SELECT subject_id, event_key, version_id FROM catalog.pending_materialization",
    "raw": """
        SELECT event_time, content_hash, run_id, process_key, event_type, source, historical
        FROM catalog.run_event""",
}


def contents(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    """Return all results of events, without times of arrival."""
    with engine.connect() as connection:
        return {
            name: sorted((tuple(row) for row in connection.execute(sa.text(query))), key=repr)
            for name, query in _QUERIES.items()
        }


_ARRIVAL = {
    "*": {"created_at", "updated_at", "received_at"},
    "pending_materialization": {"changed_at"},
    "lineage_edge": {"edge_id"},
    "completion": {"sequence"},
    "run_event": {"event_id", "sequence"},
}
# The outbox and the audit trail record each change. Search forgets no word.
_APART = {
    "alembic_version",
    "archive_file",
    "audit_entry",
    "organisation",
    "openlineage_model_version",
    "outbox",
    "search_key",
    "search_word",
}


def everything(engine: Engine) -> dict[str, list[str]]:
    """Return every row of every table, without times of arrival."""
    inspected = sa.inspect(engine)
    partitions = "SELECT relname FROM pg_class WHERE relispartition"
    found: dict[str, list[str]] = {}
    with engine.connect() as connection:
        apart = _APART | set(connection.scalars(sa.text(partitions)))
        for table in set(inspected.get_table_names("catalog")) - apart:
            left_out = _ARRIVAL["*"] | _ARRIVAL.get(table, set())
            if table == "dataset_schema":
                left_out -= {"created_at"}  # the time of the first report
            row = sa.func.to_jsonb(sa.text("run_facets")).op("-")(sa.cast(sorted(left_out), ARRAY(sa.Text)))
            run_facets = sa.table(table, schema="catalog").alias("run_facets")
            rows = connection.scalars(sa.select(sa.cast(row, sa.Text)).select_from(run_facets))
            found[table] = sorted(rows)
    return found


def edges(engine: Engine, role: str = "DERIVES") -> set[tuple[str, str]]:
    """The edges of a role that hold, by keys."""
    return {(row[0], row[1]) for row in contents(engine)["edges"] if row[2] == role and row[6] is None}


_TABLES = """
pending_materialization completion
dataset_assertion dataset_metrics column_lineage column_lineage_report run_dataset openlineage_run facet version_input
pointer_move published_pointer dataset_version dataset_schema lineage_edge run_attempt process_run run_event outbox
dataset_name dataset_name_change dataset process
"""


def wipe(engine: Engine, *, but: str = "") -> None:
    """An empty catalog again, but for one table."""
    with engine.begin() as connection:
        for table in sorted(set(_TABLES.split()) - {but}, key=_TABLES.split().index):
            connection.execute(sa.text(f"DELETE FROM catalog.{table}"))  # noqa: S608
