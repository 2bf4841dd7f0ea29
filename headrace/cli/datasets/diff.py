"""`headrace diff`: the difference between two versions of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.arguments import AsJson, Dataset, Partition, examples, version_tags
from headrace.terminal.output import emit, facts, row_count_text, show, table, total

if TYPE_CHECKING:
    from headrace.catalog.records import Version
    from headrace.catalog.schema import SchemaChange
    from headrace.stores.comparison import Comparison

app = typer.Typer()


@app.command(
    epilog=examples(
        "headrace diff flights/planes 20261128T041500Z-1a2b3c4d 20261129T041500Z-5e6f7a8b",
        "headrace diff flights/planes 20261128T041500Z-1a2b3c4d 20261129T041500Z-5e6f7a8b --key tailnum --json",
    )
)
def diff(
    dataset: Dataset,
    before: Annotated[
        str,
        typer.Argument(metavar="VERSION_A", help="Tag of the earlier version.", autocompletion=version_tags),
    ],
    after: Annotated[
        str,
        typer.Argument(metavar="VERSION_B", help="Tag of the later version.", autocompletion=version_tags),
    ],
    partition: Partition = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Columns that identify a row. [default: those of the dataset's `unique` check]",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two versions: schema, row counts, changed rows.

    Without a key, whole rows are compared. A tag shared by several partitions selects all of them, unless one is given.
    """
    from headrace.catalog.schema import classify, sensitive
    from headrace.database.connection import connect
    from headrace.queries.datasets import unique_key
    from headrace.queries.versions import tagged
    from headrace.stores.columns import merged_columns
    from headrace.stores.comparison import compare
    from headrace.terminal.frames import open_stores
    from headrace.terminal.progress import progress

    engine = connect()
    sides = [tagged(engine, dataset, tag, partition) for tag in (before, after)]
    wanted = [name.strip() for name in key.split(",")] if key else unique_key(engine, dataset)
    columns = [merged_columns(side) for side in sides]
    schema = classify(*columns)
    if not as_json:
        _print_schema(dataset, (before, after), sides, schema)
    with progress("comparing"):
        stores = open_stores()
        with stores.explained(f"{dataset} {before} and {after}"):
            frames = [stores.read(side) for side in sides]
            found = compare(frames[0], frames[1], wanted, sensitive([*columns[0], *columns[1]]))
    if as_json:
        emit(
            {
                "dataset": dataset,
                "before": _side(before, sides[0], found.rows[0]),
                "after": _side(after, sides[1], found.rows[1]),
                "schema": schema,
                "key": found.key,
                "added": found.added,
                "removed": found.removed,
                "changed": found.changed,
                "repeated": found.repeated,
                "columns": found.columns,
                "apart": found.apart,
                "samples": found.samples,
            }
        )
    else:
        _print(found)


def _side(tag: str, versions: Sequence[Version], rows: int) -> dict[str, object]:
    return {"tag": tag, "partitions": [version.partition for version in versions], "rows": rows}


def _print_schema(
    dataset: str, tags: Sequence[str], sides: Sequence[Sequence[Version]], schema: SchemaChange
) -> None:
    before, after = (
        f"{tag}, {row_count_text(total(version.row_count for version in versions))}{_partitions(versions)}"
        for tag, versions in zip(tags, sides, strict=True)
    )
    show(
        facts(
            [
                ("dataset", dataset),
                ("from", before),
                ("to", after),
                ("schema", "\n".join(_schema_lines(schema))),
            ]
        )
    )


def _print(found: Comparison) -> None:
    what = "keys" if found.key else "rows"
    repeated = f"{found.repeated:,} occur more than once and are not compared" if found.repeated else None
    changed = None if found.changed is None else f"{found.changed:,}"
    show(
        facts(
            [
                ("key", found.key or "none, whole rows are compared"),
                (f"{what} added", f"{found.added:,}"),
                (f"{what} removed", f"{found.removed:,}"),
                (f"{what} changed", changed),
                ("keys repeated", repeated),
                ("not compared", "\n".join(f"{name}: {reason}" for name, reason in found.apart.items())),
            ]
        )
    )
    if found.columns:
        counted = sorted(found.columns.items(), key=lambda item: -item[1])
        show(table(["column", "#changed in keys"], counted))
    for kind, rows in found.samples.items():
        show(table(list(rows[0]), [list(row.values()) for row in rows], title=f"{kind}, for example"))


def _partitions(versions: Sequence[Version]) -> str:
    return f", {len(versions):,} partitions" if len(versions) > 1 else ""


def _schema_lines(schema: SchemaChange) -> Iterator[str]:
    if not schema.breaking and not schema.compatible:
        yield "the same"
    yield from (f"breaking: {line}" for line in schema.breaking)
    yield from (f"compatible: {line}" for line in schema.compatible)
