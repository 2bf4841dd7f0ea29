"""`headrace legacy notify`: repeat the notifications of a published version, by flag file or Autosys event."""

from __future__ import annotations

import typer

from headrace.terminal.arguments import AsJson, Dataset, Partition, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit

app = typer.Typer()


@app.command(epilog=examples("headrace legacy notify flights/daily_delays --partition 2013-01-31"))
def notify(dataset: Dataset, partition: Partition = None, as_json: AsJson = False) -> None:
    """Repeat the notifications of published versions.

    Writes the flag files and sends the events that `notify` in the dataset's declaration lists, from this machine.
    """
    from headrace.database.connection import connect
    from headrace.orchestration.notices import NoticeRefused, repeat_notices

    try:
        delivered, failed = repeat_notices(connect(), dataset, partition)
    except NoticeRefused as error:
        raise CommandError(str(error)) from error
    if as_json:
        emit({"notified": delivered, "not_notified": failed})
    else:
        for notice in delivered:
            typer.echo(f"notified {notice}")
    if failed:
        raise CommandError("\n  ".join(["some notifications failed:", *failed]))
