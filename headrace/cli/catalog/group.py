"""`headrace catalog`: maintenance of the catalog."""

from __future__ import annotations

import typer

from headrace.cli.catalog import archive, names, proposed_changes

app = typer.Typer(no_args_is_help=True)
for part in (archive, names, proposed_changes):
    app.add_typer(part.app)
