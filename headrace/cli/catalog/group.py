"""`headrace catalog`: maintenance of the catalog."""

from __future__ import annotations

import typer

from headrace.cli.catalog import archive, names

app = typer.Typer(no_args_is_help=True)
for part in (archive, names):
    app.add_typer(part.app)
