"""Commands that ask the catalog's API, here or on another machine: find datasets, take datasets in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.common.arguments import AsJson, examples
from headrace.cli.common.errors import CommandError
from headrace.cli.common.output import emit, facts, show, table

if TYPE_CHECKING:
    from headrace.client import Catalog
    from headrace.client.calls import Registration

app = typer.Typer()
PANEL = "Catalog"
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=500, metavar="N", help="How many.")]
RegistrationId = Annotated[str, typer.Argument(metavar="ID", help="The registration's id.")]
KEYS = "key", "format", "description", "owners", "tags", "columns"


@app.command(rich_help_panel=PANEL, epilog=examples("headrace search late flights"))
def search(
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words, or how they begin.")],
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """Find datasets by words in their names, owners, tags, columns or descriptions; typing errors are forgiven."""
    with served() as catalog:
        found = catalog.find_datasets(q=" ".join(words), limit=limit)
    if as_json:
        emit(found)
        return
    if found["misspelt"]:
        typer.echo(f"Taken for words like them: {', '.join(found['misspelt'])}.")
    rows = [(each["key"], each["description"], each["owners"], each["tags"]) for each in found["items"]]
    if rows:
        show(table(["dataset", "description", "owners", "tags"], rows))
    else:
        typer.echo("No dataset is like that.")


@app.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "headrace register crm/customers --format table --owner team:crm", "headrace register --file d.json"
    ),
)
def register(
    dataset: Annotated[
        str | None, typer.Argument(metavar="DATASET", help="The key that it is to have.")
    ] = None,
    format_: Annotated[str, typer.Option("--format", metavar="NAME", help="What its data are.")] = "parquet",
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is.")] = None,
    owner: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Whose it is; as often as need be.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help=f"All of it as JSON: {', '.join(KEYS)}."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask for a dataset to be taken in. It is a draft until a steward approves it."""
    import json

    if (dataset is None) == (file is None):
        raise typer.BadParameter("give a dataset, or --file")
    asked: Any
    if file is not None:
        try:
            asked = json.loads(file.read_bytes())
        except ValueError as error:
            raise CommandError(f"{file} is no JSON: {error}") from error
    else:
        asked = {"key": dataset, "format": format_, "description": description, "owners": owner or []}
    with served() as catalog:
        _tell(catalog.register_dataset(asked), as_json)


@app.command(rich_help_panel=PANEL, epilog=examples("headrace registrations", "headrace registrations --all"))
def registrations(
    everything: Annotated[bool, typer.Option("--all", help="Also those that have their answer.")] = False,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List what was asked for and waits for a steward's answer."""
    with served() as catalog:
        found = catalog.list_registrations(status=None if everything else "PENDING", limit=limit)
    if as_json:
        emit(found)
    elif found["items"]:
        header = ["registration", "dataset", "asked for by", "at", "status", "answered by", "comment"]
        names = (
            "registration_id",
            "dataset",
            "submitted_by",
            "submitted_at",
            "status",
            "reviewer",
            "comment",
        )
        show(table(header, [[each.get(name) for name in names] for each in found["items"]]))
    else:
        typer.echo("Nothing waits for an answer." if not everything else "Nothing was ever asked for.")


@app.command(rich_help_panel=PANEL)
def approve(
    registration: RegistrationId,
    comment: Annotated[str | None, typer.Option(metavar="TEXT", help="What to say to it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Take in a dataset that was asked for."""
    with served() as catalog:
        _tell(catalog.approve_registration(registration, {"comment": comment}), as_json)


@app.command(rich_help_panel=PANEL)
def reject(
    registration: RegistrationId,
    comment: Annotated[str, typer.Option(metavar="TEXT", help="Why.")],
    as_json: AsJson = False,
) -> None:
    """Do not take in a dataset that was asked for."""
    with served() as catalog:
        _tell(catalog.reject_registration(registration, {"comment": comment}), as_json)


@contextmanager
def served() -> Iterator[Catalog]:
    """The catalog behind the API that the settings name. What it refuses is a CommandError."""
    from headrace.client import ApiError, Catalog
    from headrace.settings import settings

    token = settings().api_token
    try:
        with Catalog(settings().api_url, token.get_secret_value() if token else None) as catalog:
            yield catalog
    except ApiError as error:
        hint = {
            0: " `headrace serve` serves it; HEADRACE_API_URL says where.",
            401: " Set HEADRACE_API_TOKEN; `headrace access` gives tokens out.",
        }.get(error.status, "")
        raise CommandError(f"{error}.{hint}") from error


def _tell(registration: Registration, as_json: bool) -> None:
    if as_json:
        emit(registration)
        return
    show(
        facts(
            [
                ("registration", registration["registration_id"]),
                ("dataset", registration["dataset"]),
                ("status", registration["status"]),
                ("asked for by", registration["submitted_by"]),
                ("answered by", registration["reviewer"]),
                ("comment", registration["comment"]),
            ]
        )
    )
