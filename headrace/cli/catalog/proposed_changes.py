"""`headrace catalog proposed`: what stewards propose to declarations."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.terminal.arguments import AsJson, dataset_keys, examples
from headrace.terminal.output import emit

app = typer.Typer(no_args_is_help=True)


@app.command(
    "proposed",
    epilog=examples("headrace catalog proposed", "headrace catalog proposed crm/customers"),
)
def proposed(
    dataset: Annotated[
        str | None,
        typer.Argument(metavar="DATASET", help="Only of this dataset.", autocompletion=dataset_keys),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the changes of declarations that stewards propose.

    These are what they wrote in OpenMetadata, or accepted as sensitive, and declarations do not say. A change is gone
    once the declaration has it.
    """
    from headrace.database.connection import connect
    from headrace.queries.proposed_changes import proposed_changes
    from headrace.terminal.proposed_changes import show_proposed

    found = proposed_changes(connect(), dataset)
    if as_json:
        emit(found)
    else:
        show_proposed(found)
