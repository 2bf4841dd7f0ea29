"""The `headrace` command: every command by name, and what they have in common."""

from __future__ import annotations

from typing import Annotated

import typer

from cli import (
    access,
    alerts,
    catalog,
    catalog_archive,
    catalog_names,
    column_lineage,
    comparing,
    datasets,
    demo,
    impact,
    intake,
    legacy,
    legacy_client,
    legacy_expected,
    legacy_ingest,
    legacy_notify,
    legacy_processes,
    legacy_review,
    legacy_scan,
    legacy_triggers,
    lineage_elsewhere,
    machine,
    manifests,
    pointers,
    reading,
    retention,
    runs,
    sensitive,
    serve,
    served,
    setup_lineage,
    sla,
    status,
)
from cli.arguments import examples
from cli.commands import Commands

app = typer.Typer(
    name="headrace",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,  # half of the time that --help would take
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "headrace demo", "headrace datasets --domain flights", "headrace show flights/flights_clean"
    ),
)
for group in (
    demo,
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
    intake,
    serve,
    served,
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
    help="An Autosys estate as its JIL files and calendar exports describe it.",
)

app.add_typer(
    lineage_elsewhere.app,
    name="lineage",
    rich_help_panel="Datasets",
    help="What datasets are made from and what is made from them: `headrace lineage DATASET` shows it.",
)

app.add_typer(
    alerts.app,
    name="alerts",
    rich_help_panel=alerts.PANEL,
    help="What people were told of what happened, who is at it, and who would be told.",
)

app.add_typer(
    sla.app,
    name="sla",
    rich_help_panel=alerts.PANEL,
    help="Whether datasets and jobs are there when they were promised, and what they wait for.",
)

app.add_typer(
    sensitive.app,
    name="sensitive",
    rich_help_panel=sensitive.PANEL,
    help="Which columns nobody is shown unasked, and an owner's word that one may be.",
)

app.add_typer(
    access.app,
    name="access",
    rich_help_panel=access.PANEL,
    help="Who may see and change what: roles of users, tokens of services, the audit trail.",
)

for part in (catalog_archive, catalog_names):
    catalog.app.add_typer(part.app)
app.add_typer(
    catalog.app,
    name="catalog",
    rich_help_panel=catalog.PANEL,
    help="The catalog's own records: the names of datasets, the archive of old runs and events.",
)


@app.callback()
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
) -> None:
    """Datasets, their versions and how they came to be.

    Commands exit with 0, with 1 when they fail, and with 2 when they are called wrongly. With --json they print one
    JSON document on standard output; messages and progress go to standard error.
    """
