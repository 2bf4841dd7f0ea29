"""`headrace legacy`: the command group for Autosys estates."""

from headrace.cli.legacy import (
    client,
    commands,
    expected,
    ingest,
    notify,
    poll,
    processes,
    review,
    scan,
    triggers,
)

app = commands.app
for part in (expected, scan, review, processes, ingest, poll, client, notify, triggers):
    app.add_typer(part.app)
