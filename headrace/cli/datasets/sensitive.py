"""`headrace sensitive`: which columns nobody is shown unasked, and an owner's word that one may be."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.common.arguments import AsJson, Dataset, examples
from headrace.cli.common.errors import CommandError
from headrace.cli.common.output import emit, show, table

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from headrace.catalog.sensitivity import SensitiveColumn

app = typer.Typer(no_args_is_help=True)
PANEL = "Datasets"
Column = Annotated[str, typer.Argument(metavar="COLUMN", help="The column, domain/name.column.")]


@app.command("show", epilog=examples("headrace sensitive show flights/passengers"))
def show_sensitive(dataset: Dataset, as_json: AsJson = False) -> None:
    """Show which columns of a dataset are sensitive, why, and which of them an owner has cleared."""
    from headrace.catalog.sensitivity import sensitivity
    from headrace.database.connection import connect

    found = sensitivity(connect(), [_checked(connect(), dataset)])
    if as_json:
        emit({"dataset": dataset, "columns": found})
    elif found:
        show(table(["column", "standing", "because of"], [_row(each) for each in found]))
    else:
        typer.echo(f"No column of {dataset} is sensitive.")


@app.command(
    epilog=examples("headrace sensitive clear mart/ages.decade --reason 'a decade tells nobody apart'")
)
def clear(
    column: Column,
    reason: Annotated[str, typer.Option("--reason", "-r", metavar="TEXT", help="Why; it is kept.")],
    as_json: AsJson = False,
) -> None:
    """Clear a column of what it inherits: its values are shown, and what is made from it inherits nothing."""
    from headrace.catalog.sensitivity import clear as clear_column
    from headrace.database.connection import connect, transaction

    engine = connect()
    key, name = _place(engine, column)
    with transaction(engine) as cursor:
        clear_column(cursor, key, name, by=getpass.getuser(), reason=reason)
    _tell(key, name, "is cleared", as_json=as_json)


@app.command(epilog=examples("headrace sensitive withdraw mart/ages.decade"))
def withdraw(column: Column, as_json: AsJson = False) -> None:
    """Withdraw a clearing: the column inherits again."""
    from headrace.catalog.sensitivity import withdraw as withdraw_clearing
    from headrace.database.connection import connect, transaction

    engine = connect()
    key, name = _place(engine, column)
    with transaction(engine) as cursor:
        withdraw_clearing(cursor, key, name, by=getpass.getuser())
    _tell(key, name, "inherits again", as_json=as_json)


def _tell(key: str, name: str, what: str, *, as_json: bool) -> None:
    if as_json:
        emit({"dataset": key, "column": name, "cleared": what == "is cleared"})
    else:
        typer.echo(f"{key}.{name} {what}.")


def _place(engine: Engine, column: str) -> tuple[str, str]:
    from headrace.catalog.queries.columns import column_place

    place = column_place(engine, column)
    if place.column is None:
        raise CommandError(f"{column} is a dataset; name a column of it: {column}.COLUMN")
    return place.key, place.column


def _checked(engine: Engine, dataset: str) -> str:
    from headrace.catalog.queries.columns import column_place

    return column_place(engine, dataset).key


def _row(column: SensitiveColumn) -> tuple[object, ...]:
    because = None
    if column.from_dataset is not None:
        because = f"{column.from_dataset}.{column.from_column}"
    elif column.by is not None:
        because = f"{column.by}: {column.reason}"
    return column.column, column.standing, because
