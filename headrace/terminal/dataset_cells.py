"""Datasets in the terminal: facts, and the rows of tables of their columns, checks and versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.terminal.output import ago, facts, row_count_text, size
from headrace.terminal.sla_cells import sla_status_text

if TYPE_CHECKING:
    from rich.table import Table

    from headrace.queries.quality import QualityScore
    from headrace.queries.rows import DatasetDetail, DatasetRow, DatasetStatus, VersionRow
    from headrace.slas.queries import SlaObjectiveStatus


def dataset_facts(
    detail: DatasetDetail,
    dataset_status: DatasetStatus,
    objectives: list[SlaObjectiveStatus],
    quality: QualityScore,
) -> Table:
    """Lay out all that is known of a dataset but its columns and checks."""
    from headrace.api.links import links_to

    several = f"{dataset_status.partition_count:,} partitions, " if dataset_status.partitions else ""
    length = "of unknown size" if detail.byte_size is None else size(detail.byte_size)
    amount = f"{several}{row_count_text(detail.row_count)}, {length}"
    newest = f"newest {dataset_status.newest_tag}, {ago(dataset_status.newest_published_at)}"
    return facts(
        [
            ("dataset", detail.key),
            ("description", detail.description),
            ("owners", detail.owners),
            ("tags", detail.tags),
            ("format", detail.format),
            ("partitions", detail.partitions),
            ("sla", _sla(detail)),
            ("objectives", sla_status_text(dataset_status, objectives) if detail.sla else None),
            (
                "quality",
                None if quality.score is None else f"{quality.score} of 100: {quality.explanation}",
            ),
            ("published", f"{amount}, {newest}" if dataset_status.newest_tag else "nothing yet"),
            (
                "blocked",
                f"{dataset_status.latest_tag}: {dataset_status.latest_reason}"
                if dataset_status.failing
                else None,
            ),
            ("pins", "\n".join(_pins(detail))),
            ("made from", detail.upstream),
            ("used by", detail.downstream),
            ("column lineage", _lineage(detail)),
            ("metadata", detail.metadata),
            ("declared at", detail.declared_at),
            ("page", links_to("datasets", detail.key).page),
        ]
    )


def coverage(row: DatasetRow | DatasetDetail) -> str | None:
    """Return how many columns have known lineage."""
    return None if row.lineage_columns is None else f"{row.known_columns} of {row.lineage_columns}"


def _lineage(detail: DatasetDetail) -> str | None:
    covered = coverage(detail)
    return covered and f"{covered} columns known; `headrace lineage {detail.key}.COLUMN` traces one"


def _sla(detail: DatasetDetail) -> str | None:
    from headrace.slas.wording import describe_sla

    return describe_sla(detail.sla) if detail.sla else None


def _pins(detail: DatasetDetail) -> Iterator[str]:
    for pin in detail.pins:
        place = f" partition {pin.partition}" if pin.partition is not None else ""
        reason = f": {pin.reason}" if pin.reason else ""
        yield f"{pin.tag}{place} for {pin.consumer or 'everyone'}, by {pin.by} {ago(pin.at)}{reason}"


def column_cells(detail: DatasetDetail) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a table of columns."""
    for column in detail.columns:
        yield column.name, column.type, "yes" if column.nullable else "no", column.tags, column.description


def check_cells(detail: DatasetDetail, dataset_status: DatasetStatus) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a table of checks."""
    for check in detail.checks:
        severity = "quarantine" if check.quarantine else check.severity
        yield (
            check.name,
            check.kind,
            check.column,
            severity,
            _result(check.name, dataset_status),
            check.description,
        )


def _result(check: str, dataset_status: DatasetStatus) -> str | None:
    """Return the check status: FAIL for a blocked newest version, WARN for any published one."""
    if check in dataset_status.failing:
        return "FAIL"
    if check in dataset_status.warning:
        return "WARN"
    return "PASS" if dataset_status.newest_tag else None


def version_cells(row: VersionRow) -> tuple[object, ...]:
    """Return the row of a table of versions."""
    version = row.version
    remarks = [
        *(["published now"] if row.published else []),
        *([f"expired {ago(version.expired_at)}"] if version.expired_at else []),
        *([row.reason] if row.reason and version.outcome != "PUBLISHED" else []),
        *([f"warning: {', '.join(row.warning)}"] if row.warning else []),
        *([f"{row_count_text(row.quarantine_rows)} quarantined"] if row.quarantine_rows else []),
    ]
    run = str(version.run_id)[:8] if version.run_id else None
    return (
        version.tag,
        version.partition,
        version.outcome,
        version.row_count,
        size(version.byte_size),
        version.file_count,
        version.created_at,
        run,
        "; ".join(remarks),
    )
