"""`headrace retire` and `restore`: datasets that are no longer produced."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from headrace.terminal.arguments import Dataset, examples

app = typer.Typer()

_Reason = Annotated[
    str, typer.Option("--reason", "-r", metavar="TEXT", help="The reason, kept in the history.")
]


@app.command(epilog=examples("headrace retire flights/planes --reason 'replaced by flights/fleet'"))
def retire(dataset: Dataset, reason: _Reason) -> None:
    """Retire a dataset: its SLA ends, and lists omit it.

    Its open alerts are closed. Versions, lineage and SLA outcomes stay, and can be read. Datasets that their project no
    longer declares are retired by `headrace up`.
    """
    from headrace.database.connection import connect
    from headrace.registration.retirement import retire as retire_dataset

    retire_dataset(connect(), dataset, by=getpass.getuser(), reason=reason)
    typer.echo(f"{dataset} is retired.")


@app.command(epilog=examples("headrace restore flights/planes --reason 'still read by the auditors'"))
def restore(dataset: Dataset, reason: _Reason) -> None:
    """Restore a retired dataset, with its SLA.

    If a declaration was removed and is added again, its dataset is restored automatically.
    """
    from headrace.database.connection import connect
    from headrace.registration.retirement import restore as restore_dataset

    restore_dataset(connect(), dataset, by=getpass.getuser(), reason=reason)
    typer.echo(f"{dataset} is restored.")
