"""Arguments and options shared by several commands, with shell completion."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

if TYPE_CHECKING:
    from sqlalchemy import Engine


def examples(*lines: str) -> str:
    """Format the examples at the end of a command's help."""
    return "\n".join(["\b", "Examples:", *[f"  $ {line}" for line in lines]])


def current_user() -> str:
    """Return the user at the terminal, as recorded in the audit trail."""
    return f"operator:{getpass.getuser()}"


def time_of(text: str) -> datetime:
    """Parse an ISO 8601 time, in UTC unless it has an offset."""
    try:
        value = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is not a valid time; write 2026-11-28, 2026-11-28T06:00 or 2026-11-28T06:00-05:00"
        ) from error
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def zone_of(text: str) -> ZoneInfo:
    """Return a time zone by name."""
    from headrace.autosys.time_zones import zone_named

    try:
        return zone_named(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; write a name such as Europe/London") from error


def dataset_keys(incomplete: str) -> list[str]:
    """Return registered datasets that start with the text."""
    engine = _running_catalog()
    if engine is None:
        return []
    from headrace.queries import datasets

    return [row.key for row in datasets(engine, incomplete or None).rows if row.key.startswith(incomplete)]


def version_tags(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the newest versions of the dataset named before."""
    engine = _running_catalog()
    # During completion of an option, click has not yet separated the arguments.
    dataset = ctx.params.get("dataset") or next(iter(ctx.args), None)
    if engine is None or not isinstance(dataset, str):
        return []
    from headrace.errors import UnknownDataset
    from headrace.queries import versions

    try:
        found = versions(engine, dataset, limit=50)
    except UnknownDataset:
        return []
    return list(dict.fromkeys(row.version.tag for row in found if row.version.tag.startswith(incomplete)))


def _running_catalog() -> Engine | None:
    """Connect to the catalog if it is running: pressing Tab starts no server and prints no error."""
    from headrace.database.connection import connect_if_running
    from headrace.errors import CatalogError

    try:
        return connect_if_running()
    except CatalogError:
        return None


Dataset = Annotated[
    str,
    typer.Argument(metavar="DATASET", help="The dataset's key, domain/name.", autocompletion=dataset_keys),
]
Datasets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DATASET", help="Only these datasets.", autocompletion=dataset_keys, show_default=False
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Partition = Annotated[
    str | None, typer.Option("--partition", "-p", metavar="KEY", help="Only the partition with this key.")
]
AsOf = Annotated[
    datetime | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        parser=time_of,
        help="As published at this time (ISO 8601, UTC by default).",
    ),
]
Limit = Annotated[
    int, typer.Option("--limit", "-n", min=1, max=500, metavar="N", help="Maximum number to list.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
