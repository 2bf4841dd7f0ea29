"""The lineage graph as OpenLineage events, one per line, for import into another catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import IO, Any
from uuid import UUID, uuid5

from sqlalchemy import Engine

from headrace.access.redaction import scrubbed
from headrace.catalog.outbox import Rows
from headrace.catalog.published_events import PRODUCER
from headrace.database.jsonb import encoded
from headrace.exports.graph import PAGE, snapshot
from headrace.exports.sql import statement
from headrace.nouns import counted

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"
_FACETS = "https://openlineage.io/spec/facets"
_ENTITY = {"DATASET": "DATASET", "PROCESS": "JOB"}
WHOLE = "*"  # in place of a field: the whole dataset
Json = dict[str, Any]


class OpenLineageLines:
    """Exports the graph as OpenLineage events, one per line."""

    def write(self, engine: Engine, organisation: UUID, file: IO[bytes]) -> str:
        """Write the current graph."""
        datasets, processes = write_lines(engine, organisation, file)
        return f"{counted(datasets, 'dataset')} and {counted(processes, 'process')}"


def write_lines(engine: Engine, organisation: UUID, file: IO[bytes]) -> tuple[int, int]:
    """Write a DatasetEvent for each dataset, then a JobEvent for each process; returns the number of each.

    They contain the current state, with the time of the export. The lineage facet of a JobEvent maps outputs to inputs,
    and columnLineage maps columns. Locations, SQL texts and passwords are omitted.
    """
    at = datetime.now(UTC)
    counts = []
    with snapshot(engine) as cursor:
        for name, event in (("lineage_dataset_events", dataset_event), ("lineage_job_events", job_event)):
            count = 0
            for row in _rows(cursor, name, organisation):
                file.write(encoded(scrubbed(event(row, at))) + b"\n")
                count += 1
            counts.append(count)
    return counts[0], counts[1]


def dataset_event(row: Mapping[str, Any], at: datetime) -> Json:
    """Convert a row of lineage_dataset_events.sql to a DatasetEvent."""
    facets: Json = {}
    if row["fields"]:
        facets["schema"] = _facet("1-2-0/SchemaDatasetFacet", fields=row["fields"])
    if row["description"]:
        facets["documentation"] = _facet("1-1-0/DocumentationDatasetFacet", description=row["description"])
    if row["owners"]:
        facets["ownership"] = _facet("1-0-1/OwnershipDatasetFacet", owners=_owners(row["owners"]))
    if row["version_tag"]:
        facets["version"] = _facet("1-0-1/DatasetVersionDatasetFacet", datasetVersion=row["version_tag"])
    if row["tags"]:
        tags = [{"key": key, "value": str(value)} for key, value in sorted(row["tags"].items())]
        facets["tags"] = _facet("1-0-0/TagsDatasetFacet", tags=tags)
    if row["sources"]:
        facets["lineage"] = _facet("1-0-0/LineageFacet", "LineageDatasetFacet", inputs=row["sources"])
    facets |= _column_lineage(row["columns"]).get((row["namespace"], row["name"]), {})
    return {
        **_event("DatasetEvent", at),
        "dataset": {"namespace": row["namespace"], "name": row["name"], "facets": facets},
    }


def job_event(row: Mapping[str, Any], at: datetime) -> Json:
    """Convert a row of lineage_job_events.sql to a JobEvent."""
    kind = {"processingType": "BATCH", "integration": row["technology"], "jobType": "JOB"}
    facets: Json = {"jobType": _facet("2-0-4/JobTypeJobFacet", **kind)}
    if row["description"]:
        facets["documentation"] = _facet("1-1-0/DocumentationJobFacet", description=row["description"])
    if row["owners"]:
        facets["ownership"] = _facet("1-0-1/OwnershipJobFacet", owners=_owners(row["owners"]))
    if row["pairs"]:
        facets["lineage"] = _facet("1-0-0/LineageFacet", "LineageJobFacet", entries=_entries(row["pairs"]))
    columns = _column_lineage(row["columns"])
    return {
        **_event("JobEvent", at),
        "job": {"namespace": row["namespace"], "name": row["name"], "facets": facets},
        "inputs": row["inputs"],
        "outputs": [
            {**output, "facets": columns.get((output["namespace"], output["name"]), {})}
            for output in row["outputs"]
        ],
    }


def run_events(cursor: Rows, organisation: UUID, processes: Sequence[UUID]) -> Iterator[Json]:
    """Yield a completed run for each of these processes that reads or writes a dataset, with what is known of it now.

    For consumers that know neither JobEvents nor DatasetEvents. The id of the run follows from the content: the same
    state is the same run, however often it is sent.
    """
    at = datetime.now(UTC)
    facets = {}
    for row in _rows(cursor, "lineage_dataset_events", organisation, processes):
        dataset = dataset_event(row, at)["dataset"]
        facets[dataset["namespace"], dataset["name"]] = dataset["facets"]
    for row in _rows(cursor, "lineage_job_events", organisation, processes):
        job = job_event(row, at)
        if not (job["inputs"] or job["outputs"]):
            continue
        content = {
            "job": job["job"],
            "inputs": [_with_facets(each, facets) for each in job["inputs"]],
            "outputs": [_with_facets(each, facets) for each in job["outputs"]],
        }
        run = {
            "runId": str(uuid5(row["id"], encoded(content).decode())),
            # Consumers take the platform of a job from its engine.
            "facets": {
                "processing_engine": _facet(
                    "1-1-1/ProcessingEngineRunFacet",
                    name=row["technology"].lower(),
                    version=version("headrace"),
                )
            },
        }
        yield scrubbed({**_event("RunEvent", at), "eventType": "COMPLETE", "run": run, **content})


def _with_facets(dataset: Json, facets: Mapping[tuple[str, str], Json]) -> Json:
    known = facets.get((dataset["namespace"], dataset["name"]), {})
    own = {name: facet for name, facet in known.items() if name != "lineage"}
    return {**dataset, "facets": {**own, **dataset.get("facets", {})}}


def _rows(
    cursor: Rows, name: str, organisation: UUID, processes: Sequence[UUID] | None = None
) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of all, or of these processes and of the datasets that they read and write."""
    after = UUID(int=0)
    chosen = None if processes is None else list(processes)
    while True:
        given = {"organisation": organisation, "after": after, "limit": PAGE, "processes": chosen}
        page = statement(name).execute(cursor, given).fetchall()
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1]["id"]


