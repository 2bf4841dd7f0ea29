"""The `headrace` command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from headrace import __version__
from headrace.cli.access import commands as access
from headrace.cli.alerts import commands as alerts
from headrace.cli.catalog import (
    archive as catalog_archive,
)
from headrace.cli.catalog import (
    export as lineage_elsewhere,
)
from headrace.cli.catalog import (
    group as catalog,
)
from headrace.cli.catalog import (
    names as catalog_names,
)
from headrace.cli.catalog import (
    registrations,
    setup_lineage,
)
from headrace.cli.common.arguments import examples
from headrace.cli.common.groups import Commands
from headrace.cli.datasets import (
    column_lineage,
    impact,
    manifests,
    pointers,
    search,
    sensitive,
)
from headrace.cli.datasets import (
    diff as comparing,
)
from headrace.cli.datasets import (
    listing as datasets,
)
from headrace.cli.datasets import (
    read as reading,
)
from headrace.cli.legacy import (
    client as legacy_client,
)
from headrace.cli.legacy import (
    commands as legacy,
)
from headrace.cli.legacy import (
    expected as legacy_expected,
)
from headrace.cli.legacy import (
    ingest as legacy_ingest,
)
from headrace.cli.legacy import (
    notify as legacy_notify,
)
from headrace.cli.legacy import (
    processes as legacy_processes,
)
from headrace.cli.legacy import (
    review as legacy_review,
)
from headrace.cli.legacy import (
    scan as legacy_scan,
)
from headrace.cli.legacy import (
    triggers as legacy_triggers,
)
from headrace.cli.machine import commands as machine
from headrace.cli.machine import init, retention
from headrace.cli.runs import commands as runs
from headrace.cli.runs import status
from headrace.cli.service import serve
from headrace.cli.sla import commands as sla
from headrace.project import VARIABLE

app = typer.Typer(
    name="headrace",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,  # half of the time that --help would take
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "headrace init shop", "headrace datasets --domain flights", "headrace show flights/flights_clean"
    ),
)
for group in (
    init,
    datasets,
    column_lineage,
    impact,
    setup_lineage,
    status,
    reading,
    comparing,
    pointers,
    manifests,
    runs,
    machine,
    serve,
    search,
    registrations,
    retention,
):
    app.add_typer(group.app)

for part in (
    legacy_expected,
    legacy_scan,
    legacy_review,
    legacy_processes,
    legacy_ingest,
    legacy_client,
    legacy_notify,
    legacy_triggers,
):
    legacy.app.add_typer(part.app)
app.add_typer(
    legacy.app,
    name="legacy",
    rich_help_panel=legacy.PANEL,
    help="Scan, review and ingest an Autosys estate.",
)

app.add_typer(
    lineage_elsewhere.app,
    name="lineage",
    rich_help_panel="Datasets",
    help="Show and export lineage.",
)

app.add_typer(
    alerts.app,
    name="alerts",
    rich_help_panel=alerts.PANEL,
    help="List, show and acknowledge alerts; test routes.",
)

app.add_typer(
    sla.app,
    name="sla",
    rich_help_panel=alerts.PANEL,
    help="SLA status, history, forecasts and outages.",
)

app.add_typer(
    sensitive.app,
    name="sensitive",
    rich_help_panel=sensitive.PANEL,
    help="Show sensitive columns, or mark one as safe to display.",
)

app.add_typer(
    access.app,
    name="access",
    rich_help_panel=access.PANEL,
    help="Manage roles, tokens and organisations; show the audit trail.",
)

for part in (catalog_archive, catalog_names):
    catalog.app.add_typer(part.app)
app.add_typer(
    catalog.app,
    name="catalog",
    rich_help_panel=catalog.PANEL,
    help="Manage dataset names, the archive and raw events.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headrace {__version__}")
        raise typer.Exit


@app.callback()
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    project: Annotated[
        Path | None,
        typer.Option(
            "--project",
            metavar="FOLDER",
            help="The project folder. [default: found from the current folder upwards]",
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Headrace: versioned datasets, lineage and SLAs for Dagster, Spark and Autosys.

    Commands exit with 0 on success, 1 on failure and 2 on wrong usage. With --json they print one JSON document on
    standard output; messages and progress go to standard error.
    """
    if project is not None:
        os.environ[VARIABLE] = str(project)
