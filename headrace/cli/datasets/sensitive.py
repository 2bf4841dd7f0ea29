"""`headrace sensitive`: show sensitive columns, decide about suggestions, or mark one as safe to display."""

from __future__ import annotations

import getpass
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.arguments import AsJson, Dataset, dataset_keys, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit

if TYPE_CHECKING:
    from sqlalchemy import Engine

app = typer.Typer(no_args_is_help=True)
Column = Annotated[str, typer.Argument(metavar="COLUMN", help="The column, domain/name.column.")]


@app.command("show", epilog=examples("headrace sensitive show crm/ages"))
def show_sensitive(dataset: Dataset, as_json: AsJson = False) -> None:
    """Show the sensitive columns of a dataset, with the reason."""
    from headrace.catalog.sensitivity import sensitivity
    from headrace.database.connection import connect
    from headrace.terminal.sensitivity_cells import show_sensitive_columns

    found = sensitivity(connect(), [_checked(connect(), dataset)])
    if as_json:
        emit({"dataset": dataset, "columns": found})
    elif found:
        show_sensitive_columns(found)
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

    From the names of columns and a sample of the published rows, which is not stored. Suggestions with a confidence of
    at least 50 % are, until a steward accepts or dismisses them.
    """
    from headrace.terminal.sensitivity_cells import show_found, suggested

    found = suggested(datasets or (), rows, min_confidence)
    if as_json:
        emit({"suggestions": [{"dataset": key, **asdict(each)} for key, each in found]})
    else:
        show_found(found)


@app.command(
    epilog=examples("headrace sensitive suggestions", "headrace sensitive suggestions crm/customers --all")
)
def suggestions(
    dataset: Annotated[
        str | None,
        typer.Argument(metavar="[DATASET]", help="Only of this dataset.", autocompletion=dataset_keys),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also accepted and dismissed ones.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the suggestions that wait for a decision."""
    from headrace.catalog.sensitivity_suggestions import SuggestionStatus, stored_suggestions
    from headrace.database.connection import connect
    from headrace.terminal.sensitivity_cells import show_suggestions

    found = stored_suggestions(connect(), dataset, None if everything else SuggestionStatus.PENDING)
    if as_json:
        emit({"suggestions": found})
    else:
        show_suggestions(found)


@app.command(epilog=examples("headrace sensitive accept crm/customers.contact"))
def accept(
    column: Column,
    note: Annotated[
        str | None, typer.Option("--note", metavar="TEXT", help="Recorded with the decision.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Accept a suggestion: the column is sensitive.

    It is at once, with all that is made from it, and whatever its declaration says.
    """
    from headrace.catalog.sensitivity_suggestions import accept as accept_suggestion
    from headrace.database.connection import connect, transaction

    engine = connect()
    key, name = _place(engine, column)
    with transaction(engine) as cursor:
        accept_suggestion(cursor, key, name, by=getpass.getuser(), note=note)
    _print(key, name, "is sensitive", as_json=as_json, accepted=True)


@app.command(epilog=examples("headrace sensitive dismiss crm/customers.nr --note 'a number of ours'"))
def dismiss(
    column: Column,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why; recorded with the decision.")],
    as_json: AsJson = False,
) -> None:
    """Dismiss a suggestion, also one that was accepted.

    It comes back only with another kind or reason.
    """
    from headrace.catalog.sensitivity_suggestions import dismiss as dismiss_suggestion
    from headrace.database.connection import connect, transaction

    engine = connect()
    key, name = _place(engine, column)
    with transaction(engine) as cursor:
        dismiss_suggestion(cursor, key, name, by=getpass.getuser(), note=note)
    _print(key, name, "is not suggested any more", as_json=as_json, accepted=False)


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
    _print(key, name, "is cleared", as_json=as_json, cleared=True)


@app.command(epilog=examples("headrace sensitive withdraw crm/ages.decade"))
def withdraw(column: Column, as_json: AsJson = False) -> None:
    """Make a cleared column sensitive again."""
    from headrace.catalog.sensitivity import withdraw as withdraw_clearing
    from headrace.database.connection import connect, transaction

    engine = connect()
    key, name = _place(engine, column)
    with transaction(engine) as cursor:
        withdraw_clearing(cursor, key, name, by=getpass.getuser())
    _print(key, name, "inherits again", as_json=as_json, cleared=False)


def _print(key: str, name: str, outcome: str, *, as_json: bool, **facts: bool) -> None:
    if as_json:
        emit({"dataset": key, "column": name, **facts})
    else:
        typer.echo(f"{key}.{name} {outcome}.")


def _place(engine: Engine, column: str) -> tuple[str, str]:
    from headrace.queries.columns import column_place

    place = column_place(engine, column)
    if place.column is None:
        raise CommandError(f"{column} is a dataset, not a column; write {column}.COLUMN")
    return place.key, place.column


def _checked(engine: Engine, dataset: str) -> str:
    from headrace.queries.columns import column_place

    return column_place(engine, dataset).key
