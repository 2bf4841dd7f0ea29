"""`headrace catalog alias`, `merge`, `rename` and `rebuild`: dataset names, and rebuilding from events."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from headrace.nouns import counted
from headrace.terminal.arguments import Dataset, Yes, dataset_keys, examples

app = typer.Typer()

_Reason = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="The reason, recorded with the decision.")
]
_Name = Annotated[str, typer.Argument(metavar="NAME", help="Its OpenLineage name, namespace#name.")]
_NamedDataset = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="The dataset: its key, domain/name, or a name, namespace#name.",
        autocompletion=dataset_keys,
    ),
]
_Into = Annotated[
    str, typer.Argument(metavar="INTO", help="The dataset to merge into.", autocompletion=dataset_keys)
]
_NewName = Annotated[str, typer.Argument(metavar="NAME", help="The new name, domain/name or namespace#name.")]


@app.command(
    epilog=examples(
        "headrace catalog alias flights/planes 'db2://prod:50000#AIR.PLANES' --reason 'the table it was loaded from'"
    )
)
def alias(dataset: _NamedDataset, name: _Name, reason: _Reason) -> None:
    """Add an alias, so that events about it count for the dataset."""
    from headrace.context import current_context
    from headrace.database.connection import connect
    from headrace.openlineage import renames as renaming

    renaming.alias(
        connect(), current_context().organisation_id, dataset, name, by=getpass.getuser(), reason=reason
    )
    typer.echo(f"{name} is now an alias of {dataset}")


@app.command(
    epilog=examples(
        "headrace catalog merge 'hdfs://lake#/landing/planes' flights/planes --reason 'the files behind it'"
    )
)
def merge(dataset: _NamedDataset, into: _Into, reason: _Reason, yes: Yes = False) -> None:
    """Merge a dataset into another.

    Versions, lineage, checks and names of the first become the second's. This cannot be undone. The first one is still
    found by its names and its id.
    """
    from headrace.context import current_context
    from headrace.database.connection import connect
    from headrace.openlineage import renames as renaming

    if not yes:
        typer.confirm(f"Merge {dataset} into {into}? This cannot be undone.", abort=True)
    renaming.merge(
        connect(), current_context().organisation_id, dataset, into, by=getpass.getuser(), reason=reason
    )
    typer.echo(f"{dataset} is merged into {into}")


@app.command(
    epilog=examples("headrace catalog rename 'file#/data/planes' flights/planes --reason 'its real name'")
)
def rename(dataset: _NamedDataset, name: _NewName, reason: _Reason) -> None:
    """Rename a dataset, keeping the old name as an alias."""
    from headrace.context import current_context
    from headrace.database.connection import connect
    from headrace.openlineage import renames as renaming

    renaming.rename(
        connect(), current_context().organisation_id, dataset, name, by=getpass.getuser(), reason=reason
    )
    typer.echo(f"{dataset} is now named {name}")


@app.command(epilog=examples("headrace catalog rebuild"))
def rebuild() -> None:
    """Rebuild the catalog from the raw events.

    Readers see the previous state until it is done; an interrupted rebuild changes nothing. New events wait meanwhile.
    """
    from headrace.database.connection import connect
    from headrace.retention.rebuild import rebuild

    made = rebuild(connect())
    archived = f", {made.archived:,} from the archive" if made.archived else ""
    typer.echo(f"rebuilt from {counted(made.events + made.archived, 'event')}{archived}")


@app.command(epilog=examples("headrace catalog transfer flights/daily_delays"))
def transfer(dataset: Dataset) -> None:
    """Let this project declare a dataset of another project."""
    from headrace.context import current_context
    from headrace.database.connection import connect
    from headrace.registration.declarations import transfer as transfer_dataset

    transfer_dataset(connect(), dataset)
    typer.echo(f"{dataset} now belongs to the project {current_context().settings.project_name}.")


@app.command(epilog=examples("headrace catalog upgrade"))
def upgrade() -> None:
    """Upgrade a catalog that several projects share."""
    from headrace.database.connection import upgrade as upgrade_catalog

    typer.echo(f"The catalog is at revision {upgrade_catalog()}.")
