"""Dagster metadata of a published version: facts, check results, a masked preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import dagster as dg

from headrace.access.redaction import redacted, scrubbed
from headrace.access.sensitivity import MASK
from headrace.catalog.records import (
    MESSAGE,
    Check,
    CheckResult,
    CheckStatus,
    Column,
    Publication,
    ResolvedInput,
    Version,
)
from headrace.context import current_context
from headrace.execution.plan import OutputPlan
from headrace.severity import Severity

_MESSAGES = 3  # of results, in the description of a check

PREVIEW_ROWS = 5
PREVIEW_CELL = 60  # characters
MAX_PARTITIONS = 5
CHECKSUM_LENGTH = 16  # characters; the catalog keeps the full text


def version_metadata(publication: Publication) -> dict[str, Any]:
    """Return the metadata of one published version, for the materialization of its partition."""
    version, catalog = publication.version, current_context().settings.service_url.rstrip("/")
    rows = "dagster/partition_row_count" if version.partition is not None else "dagster/row_count"
    return {
        rows: version.row_count,
        "dagster/uri": redacted(version.location),
        "version": version.tag,
        "bytes": version.byte_size,
        "files": version.file_count,
        "checksum": version.checksum[:CHECKSUM_LENGTH],
        "generation": publication.generation,
        "catalog": dg.MetadataValue.md(
            f"[dataset]({catalog}/datasets/{quote(version.dataset)}), [run]({catalog}/runs/{version.run_id})"
        ),
        **({"replayed": True} if publication.replayed else {}),
        **scrubbed(
            {
                str(name): value
                for name, value in version.metadata.items()
                if isinstance(value, str | int | float | bool)
            }
        ),
    }


def column_schema(columns: Sequence[Column]) -> dg.TableSchema:
    """Return the columns for Dagster's asset page."""
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


def check_results(
    output: OutputPlan, versions: Mapping[str | None, Sequence[CheckResult]]
) -> list[dg.AssetCheckResult]:
    """Return one Dagster result per declared check, over all partitions of the run: failed rows summed, partitions
    named.

    versions: by partition, the results of the version that the run wrote or found. A check without any, because the
    version was published before it was declared, has not passed.
    """
    by_name: dict[str, dict[str | None, CheckResult]] = {}
    for partition, results in versions.items():
        for result in results:
            by_name.setdefault(result.name, {})[partition] = result
    return [_check_result(output.key, check, by_name.get(check.name, {})) for check in output.record.checks]


def _check_result(
    key: dg.AssetKey, check: Check, results: Mapping[str | None, CheckResult]
) -> dg.AssetCheckResult:
    if not results:
        return dg.AssetCheckResult(
            asset_key=key,
            check_name=check.name,
            passed=False,
            severity=dg.AssetCheckSeverity.WARN,
            description="Not evaluated: the version was published before the check was declared.",
        )
    wrong = {
        partition: result for partition, result in results.items() if result.status is not CheckStatus.PASS
    }
    failed_rows = sum(result.failed_rows or 0 for result in wrong.values())
    details: dict[str, Any] = {
        partition or "": dict(result.detail) for partition, result in wrong.items() if result.detail
    }
    named = [partition for partition in wrong if partition is not None]
    is_blocked = any(result.status is CheckStatus.FAIL for result in wrong.values())
    warns = check.quarantine or check.severity is Severity.WARNING or (bool(wrong) and not is_blocked)
    messages = [str(result.detail[MESSAGE]) for result in wrong.values() if MESSAGE in result.detail]
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=check.name,
        passed=not wrong,
        severity=dg.AssetCheckSeverity.WARN if warns else dg.AssetCheckSeverity.ERROR,
        description=" ".join(
            [f"{_outcome(check, failed_rows)}{_place(list(wrong), len(results))}.", *messages[:_MESSAGES]]
        )
        if wrong
        else None,
        metadata={
            "failed_rows": failed_rows,
            **({"partitions_checked": len(results)} if None not in results else {}),
            **({"partitions_failed": len(named), "failed_in": named} if named else {}),
            **({"detail": dg.MetadataValue.json(details.get("", details))} if details else {}),
        },
    )


def _outcome(check: Check, failed_rows: int) -> str:
    rows = f"{failed_rows:,} {'row' if failed_rows == 1 else 'rows'}" if failed_rows else "The check"
    return f"{rows} {'set aside' if check.quarantine else 'failed' if failed_rows else 'did not pass'}"


def _place(partitions: Sequence[str | None], of: int) -> str:
    shown = [partition for partition in partitions[:MAX_PARTITIONS] if partition is not None]
    if not shown:
        return ""
    more = f" and {len(partitions) - len(shown):,} more" if len(shown) < len(partitions) else ""
    return f" in {len(partitions):,} of {of:,} partitions: {', '.join(shown)}{more}"


def preview(
    columns: Sequence[str], rows: Sequence[Mapping[str, str | None]], sensitive: frozenset[str]
) -> dg.MarkdownMetadataValue:
    """Format rows of text as a Markdown table, sensitive columns masked."""
    header = "| " + " | ".join(columns) + " |"
    rule = "|" + " --- |" * len(columns)
    lines = ["| " + " | ".join(_cell(name, row[name], sensitive) for name in columns) + " |" for row in rows]
    return dg.MetadataValue.md("\n".join([header, rule, *lines]))


def described(inputs: Sequence[ResolvedInput]) -> str:
    """Describe the versions of one input in a line of the run's log."""
    first = inputs[0]
    what = f"{first.version.dataset} version {first.version.tag} ({first.reason.value.lower()})"
    return what if len(inputs) == 1 else f"{what} and {len(inputs) - 1} more, in as many partitions"


def reasons(unpublished: Sequence[Publication]) -> list[str]:
    """Return why versions were not published, one readable line per reason, most frequent first."""
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


def _cell(name: str, text: str | None, sensitive: frozenset[str]) -> str:
    if name in sensitive and text is not None:
        return MASK
    shown = "" if text is None else text.replace("|", "\\|").replace("\n", " ")
    return shown if len(shown) <= PREVIEW_CELL else shown[: PREVIEW_CELL - 1] + "…"
