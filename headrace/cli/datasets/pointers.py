"""`headrace pin`, `unpin` and `rollback`: choose the version readers get."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.arguments import (
    AsJson,
    Dataset,
    Partition,
    Yes,
    dataset_keys,
    examples,
    version_tags,
)
from headrace.terminal.errors import CommandError
from headrace.terminal.output import ago, emit, show, size, table

if TYPE_CHECKING:
    from rich.table import Table

    from headrace.catalog.records import Version

app = typer.Typer()

Consumer = Annotated[
    str | None,
    typer.Option(
        "--consumer",
        "-c",
        metavar="DATASET",
        help="Only for runs of this dataset.",
        autocompletion=dataset_keys,
    ),
]
Reason = Annotated[
    str, typer.Option("--reason", "-r", metavar="TEXT", help="The reason, kept in the history.")
]


@app.command(
    epilog=examples(
        "headrace pin flights/planes 20261128T041500Z-1a2b3c4d --reason 'new feed has wrong seats'",
        "headrace pin flights/planes 20261128T041500Z-1a2b3c4d --consumer flights/flights_enriched",
    )
)
def pin(
    dataset: Dataset,
    tag: Annotated[str, typer.Argument(metavar="TAG", help="The version.", autocompletion=version_tags)],
    partition: Partition = None,
    consumer: Consumer = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Pin readers to one version, whatever is published.

    Applies to all runs that read the dataset, or with --consumer to the runs of one. Replaces an existing pin.
    """
    from headrace.catalog.lookup import named
    from headrace.database.connection import connect
    from headrace.publishing import pins

    version = pins.pin(connect(), dataset, tag, partition, consumer, by=getpass.getuser(), reason=reason)
    answer = {
        "dataset": dataset,
        "partition": partition,
        "tag": version.tag,
        "consumer": consumer,
        "pinned": True,
    }
    if as_json:
        emit(answer)
    else:
        typer.echo(f"{consumer or 'Everyone'} now reads {named(dataset, partition)} at {version.tag}.")


@app.command(epilog=examples("headrace unpin flights/planes"))
def unpin(
    dataset: Dataset, partition: Partition = None, consumer: Consumer = None, as_json: AsJson = False
) -> None:
    """Remove a pin: readers get the published version again."""
    from headrace.catalog.lookup import named
    from headrace.database.connection import connect
    from headrace.publishing import pins

    pins.unpin(connect(), dataset, partition, consumer, by=getpass.getuser())
    if as_json:
        emit({"dataset": dataset, "partition": partition, "tag": None, "consumer": consumer, "pinned": False})
    else:
        typer.echo(
            f"{consumer or 'Everyone'} now reads the published version of {named(dataset, partition)}."
        )


@app.command(
    epilog=examples(
        "headrace rollback flights/planes --reason 'wrong seats'",
        "headrace rollback flights/flights_clean --partition 2013-01-01 --to 20261128T041500Z-1a2b3c4d",
    )
)
def rollback(
    dataset: Dataset,
    partition: Partition = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="TAG",
            help="The version. [default: the previously published one]",
            autocompletion=version_tags,
        ),
    ] = None,
    reason: Reason = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Roll the published version back to an earlier one.

    Shows the change and asks for confirmation, except with --yes or --json. Lists the datasets that were built from the
    withdrawn version.
    """
    from headrace import queries
    from headrace.catalog.lookup import named
    from headrace.database.connection import connect
    from headrace.errors import CatalogError
    from headrace.publishing.rollback import rollback as roll_back
    from headrace.publishing.rollback import target
    from headrace.queries.lineage import published_from
    from headrace.spark.errors import ResourceError
    from headrace.stores.references import update_references
    from headrace.terminal.frames import session

    engine = connect()
    before = queries.version(engine, dataset, partition=partition).version
    after = target(engine, before, to)
    stale = published_from(engine, before)
    if not as_json:
        show(_change(before, after))
        typer.echo(_stale_summary(stale))
        if not yes:
            typer.confirm(f"Publish {after.tag}?", abort=True)
    publication = roll_back(engine, dataset, partition, after.tag, by=getpass.getuser(), reason=reason)
    if as_json:
        emit(
            {
                "dataset": dataset,
                "partition": partition,
                "from": before.tag,
                "to": publication.version.tag,
                "generation": publication.generation,
                "stale": [{"dataset": key, "partitions": keys} for key, keys in stale.items()],
            }
        )
    else:
        typer.echo(f"{named(dataset, partition)} is published at {publication.version.tag}.")
    try:
        update_references(engine, dataset, session, [partition])
    except (CatalogError, ResourceError) as error:
        raise CommandError(
            f"{named(dataset, partition)} is rolled back, but its manifest or other reference could not be updated: "
            f"external readers still find {before.tag}: {error} Correct that, then run `headrace manifests {dataset}`."
        ) from error


def _change(before: Version, after: Version) -> Table:
    from headrace.catalog.lookup import named

    rows = [
        (
            side,
            version.tag,
            version.row_count,
            size(version.byte_size),
            version.created_at,
            ago(version.created_at),
        )
        for side, version in (("from", before), ("to", after))
    ]
    return table([named(before.dataset, before.partition), "version", "#rows", "#size", "written", ""], rows)


def _stale_summary(stale: dict[str, list[str | None]]) -> str:
    if not stale:
        return "No published version was built from the version being withdrawn."
    lines = [
        f"  {key}" + (f" ({len(keys):,} partitions)" if keys != [None] else "") for key, keys in stale.items()
    ]
    remedy = f"headrace materialize {' '.join(stale)} --stale"
    return "\n".join(["Built from the version being withdrawn:", *lines, f"Rebuild them with: {remedy}"])
