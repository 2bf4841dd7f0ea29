"""`headrace datasets`, `show` and `versions`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.arguments import AsJson, Dataset, Partition, examples
from headrace.terminal.output import ago, emit, facts, row_count_text, show, size, table
from headrace.terminal.sla_cells import sla_status_text

if TYPE_CHECKING:
    from rich.table import Table

    from headrace.queries.rows import DatasetDetail, DatasetRow, DatasetStatus, VersionRow
    from headrace.slas.queries import SlaObjectiveStatus

app = typer.Typer()


@app.command(
    epilog=examples("headrace datasets --domain flights", "headrace datasets --tag layer=raw --json")
)
def datasets(
    domain: Annotated[str | None, typer.Option(metavar="NAME", help="Only datasets of this domain.")] = None,
    tag: Annotated[
        str | None, typer.Option(metavar="NAME[=VALUE]", help="Only datasets with this tag.")
    ] = None,
    owner: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only datasets whose owner contains this.")
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Only datasets with this text in key, description, owner or tag."),
    ] = None,
    retired: Annotated[
        bool, typer.Option("--retired", help="List the retired datasets, which are omitted otherwise.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the datasets."""
    from headrace.database.connection import connect
    from headrace.queries.datasets import every_dataset

    part = search or owner or (f"{domain}/" if domain else None)
    found = [
        row for row in every_dataset(connect(), part, retired=retired) if _matches(row, domain, tag, owner)
    ]
    if as_json:
        emit({"datasets": found})
    elif found:
        rows = [
            (row.key, row.description, row.partitions, row.owners, row.tags, _coverage(row)) for row in found
        ]
        show(table(["dataset", "description", "partitions", "owners", "tags", "#columns known"], rows))
    else:
        filtered = any((domain, tag, owner, search, retired))
        typer.echo(
            "No matching dataset."
            if filtered
            else "No dataset is registered. `headrace materialize 'key:\"*\"' --dry-run` registers the declared"
            " datasets without computing them; `headrace init NAME --demo` creates a project with example datasets."
        )


@app.command("show", epilog=examples("headrace show flights/flights_clean"))
def show_dataset(dataset: Dataset, as_json: AsJson = False) -> None:
    """Show a dataset: columns, checks, SLA, published versions.

    Columns that are not declared are those of the newest published version.
    """
    from headrace import queries
    from headrace.database.connection import connect
    from headrace.queries.versions import tagged
    from headrace.slas.queries import objectives_by_dataset

    engine = connect()
    detail = queries.dataset(engine, dataset)
    [dataset_status] = queries.status(engine, [dataset])
    if not detail.columns and dataset_status.newest_tag:
        detail = replace(detail, columns=tagged(engine, dataset, dataset_status.newest_tag)[0].columns)
    objectives = objectives_by_dataset(engine, [dataset]).get(dataset, [])
    if as_json:
        emit({"dataset": detail, "status": dataset_status, "objectives": objectives})
        return
    show(
        _facts(detail, dataset_status, objectives),
        table(["column", "type", "null", "tags", "description"], _columns(detail)),
    )
    if detail.checks:
        show(
            table(
                ["check", "kind", "column", "severity", "result", "description"],
                _checks(detail, dataset_status),
            )
        )


@app.command(
    epilog=examples(
        "headrace versions flights/airports", "headrace versions flights/flights_clean --partition 2013-01-01"
    )
)
def versions(
    dataset: Dataset,
    partition: Partition = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, metavar="N", help="Maximum number to list.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List the newest versions of a dataset."""
    from headrace import queries
    from headrace.database.connection import connect

    found = queries.versions(connect(), dataset, partition, limit)
    if as_json:
        emit({"dataset": dataset, "versions": found})
    elif found:
        header = ["version", "partition", "outcome", "#rows", "#size", "#files", "written", "run", "remarks"]
        show(table(header, [_version(row) for row in found]))
        if len(found) == limit:
            typer.echo(f"Showing the newest {limit}; use --limit for more.")
    else:
        what = "version" if partition is None else f"version of partition {partition}"
        typer.echo(f"{dataset} has no {what}; `headrace materialize {dataset}` creates one.")


def _matches(row: DatasetRow, domain: str | None, tag: str | None, owner: str | None) -> bool:
    name, equals, value = (tag or "").partition("=")
    return (
        (domain is None or row.key.startswith(f"{domain}/"))
        and (tag is None or (name in row.tags and (not equals or row.tags[name] == value)))
        and (owner is None or any(owner.lower() in each.lower() for each in row.owners))
    )


def _facts(
    detail: DatasetDetail, dataset_status: DatasetStatus, objectives: list[SlaObjectiveStatus]
) -> Table:
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


def _coverage(row: DatasetRow | DatasetDetail) -> str | None:
    return None if row.lineage_columns is None else f"{row.known_columns} of {row.lineage_columns}"


def _lineage(detail: DatasetDetail) -> str | None:
    covered = _coverage(detail)
    return covered and f"{covered} columns known; `headrace lineage {detail.key}.COLUMN` traces one"


def _sla(detail: DatasetDetail) -> str | None:
    from headrace.slas.wording import describe_sla

    return describe_sla(detail.sla) if detail.sla else None


def _pins(detail: DatasetDetail) -> Iterator[str]:
    for pin in detail.pins:
        place = f" partition {pin.partition}" if pin.partition is not None else ""
        reason = f": {pin.reason}" if pin.reason else ""
        yield f"{pin.tag}{place} for {pin.consumer or 'everyone'}, by {pin.by} {ago(pin.at)}{reason}"


def _columns(detail: DatasetDetail) -> Iterator[tuple[object, ...]]:
    for column in detail.columns:
        yield column.name, column.type, "yes" if column.nullable else "no", column.tags, column.description


def _checks(detail: DatasetDetail, dataset_status: DatasetStatus) -> Iterator[tuple[object, ...]]:
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


def _version(row: VersionRow) -> tuple[object, ...]:
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
