"""`headrace retention`: which versions expire, and what is left of them and of dead runs in the stores."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from headrace.nouns import counted
from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.errors import complain
from headrace.terminal.expiry import show_expiry
from headrace.terminal.output import emit

app = typer.Typer()


@app.command(
    epilog=examples("headrace retention", "headrace retention sales/orders", "headrace retention --delete")
)
def retention(
    dataset: Annotated[
        str | None, typer.Argument(metavar="[DATASET]", help="List its versions, and why each stays.")
    ] = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Expire the listed versions, delete rows.")
    ] = False,
    hours: Annotated[
        float, typer.Option(min=0, metavar="N", help="Keep writes of runs started in the last N hours.")
    ] = 24,
    as_json: AsJson = False,
) -> None:
    """List versions that expire, and dead runs' writes.

    Versions expire as the `keep` of their declarations says, every night or with --delete, which also deletes their
    rows. Versions that are published, pinned, held or still read stay, as does what a live run may still publish.
    """
    from headrace.database.connection import connect
    from headrace.local.environment import dagster_instance
    from headrace.orchestration import garbage
    from headrace.orchestration.erasure import forget_erased_versions
    from headrace.publishing.expiry import expire_versions, expiring_versions, retained_versions
    from headrace.terminal.frames import open_stores

    if dataset is not None and delete:
        raise typer.BadParameter("--delete applies to all datasets: omit DATASET")
    engine = connect()
    if dataset is not None:
        versions = retained_versions(engine, dataset)
        found: list[garbage.Garbage] = []
        failed = 0
    else:
        stores = open_stores()
        versions = expire_versions(engine) if delete else expiring_versions(engine)
        found = garbage.garbage(engine, stores, timedelta(hours=hours))
        if delete:
            with dagster_instance() as instance:
                forget_erased_versions(engine, instance)
            garbage.record_gone(engine, stores)
        removed = garbage.delete(engine, stores, found) if delete else found
        failed = len(found) - len(removed)
        found = removed
    if as_json:
        emit({"versions": versions, "garbage": found, "deleted": delete, "failed": failed})
    else:
        show_expiry(dataset, versions, found, delete=delete, failed=failed)
    if failed:
        complain(
            f"rows at {counted(failed, 'place')} could not be deleted, as the warnings say; repeat the command "
            "when that is corrected"
        )
        raise typer.Exit(1)
