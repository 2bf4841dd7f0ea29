"""`headrace datasets`, `show` and `versions`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.arguments import AsJson, Dataset, Partition, examples
from headrace.terminal.dataset_cells import check_cells, column_cells, coverage, dataset_facts, version_cells
from headrace.terminal.output import emit, show, table

if TYPE_CHECKING:
    from headrace.queries.rows import DatasetRow

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
            (row.key, row.description, row.partitions, row.owners, row.tags, coverage(row)) for row in found
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
    from headrace.queries.quality import quality_of
    from headrace.queries.versions import tagged
    from headrace.slas.queries import objectives_by_dataset

    engine = connect()
    detail = queries.dataset(engine, dataset)
    [dataset_status] = queries.status(engine, [dataset])
    if not detail.columns and dataset_status.newest_tag:
        detail = replace(detail, columns=tagged(engine, dataset, dataset_status.newest_tag)[0].columns)
    objectives = objectives_by_dataset(engine, [dataset]).get(dataset, [])
    quality = quality_of(engine, dataset)
    if as_json:
        emit({"dataset": detail, "status": dataset_status, "objectives": objectives, "quality": quality})
        return
    show(
        dataset_facts(detail, dataset_status, objectives, quality),
        table(["column", "type", "null", "tags", "description"], column_cells(detail)),
    )
    if detail.checks:
        show(
            table(
                ["check", "kind", "column", "severity", "result", "description"],
                check_cells(detail, dataset_status),
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
        show(table(header, [version_cells(row) for row in found]))
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
