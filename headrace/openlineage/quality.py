"""Data quality reported by runs: test results and metrics."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID, uuid5

from psycopg import Cursor

from headrace.database.jsonb import jsonb
from headrace.openlineage.documents import Ids, stamped
from headrace.openlineage.model import AnyEvent, Dataset, DatasetEvent, Facets, RunEvent
from headrace.openlineage.sql import statement

_OWN_COLUMNS = {"assertion", "success", "column", "severity"}


def store(cursor: Cursor[Any], organisation: UUID, events: Iterable[AnyEvent], ids: Ids) -> None:
    """Store results and metrics; if a run reports them twice for a dataset, the later report counts."""
    assertions: dict[tuple[str, ...], dict[str, Any]] = {}
    metrics: dict[tuple[str, ...], dict[str, Any]] = {}
    for event in events:
        run_id = event.run_id if isinstance(event, RunEvent) else uuid5(organisation, f"event/{event.digest}")
        for dataset in _datasets(event):
            if not (dataset.facets or dataset.use):
                continue
            name_id = ids.dataset(dataset.name)
            of = {"run_id": run_id, "name_id": name_id, "at": stamped(event.at)}
            for facets in (dataset.facets, dataset.use):
                for row in _assertions(facets, of):
                    _keep(assertions, (str(run_id), name_id, row["assertion_key"]), row, "assertion_key")
                for row in _metrics(facets, {**of, "digest": event.digest}):
                    _keep(metrics, (str(run_id), name_id), row, "digest")
    if assertions or metrics:
        statement("quality").execute(
            cursor,
            {
                "organisation": organisation,
                "assertions": jsonb([assertions[key] for key in sorted(assertions)]),
                "metrics": jsonb([metrics[key] for key in sorted(metrics)]),
            },
        )


def _datasets(event: AnyEvent) -> Iterator[Dataset]:
    if isinstance(event, DatasetEvent):
        yield event.dataset
    else:
        yield from event.inputs
        yield from event.outputs


def _keep(
    rows: dict[tuple[str, ...], dict[str, Any]], key: tuple[str, ...], row: dict[str, Any], tie: str
) -> None:
    known = rows.get(key)
    if known is None or (known["at"], known[tie]) < (row["at"], row[tie]):
        rows[key] = row


def _assertions(facets: Facets, of: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for each in _content(facets, "dataQualityAssertions").get("assertions", ()):
        identity = "\n".join((each["assertion"], each.get("column", ""), each.get("name", "")))
        yield {
            **of,
            "assertion_key": hashlib.sha256(identity.encode()).hexdigest()[:32],
            "assertion": each["assertion"],
            "column_name": each.get("column"),
            "success": each["success"],
            "severity": each.get("severity"),
            "detail": {name: value for name, value in each.items() if name not in _OWN_COLUMNS},
        }


def _metrics(facets: Facets, of: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    content = _content(facets, "dataQualityMetrics")
    if content:
        yield {
            **of,
            "row_count": content.get("rowCount"),
            "byte_size": content.get("bytes"),
            "file_count": content.get("fileCount"),
            "last_updated": content.get("lastUpdated"),
            "columns": content.get("columnMetrics", {}),
        }


def _content(facets: Facets, name: str) -> Mapping[str, Any]:
    facet = facets.get(name)
    return facet.content if facet is not None and facet.modelled and not facet.deleted else {}
