"""`headrace read`: show or export the rows of a version."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.catalog.schema import sensitive
from headrace.stores.display import masked, rows
from headrace.stores.export import FileFormat, refuse_existing
from headrace.stores.export import export as write_file
from headrace.terminal.arguments import AsJson, AsOf, Dataset, Partition, examples, version_tags
from headrace.terminal.frames import chosen, open_stores
from headrace.terminal.output import emit, row_count_text, show, table, total

if TYPE_CHECKING:
    from headrace.catalog.records import Version

app = typer.Typer()
HEAD = 20  # rows


@app.command(
    epilog=examples(
        "headrace read flights/airports --head 5",
        "headrace read flights/flights_clean --partition 2013-01-01 --columns carrier,flight,departure_delay",
        "headrace read flights/daily_delays --as-of 2026-11-28T06:00 --export delays.csv",
    )
)
def read(
    dataset: Dataset,
    version: Annotated[
        str | None,
        typer.Option(
            "--version", metavar="TAG", help="The version with this tag.", autocompletion=version_tags
        ),
    ] = None,
    partition: Partition = None,
    as_of: AsOf = None,
    head: Annotated[
        int | None,
        typer.Option(
            "--head",
            "-n",
            min=1,
            metavar="N",
            help=f"Only the first N rows. [default: {HEAD}, or all to export]",
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Only these columns, in this order.")
    ] = None,
    export: Annotated[Path | None, typer.Option(metavar="PATH", help="Write the rows to this file.")] = None,
    file_format: Annotated[
        FileFormat | None, typer.Option("--format", help="The file format. [default: from the file name]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    unmask: Annotated[bool, typer.Option("--unmask", help="Show the values of sensitive columns.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show or export the rows of a version.

    By default the published version, of all partitions. A version blocked by a check can be read by its tag.
    """
    if version is not None and as_of is not None:
        raise typer.BadParameter("--version and --as-of cannot be combined")
    if export is None and (file_format or force):
        raise typer.BadParameter("--format and --force require --export")
    target = (export, file_format or _format_by_name(export)) if export else None
    if export:
        refuse_existing(export, overwrite=force)

    from headrace.database.connection import connect
    from headrace.queries.reading import readable_versions

    versions = readable_versions(connect(), dataset, version, partition, as_of)
    hidden = frozenset() if unmask else sensitive(column for each in versions for column in each.columns)
    wanted = [name.strip() for name in columns.split(",")] if columns else []
    if target is None and _show_local(dataset, versions, wanted, hidden, head or HEAD, as_json=as_json):
        return
    stores = open_stores()
    with stores.explained(versions[0].location):
        frame = masked(chosen(stores.read(versions), wanted), hidden)
        if target:
            limited = frame if head is None else frame.limit(head)
            _print_exported(*target, write_file(limited, *target, overwrite=force), as_json=as_json)
        else:
            found = rows(frame.limit(head or HEAD))
            _show(dataset, versions, frame.columns, found, hidden, as_json=as_json)


def _show_local(
    dataset: str,
    versions: Sequence[Version],
    wanted: Sequence[str],
    hidden: frozenset[str],
    count: int,
    *,
    as_json: bool,
) -> bool:
    """Show the rows without starting Spark, which takes seconds; returns False if Spark is needed."""
    from headrace.context import current_context
    from headrace.stores.registry import STORES

    if len({version.store for version in versions}) > 1:
        return False
    existing = [column.name for column in versions[0].columns]
    if not set(wanted) <= set(existing):
        return False  # the whole schema decides whether that is an error
    store = STORES.get(versions[0].store)
    found = store.local_rows(
        versions, wanted or existing, hidden, count, current_context().settings.warehouse_uri
    )
    if found is None:
        return False
    _show(dataset, versions, wanted or existing, found, hidden, as_json=as_json)
    return True


def _format_by_name(path: Path) -> FileFormat:
    ending = path.suffix.removeprefix(".").lower()
    if ending not in set(FileFormat):
        raise typer.BadParameter(f"the format of {path.name} is unknown: add --format {'|'.join(FileFormat)}")
    return FileFormat(ending)


def _print_exported(path: Path, file_format: FileFormat, count: int, *, as_json: bool) -> None:
    if as_json:
        emit({"path": str(path), "format": file_format, "rows": count})
    else:
        typer.echo(f"{row_count_text(count)} written to {path}")


def _show(
    dataset: str,
    versions: Sequence[Version],
    columns: Sequence[str],
    found: Sequence[Mapping[str, Any]],
    hidden: frozenset[str],
    *,
    as_json: bool,
) -> None:
    whole = total(version.row_count for version in versions)
    if as_json:
        emit(
            {
                "dataset": dataset,
                "versions": [{"partition": each.partition, "tag": each.tag} for each in versions],
                "row_count": whole,
                "columns": columns,
                "masked": sorted(hidden.intersection(columns)),
                "rows": found,
            }
        )
        return
    show(table(columns, [[_cell(row[name]) for name in columns] for row in found]))
    from headrace.queries.reading import described

    typer.echo(f"{len(found):,} of {row_count_text(whole)}, {described(versions)}")


def _cell(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
