"""What Dagster is told of a published version: metadata under its own names, checks one by one, a masked preview."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import dagster as dg

from catalog.records import (
    Check,
    CheckResult,
    CheckStatus,
    Column,
    Publication,
    ResolvedInput,
    Severity,
    Version,
)
from components.plan import OutputPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MASK = "•••"
PREVIEW_ROWS = 5
PREVIEW_CELL = 60  # characters
CHECKSUM_SHOWN = 16  # characters; a page has no room for the whole, which the catalog keeps


def version_metadata(publication: Publication) -> dict[str, Any]:
    """The metadata of one published version, for the materialization of its partition."""
    version = publication.version
    rows = "dagster/partition_row_count" if version.partition is not None else "dagster/row_count"
    return {
        rows: version.row_count,
        "dagster/uri": version.location,
        "version": version.tag,
        "bytes": version.byte_size,
        "files": version.file_count,
        "checksum": version.checksum[:CHECKSUM_SHOWN],
        "generation": publication.generation,
        "catalog": dg.MetadataValue.md(f"`headrace show {version.dataset}`, `headrace why {version.run_id}`"),
        **({"replayed": True} if publication.replayed else {}),
        **{
            str(name): value
            for name, value in version.metadata.items()
            if isinstance(value, str | int | float | bool)
        },
    }


def column_schema(columns: Sequence[Column]) -> dg.TableSchema:
    """The columns as Dagster's asset page shows them."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=column.name,
                type=column.type,
                description=column.description,
                constraints=dg.TableColumnConstraints(nullable=column.nullable),
                tags=dict.fromkeys(column.tags, ""),
            )
            for column in columns
        ]
    )


def check_results(output: OutputPlan, versions: Sequence[Sequence[CheckResult]]) -> list[dg.AssetCheckResult]:
    """One Dagster result per declared check, over all partitions of the run: failed rows added up.

    versions: the results of each version that the run wrote.
    """
    by_name: dict[str, list[CheckResult]] = {}
    for results in versions:
        for result in results:
            by_name.setdefault(result.name, []).append(result)
    return [_check_result(output.key, check, by_name.get(check.name, [])) for check in output.record.checks]


def _check_result(key: dg.AssetKey, check: Check, results: Sequence[CheckResult]) -> dg.AssetCheckResult:
    wrong = [result for result in results if result.status is not CheckStatus.PASS]
    failed_rows = sum(result.failed_rows or 0 for result in wrong)
    warns = check.quarantine or check.severity is Severity.WARN
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=check.name,
        passed=not wrong,
        severity=dg.AssetCheckSeverity.WARN if warns else dg.AssetCheckSeverity.ERROR,
        description=_outcome(check, failed_rows, len(wrong), len(results)) if wrong else None,
        metadata={
            "failed_rows": failed_rows,
            **({"partitions_failed": len(wrong)} if len(results) > 1 else {}),
            **({"detail": dg.MetadataValue.json(dict(wrong[0].detail))} if wrong and wrong[0].detail else {}),
        },
    )


def _outcome(check: Check, failed_rows: int, wrong: int, partitions: int) -> str:
    rows = f"{failed_rows:,} {'row' if failed_rows == 1 else 'rows'}" if failed_rows else "The check"
    became = "set aside" if check.quarantine else "failed" if failed_rows else "did not pass"
    place = f" in {wrong:,} of {partitions:,} partitions" if partitions > 1 else ""
    return f"{rows} {became}{place}."


def preview(frame: DataFrame, sensitive: frozenset[str]) -> dg.MarkdownMetadataValue:
    """The frame's first rows as a Markdown table, sensitive columns masked, instants in UTC."""
    rows = frame.limit(PREVIEW_ROWS).collect()
    instants = {field.name for field in frame.schema if field.dataType.typeName() == "timestamp"}
    header = "| " + " | ".join(frame.columns) + " |"
    rule = "|" + " --- |" * len(frame.columns)
    lines = [
        "| "
        + " | ".join(
            _cell(name, _instant(value) if name in instants else value, sensitive)
            for name, value in row.asDict().items()
        )
        + " |"
        for row in rows
    ]
    return dg.MetadataValue.md("\n".join([header, rule, *lines]))


def described(inputs: Sequence[ResolvedInput]) -> str:
    """The versions that a run reads of one input, in a line of its log."""
    first = inputs[0]
    what = f"{first.version.dataset} version {first.version.tag} ({first.reason.value.lower()})"
    return what if len(inputs) == 1 else f"{what} and {len(inputs) - 1} more, in as many partitions"


def reasons(unpublished: Sequence[Publication]) -> list[str]:
    """Why versions were not published, one readable line for each reason, the most frequent first."""
    alike: dict[tuple[str, str], list[Version]] = {}
    for item in unpublished:
        alike.setdefault((item.version.dataset, item.reason or item.outcome.value), []).append(item.version)
    return [
        f"{dataset}{_partitions(versions)}: {reason}"
        for (dataset, reason), versions in sorted(alike.items(), key=lambda entry: -len(entry[1]))
    ]


def _partitions(versions: Sequence[Version]) -> str:
    named = [version.partition for version in versions if version.partition is not None]
    if not named:
        return ""
    return f" [{named[0]}]" if len(named) == 1 else f" [{named[0]} and {len(named) - 1} more]"


def _cell(name: str, value: object, sensitive: frozenset[str]) -> str:
    if name in sensitive and value is not None:
        return MASK
    text = "" if value is None else str(value).replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= PREVIEW_CELL else text[: PREVIEW_CELL - 1] + "…"


def _instant(value: datetime | None) -> str | None:
    """An instant in UTC; Spark hands it over as a naive time of this machine's zone."""
    return None if value is None else value.astimezone(UTC).replace(tzinfo=None).isoformat(" ") + "Z"
