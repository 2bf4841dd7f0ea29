"""`headrace register`, `registrations`, `approve`, `reject`: register datasets and review registrations."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from headrace.terminal.arguments import AsJson, Limit, current_user, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit, facts, show, table

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from headrace.registration.registrations import Registration, RegistrationRequest, RegistrationStatus

app = typer.Typer()
RegistrationId = Annotated[UUID, typer.Argument(metavar="ID", help="The registration's id.")]
KEYS = "key", "format", "description", "owners", "tags", "columns"


@app.command(
    epilog=examples(
        "headrace register crm/customers --format table --owner team:crm", "headrace register --file d.json"
    )
)
def register(
    dataset: Annotated[str | None, typer.Argument(metavar="DATASET", help="The new dataset's key.")] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="NAME", help="The format of the data.")
    ] = "parquet",
    description: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The dataset's description.")
    ] = None,
    owner: Annotated[list[str] | None, typer.Option(metavar="NAME", help="An owner; repeatable.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, metavar="FILE", help=f"The registration as JSON: {', '.join(KEYS)}."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Register a dataset as a draft for a steward to review."""
    from headrace.database.connection import connect, transaction
    from headrace.registration.registrations import request

    if (dataset is None) == (file is None):
        raise typer.BadParameter("pass a dataset or --file")
    if file is not None:
        wanted = _read(file)
    else:
        wanted = _requested(
            {"key": dataset, "format": format_, "description": description, "owners": owner or []}
        )
    with transaction(connect()) as cursor:
        made = request(cursor, wanted, by=current_user())
    _show(made, as_json)


@app.command(epilog=examples("headrace registrations", "headrace registrations --all"))
def registrations(
    everything: Annotated[bool, typer.Option("--all", help="Include reviewed registrations.")] = False,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List registrations waiting for a steward's review."""
    from headrace.database.connection import connect
    from headrace.registration.registrations import RegistrationStatus
    from headrace.registration.registrations import registrations as find

    found = find(connect(), None if everything else RegistrationStatus.PENDING, limit=limit)
    if as_json:
        emit({"items": found})
    elif found:
        header = ["registration", "dataset", "submitted by", "at", "status", "reviewer", "comment"]
        fields = [
            "registration_id",
            "dataset",
            "submitted_by",
            "submitted_at",
            "status",
            "reviewer",
            "comment",
        ]
        show(table(header, list(map(attrgetter(*fields), found))))
    else:
        typer.echo("No registrations." if everything else "No registrations wait for review.")


@app.command()
def approve(
    registration: RegistrationId,
    comment: Annotated[str | None, typer.Option(metavar="TEXT", help="A comment for the requester.")] = None,
    as_json: AsJson = False,
) -> None:
    """Approve a registration: the dataset becomes active."""
    from headrace.registration.registrations import RegistrationStatus

    _review(registration, RegistrationStatus.APPROVED, comment, as_json)


@app.command()
def reject(
    registration: RegistrationId,
    comment: Annotated[str, typer.Option(metavar="TEXT", help="The reason.")],
    as_json: AsJson = False,
) -> None:
    """Reject a registration: the dataset is unchanged."""
    from headrace.registration.registrations import RegistrationStatus

    _review(registration, RegistrationStatus.REJECTED, comment, as_json)


def _review(id_: UUID, status: RegistrationStatus, comment: str | None, as_json: bool) -> None:
    from headrace.database.connection import connect, transaction
    from headrace.registration.registrations import review

    with transaction(connect()) as cursor:
        reviewed = review(cursor, id_, status, comment, by=current_user())
    _show(reviewed, as_json)


def _read(file: Path) -> RegistrationRequest:
    import json

    try:
        content = json.loads(file.read_bytes())
    except ValueError as error:
        raise CommandError(f"{file} is not valid JSON: {error}") from error
    return _requested(content, f"{file}: ")


def _requested(content: Any, place: str = "") -> RegistrationRequest:  # noqa: ANN401 - JSON
    """Read the request. Raises CommandError naming the invalid fields."""
    from pydantic import ValidationError

    from headrace.registration.registrations import DatasetRequest

    try:
        return DatasetRequest.model_validate(content).requested()
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, each['loc'])) or 'the file'}: {_problem(each)}" for each in error.errors()
        ]
        raise CommandError(f"{place}{'; '.join(problems)}") from error


def _problem(found: ErrorDetails) -> str:
    return (
        "unknown field" if found["type"] == "extra_forbidden" else found["msg"].removeprefix("Value error, ")
    )


def _show(registration: Registration, as_json: bool) -> None:
    if as_json:
        emit(registration)
        return
    names = ("registration", "dataset", "status", "submitted by", "reviewer", "comment")
    of = attrgetter("registration_id", *["dataset", "status", "submitted_by", "reviewer", "comment"])
    show(facts(zip(names, of(registration), strict=True)))
    for each in registration.objections:
        typer.echo(f"{'Held' if each['held'] else 'Warning'}: {each['text']}")
