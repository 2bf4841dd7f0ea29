"""`headrace catalog alias`, `merge`, `rename` and `rebuild`: what datasets are called, and what events come to."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from headrace.cli.common.arguments import Dataset, Yes, dataset_keys, examples

app = typer.Typer()

_Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept with the decision.")]
_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Namespace and name as OpenLineage has them: namespace#name.")
]
_Into = Annotated[
    str,
    typer.Argument(metavar="INTO", help="The dataset that it becomes part of.", autocompletion=dataset_keys),
]


@app.command(
    epilog=examples(
        "headrace catalog alias flights/planes 'db2://prod:50000#AIR.PLANES' --reason 'the table it was loaded from'"
    )
)
def alias(dataset: Dataset, name: _Name, reason: _Reason) -> None:
    """Give a dataset another name: what others report under it is of this dataset."""
    from headrace.database.connection import connect
    from headrace.database.ids import organisation_id
    from headrace.events.openlineage import renames as renaming

    renaming.alias(connect(), organisation_id(), dataset, name, by=getpass.getuser(), reason=reason)
    typer.echo(f"{name} is a name of {dataset}")


@app.command(
    epilog=examples(
        "headrace catalog merge 'hdfs://lake#/landing/planes' flights/planes --reason 'the files behind it'"
    )
)
def merge(dataset: Dataset, into: _Into, reason: _Reason, yes: Yes = False) -> None:
    """Make two datasets one: versions, lineage, checks and names of the first become the second's.

    This is not taken back. The first one is still found by its names and its id.
    """
    from headrace.database.connection import connect
    from headrace.database.ids import organisation_id
    from headrace.events.openlineage import renames as renaming

    if not yes:
        typer.confirm(f"Make {dataset} part of {into} for good?", abort=True)
    renaming.merge(connect(), organisation_id(), dataset, into, by=getpass.getuser(), reason=reason)
    typer.echo(f"{dataset} is part of {into}")


@app.command(
    epilog=examples("headrace catalog rename 'file#/data/planes' flights/planes --reason 'its real name'")
)
def rename(dataset: Dataset, name: _Name, reason: _Reason) -> None:
    """Show a dataset by another name, a key (domain/name) or namespace#name; it keeps the old one as well."""
    from headrace.database.connection import connect
    from headrace.database.ids import organisation_id
    from headrace.events.openlineage import renames as renaming

    renaming.rename(connect(), organisation_id(), dataset, name, by=getpass.getuser(), reason=reason)
    typer.echo(f"{dataset} is called {name}")


@app.command(epilog=examples("headrace catalog rebuild"))
def rebuild() -> None:
    """Make again, from the OpenLineage events as received, all that they come to.

    Readers see what there was until it is done; a rebuild that is stopped has changed nothing. Events wait meanwhile.
    """
    from headrace.database.connection import connect
    from headrace.retention.rebuild import rebuild

    made = rebuild(connect())
    archived = f", {made.archived:,} of them from the archive" if made.archived else ""
    typer.echo(f"made from {made.events + made.archived:,} events{archived}")


@app.command(epilog=examples("headrace catalog transfer mart/delays"))
def transfer(dataset: Dataset) -> None:
    """Let this project declare a dataset of another project."""
    from headrace.catalog.registry import transfer as transfer_dataset
    from headrace.database.connection import connect
    from headrace.settings import settings

    transfer_dataset(connect(), dataset)
    typer.echo(f"{dataset} is declared by the project {settings().project_name} from now on.")


@app.command(epilog=examples("headrace catalog upgrade"))
def upgrade() -> None:
    """Upgrade a catalog that several projects share."""
    from headrace.database.connection import upgrade as upgrade_catalog

    typer.echo(f"The catalog is at revision {upgrade_catalog()}.")