def _event(kind: str, at: datetime) -> Json:
    return {"eventTime": at.isoformat(), "producer": PRODUCER, "schemaURL": f"{_SPEC}/{kind}"}


def _facet(schema: str, definition: str | None = None, /, **content: object) -> Json:
    """Create a facet. schema: version and name, as `1-0-1/OwnershipJobFacet`; definition: the name in that schema."""
    url = f"{_FACETS}/{schema}.json#/$defs/{definition or schema.partition('/')[2]}"
    return {"_producer": PRODUCER, "_schemaURL": url, **content}


def _owners(owners: Sequence[str]) -> list[Json]:
    return [{"name": owner} for owner in owners]


def _entries(pairs: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Group the pairs by target."""
    targets: dict[tuple[str, str, str], list[Json]] = {}
    for pair in pairs:
        target = (pair["target_namespace"], pair["target_name"], _ENTITY[pair["target_type"]])
        source = {"namespace": pair["source_namespace"], "name": pair["source_name"]}
        targets.setdefault(target, []).append({**source, "type": _ENTITY[pair["source_type"]]})
    return [
        {"namespace": namespace, "name": name, "type": kind, "inputs": inputs}
        for (namespace, name, kind), inputs in targets.items()
    ]


def _column_lineage(columns: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], Json]:
    """Return the facets of each output with column lineage. Dependencies on whole datasets are only in `lineage`."""
    outputs: dict[tuple[str, str], dict[str, dict[tuple[str, str, str], Json]]] = {}
    for column in columns:
        if column["source_field"] == WHOLE:
            continue
        fields = outputs.setdefault((column["target_namespace"], column["target_name"]), {})
        named = (column["source_namespace"], column["source_name"], column["source_field"])
        source = fields.setdefault(column["target_field"], {}).setdefault(
            named, dict(zip(("namespace", "name", "field"), named, strict=True))
        )
        if column["type"]:
            transformation = {"type": column["type"], "masking": column["masking"]}
            transformation |= {"subtype": column["subtype"]} if column["subtype"] else {}
            source.setdefault("transformations", []).append(transformation)
    return {output: {"columnLineage": _column_facet(fields)} for output, fields in outputs.items()}


def _column_facet(fields: Mapping[str, Mapping[tuple[str, str, str], Json]]) -> Json:
    """Return columns by name; `dataset` has the dependencies of all rows, such as a filter or a join."""
    each = {name: {"inputFields": list(by.values())} for name, by in fields.items() if name != WHOLE}
    overall = {"dataset": list(fields[WHOLE].values())} if WHOLE in fields else {}
    return _facet("1-2-0/ColumnLineageDatasetFacet", fields=each, **overall)
