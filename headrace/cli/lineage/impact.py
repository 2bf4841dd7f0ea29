"""`headrace impact`: datasets and owners affected by a change of a column or dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.nouns import counted
from headrace.terminal.arguments import AsJson, Limit, dataset_keys, examples
from headrace.terminal.output import emit, show, table

if TYPE_CHECKING:
    from headrace.queries.columns import ColumnPlace
    from headrace.slas.column_impact import UsedBy

app = typer.Typer()


@app.command(
    epilog=examples(
        "headrace impact flights/planes",
        "headrace impact flights/planes --direct",
        "headrace impact flights/flights_clean.departure_delay",
    )
)
def impact(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="The dataset's key, domain/name; or one of its columns, domain/name.column.",
            autocompletion=dataset_keys,
        ),
    ],
    direct: Annotated[bool, typer.Option("--direct", help="Only direct readers.")] = False,
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """Show what a change to a dataset or column would affect.

    For a dataset: its direct and transitive readers with their owners. For a column: the datasets that use it with
    their SLAs; direct, if its values flow into them; indirect, if a filter, join, grouping or condition depends on it;
    possible, if the lineage in between is unknown.
    """
    place = _column(dataset)
    if place is None:
        _print_readers(dataset, direct, limit, as_json=as_json)
    else:
        _print_users(place, direct, limit, as_json=as_json)


def _column(text: str) -> ColumnPlace | None:
    """Parse the column, or return None for a dataset. Only the last part of a text can name a column, after a dot."""
    if "." not in text.rpartition("/")[2]:
        return None
    from headrace.database.connection import connect
    from headrace.queries.columns import column_place

    place = column_place(connect(), text)
    return place if place.column is not None else None


def _print_readers(dataset: str, direct: bool, limit: int, *, as_json: bool) -> None:
    from headrace.database.connection import connect
    from headrace.errors import UnknownDataset
    from headrace.queries.datasets import datasets
    from headrace.queries.impact import MAX_DEPTH, impact
    from headrace.queries.names import find_dataset

    engine = connect()
    known = find_dataset(engine, dataset)
    if known is None:
        raise UnknownDataset.among([dataset], [row.key for row in datasets(engine).rows])
    found = impact(engine, known.id, 1 if direct else MAX_DEPTH, limit=limit)
    if as_json:
        emit(
            {
                "key": known.key,
                "datasets": found.datasets,
                "processes": found.processes,
                "truncated": found.truncated,
                "items": found.readers,
            }
        )
        return
    if found.readers:
        rows = [
            (each.depth, each.kind.lower(), each.key, each.owners, "yes" if each.is_end else None)
            for each in found.readers
        ]
        show(table(["#steps", "", "reader", "owners", "end of lineage"], rows))
    more = " or more" if found.truncated else ""
    typer.echo(f"{counted(found.datasets, 'dataset', more)}, {counted(found.processes, 'process', more)}.")


def _print_users(place: ColumnPlace, direct: bool, limit: int, *, as_json: bool) -> None:
    from headrace.database.connection import connect
    from headrace.slas.column_impact import MAX_DEPTH, column_impact

    found = column_impact(connect(), place, 1 if direct else MAX_DEPTH)
    if as_json:
        emit(found)
        return
    name = f"{place.key}.{place.column}"
    if not found.used_by:
        typer.echo(f"No dataset is known to use {name}.")
        return
    header = ["dataset", "#steps", "direct", "indirect", "possible", "owners", "sla_in_words"]
    show(table(header, [_row(each) for each in found.used_by[:limit]]))
    owners = {owner for each in found.used_by for owner in each.owners}
    datasets = counted(len(found.used_by), "dataset", " or more" if found.truncated else "")
    typer.echo(f"{name} is used by {datasets} of {counted(len(owners), 'owner')}.")


def _row(used: UsedBy) -> tuple[object, ...]:
    indirect = [*used.indirect, *(["(row selection)"] if used.rows else [])]
    possible = f"{', '.join(used.possible) or '(any)'}: {used.reason}" if used.reason else None
    return (
        used.key,
        used.depth,
        _names(used.direct),
        _names(indirect),
        possible,
        _names(used.owners),
        used.sla_in_words,
    )


def _names(names: Sequence[str]) -> str | None:
    return ", ".join(names) or None
