"""`headrace openmetadata`: synchronise with OpenMetadata."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.errors import CommandError, warn
from headrace.terminal.openmetadata_cells import result_json, show_changes, summary
from headrace.terminal.output import emit

app = typer.Typer(no_args_is_help=True)


@app.command(
    epilog=examples(
        "headrace openmetadata sync --dry-run",
        "headrace openmetadata sync",
        "headrace openmetadata sync --whole",
    )
)
def sync(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change; send nothing.")] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="Compare everything with what is there, not only what changed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Synchronise the catalog with OpenMetadata, both ways.

    Datasets, processes, lineage, checks and their results are sent; what stewards wrote there is read. The first time
    everything is sent, later what changed. One that was interrupted continues. Set HEADRACE_OPENMETADATA__URL and
    __TOKEN.
    """
    from headrace.context import current_context
    from headrace.database.connection import connect
    from headrace.openmetadata.client import opened
    from headrace.openmetadata.synchronisation import synchronise
    from headrace.terminal.progress import progress

    settings = current_context().settings.openmetadata
    with opened(settings) as client, progress("synchronising OpenMetadata") as on_progress:
        done = synchronise(connect(), client, settings, is_dry=dry_run, whole=whole, on_progress=on_progress)
    if as_json:
        emit(result_json(done))
    else:
        show_changes(done)
        typer.echo(summary(done, is_dry=dry_run))
        for problem in done.problems:
            warn(problem)
    if done.problems:
        raise CommandError("not everything could be synchronised; the problems are listed above")
