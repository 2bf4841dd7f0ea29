"""`headrace diff`: the difference between two versions of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.arguments import AsJson, Dataset, Partition, examples, version_tags
from headrace.terminal.output import emit
from headrace.terminal.version_differences import print_comparison, print_schema

if TYPE_CHECKING:
    from headrace.catalog.records import Version

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
        print_schema(dataset, (before, after), sides, schema)
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
        print_comparison(found)


def _side(tag: str, versions: Sequence[Version], rows: int) -> dict[str, object]:
    return {"tag": tag, "partitions": [version.partition for version in versions], "rows": rows}
