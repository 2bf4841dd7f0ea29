"""`headrace doctor`: examine the installation, and repair references of stores."""

from __future__ import annotations

import typer

from headrace.terminal.arguments import AsJson, Datasets, examples
from headrace.terminal.output import emit, show, table

app = typer.Typer()


@app.command(epilog=examples("headrace doctor", "headrace doctor flights/planes"))
def doctor(
    datasets: Datasets = None,
    as_json: AsJson = False,
) -> None:
    """Examine the installation and the stores.

    Java, the catalog, the project's readers and writers, Spark and its jars, the warehouse, and for each dataset
    whether its store has the published versions as they were written. References for other programs (manifests,
    branches, views) that are out of date are updated. Exits with 1 if a problem is left.
    """
    from headrace.local.diagnosis import Health, examine
    from headrace.terminal.progress import own_output, progress

    with own_output() as terminal, progress("examining", terminal) as on_progress:
        found = list(examine(datasets or (), on_progress))
    if as_json:
        emit({"findings": found})
    else:
        show(table(["subject", "health", "detail"], [(it.subject, it.health, it.detail) for it in found]))
    if any(each.health is Health.PROBLEM for each in found):
        raise typer.Exit(1)
