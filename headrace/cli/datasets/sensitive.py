"""`headrace sensitive`: suggest and show sensitive columns, or mark one as safe to display."""

from __future__ import annotations

import getpass
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.arguments import AsJson, Dataset, dataset_keys, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit, show, table

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from headrace.catalog.sensitivity import SensitiveColumn

app = typer.Typer(no_args_is_help=True)
Column = Annotated[str, typer.Argument(metavar="COLUMN", help="The column, domain/name.column.")]


@app.command("show", epilog=examples("headrace sensitive show crm/ages"))
def show_sensitive(dataset: Dataset, as_json: AsJson = False) -> None:
    """Show the sensitive columns of a dataset, with the reason."""
    from headrace.catalog.sensitivity import sensitivity
    from headrace.database.connection import connect

    found = sensitivity(connect(), [_checked(connect(), dataset)])
    if as_json:
        emit({"dataset": dataset, "columns": found})
    elif found:
        show(table(["column", "status", "source"], [_row(each) for each in found]))
    else:
        typer.echo(f"{dataset} has no sensitive columns.")


@app.command(
    epilog=examples(
        "headrace sensitive suggest", "headrace sensitive suggest crm/customers --rows 5000 --json"
    )
)
def suggest(
    datasets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATASET]...",
            help="Keys of datasets. [default: all published]",
            autocompletion=dataset_keys,
        ),
    ] = None,
    rows: Annotated[
        int, typer.Option(min=1, max=100_000, metavar="N", help="Rows of the sample of each dataset.")
    ] = 1000,
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, metavar="C", help="Least confidence, from 0 to 1.")
    ] = 0.5,
    as_json: AsJson = False,
) -> None:
    """Suggest columns that may have personal data.

    From the names of columns and a sample of the published rows, which is not stored. Accept one by `tags: [pii]` in
    the declaration: its values are then hidden, also in all columns that are made from it.
    """
    from headrace.terminal.personal_data import suggested

    found = suggested(datasets or (), rows, min_confidence)
    if as_json:
        emit({"suggestions": [{"dataset": key, **asdict(each)} for key, each in found]})
    elif found:
        cells = [
            (f"{key}.{each.column}", each.kind, f"{each.confidence:.0%}", each.reason) for key, each in found
        ]
        show(table(["column", "may be", "confidence", "because"], cells))
    else:
        typer.echo("No column looks like personal data, apart from those that are sensitive already.")


@app.command(
    epilog=examples("headrace sensitive clear crm/ages.decade --reason 'a decade identifies no one'")
)
def clear(
    column: Column,
    reason: Annotated[
        str, typer.Option("--reason", "-r", metavar="TEXT", help="The reason, recorded with the decision.")
    ],
    as_json: AsJson = False,
) -> None:
    """Mark an inherited sensitive column as safe to display."""
    from headrace.catalog.sensitivity import clear as clear_column
    from headrace.database.connection import connect, transaction

    engine = connect()
    key, name = _place(engine, column)
    with transaction(engine) as cursor:
        clear_column(cursor, key, name, by=getpass.getuser(), reason=reason)
    _print(key, name, "is cleared", as_json=as_json)


@app.command(epilog=examples("headrace sensitive withdraw crm/ages.decade"))
def withdraw(column: Column, as_json: AsJson = False) -> None:
    """Make a cleared column sensitive again."""
    from headrace.catalog.sensitivity import withdraw as withdraw_clearing
    from headrace.database.connection import connect, transaction

    engine = connect()
    key, name = _place(engine, column)
    with transaction(engine) as cursor:
        withdraw_clearing(cursor, key, name, by=getpass.getuser())
    _print(key, name, "inherits again", as_json=as_json)


def _print(key: str, name: str, what: str, *, as_json: bool) -> None:
    if as_json:
        emit({"dataset": key, "column": name, "cleared": what == "is cleared"})
    else:
        typer.echo(f"{key}.{name} {what}.")


def _place(engine: Engine, column: str) -> tuple[str, str]:
    from headrace.queries.columns import column_place

    place = column_place(engine, column)
    if place.column is None:
        raise CommandError(f"{column} is a dataset, not a column; write {column}.COLUMN")
    return place.key, place.column


def _checked(engine: Engine, dataset: str) -> str:
    from headrace.queries.columns import column_place

    return column_place(engine, dataset).key


def _row(column: SensitiveColumn) -> tuple[object, ...]:
    source = f"{column.from_dataset}.{column.from_column}" if column.from_dataset is not None else None
    clearing = f"{column.by}: {column.reason}" if column.by is not None else None
    if column.status == "LAPSED":
        clearing = f"cleared for other sources by {clearing}"
    return column.column, column.status, "; ".join(filter(None, [source, clearing])) or None
