"""Table of all commands: help section, module and summary."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A command. module: has a Typer `app` with the command, or is the module of a group. Imported when used."""

    name: str
    module: str
    summary: str
    is_group: bool = False


_CLI = "headrace.cli"
SECTIONS: dict[str, tuple[Entry, ...]] = {
    "Start here": (Entry("init", f"{_CLI}.machine.init", "Create a Headrace project."),),
    "Datasets": (
        Entry("datasets", f"{_CLI}.datasets.listing", "List the datasets."),
        Entry("search", f"{_CLI}.datasets.search", "Find datasets by words, tolerating typos."),
        Entry(
            "show", f"{_CLI}.datasets.listing", "Show a dataset: columns, checks, SLA, published versions."
        ),
        Entry("versions", f"{_CLI}.datasets.listing", "List the newest versions of a dataset."),
        Entry("profile", f"{_CLI}.datasets.profile", "Show the profile of a dataset's columns."),
        Entry(
            "partitions",
            f"{_CLI}.datasets.partitions",
            "List the partitions of a dataset, or change dynamic ones.",
        ),
        Entry("status", f"{_CLI}.runs.status", "Show the status of datasets and runs."),
        Entry("lineage", f"{_CLI}.lineage.group", "Show and export lineage.", is_group=True),
        Entry("impact", f"{_CLI}.lineage.impact", "Show what a change to a dataset or column would affect."),
        Entry("diff-lineage", f"{_CLI}.lineage.columns", "Compare the column lineage of two versions."),
        Entry(
            "contract", f"{_CLI}.contracts.commands", "Export, import and pin data contracts.", is_group=True
        ),
        Entry("policy", f"{_CLI}.policies.commands", "Explain and test policies.", is_group=True),
        Entry(
            "sensitive",
            f"{_CLI}.datasets.sensitive",
            "Suggest and show sensitive columns, and decide about them.",
            is_group=True,
        ),
    ),
    "Runs": (
        Entry(
            "check", f"{_CLI}.runs.commands", "Validate declarations, contracts, policies and alerts.yaml."
        ),
        Entry("materialize", f"{_CLI}.runs.commands", "Materialize datasets in this process."),
        Entry("observe", f"{_CLI}.runs.commands", "Register landed files of external datasets."),
        Entry("why", f"{_CLI}.runs.status", "Explain a run: inputs, outputs, attempts, failure, log."),
    ),
    "Versions": (
        Entry("read", f"{_CLI}.datasets.read", "Show or export the rows of a version."),
        Entry("diff", f"{_CLI}.datasets.diff", "Compare two versions: schema, row counts, changed rows."),
        Entry(
            "replay", f"{_CLI}.datasets.replay", "Compute a version again from its exact inputs, and compare."
        ),
        Entry("pin", f"{_CLI}.datasets.pointers", "Pin readers to one version, whatever is published."),
        Entry("unpin", f"{_CLI}.datasets.pointers", "Remove a pin: readers get the published version again."),
        Entry("rollback", f"{_CLI}.datasets.pointers", "Roll the published version back to an earlier one."),
        Entry(
            "erase",
            f"{_CLI}.datasets.erase",
            "Erase rows from all versions of a dataset.",
        ),
        Entry("manifests", f"{_CLI}.datasets.manifests", "Refresh the manifests that external readers use."),
    ),
    "This machine": (
        Entry("up", f"{_CLI}.machine.commands", "Serve Dagster and the catalog until Ctrl-C."),
        Entry("down", f"{_CLI}.machine.commands", "Stop all services, including the embedded PostgreSQL."),
        Entry("clean", f"{_CLI}.machine.commands", "Stop all services and delete the state folder."),
        Entry("env", f"{_CLI}.machine.commands", "Print the environment variables for `dagster` and `dg`."),
        Entry("serve", f"{_CLI}.service.serve", "Run only the HTTP service until Ctrl-C."),
        Entry(
            "doctor",
            f"{_CLI}.machine.doctor",
            "Examine the installation and the stores.",
        ),
        Entry("retention", f"{_CLI}.machine.retention", "List versions that expire, and dead runs' writes."),
    ),
    "Catalog": (
        Entry("retire", f"{_CLI}.catalog.retirement", "Retire a dataset: its SLA ends, and lists omit it."),
        Entry("restore", f"{_CLI}.catalog.retirement", "Restore a retired dataset, with its SLA."),
        Entry(
            "register",
            f"{_CLI}.catalog.registrations",
            "Register a dataset as a draft for a steward to review.",
        ),
        Entry(
            "registrations",
            f"{_CLI}.catalog.registrations",
            "List registrations waiting for a steward's review.",
        ),
        Entry(
            "approve", f"{_CLI}.catalog.registrations", "Approve a registration: the dataset becomes active."
        ),
        Entry("reject", f"{_CLI}.catalog.registrations", "Reject a registration: the dataset is unchanged."),
        Entry("access", f"{_CLI}.access.commands", "Manage roles, tokens and organisations.", is_group=True),
        Entry(
            "catalog",
            f"{_CLI}.catalog.group",
            "Manage dataset names, the archive, raw events and upgrades.",
            is_group=True,
        ),
        Entry(
            "openmetadata",
            f"{_CLI}.openmetadata.commands",
            "Synchronise with OpenMetadata.",
            is_group=True,
        ),
        Entry(
            "setup-lineage", f"{_CLI}.lineage.setup_lineage", "Install the OL_* tables in another database."
        ),
    ),
    "Autosys estate": (
        Entry(
            "legacy",
            f"{_CLI}.legacy.group",
            "Report on, scan, review and ingest an Autosys estate.",
            is_group=True,
        ),
        Entry(
            "simulate",
            f"{_CLI}.legacy.simulate",
            "Simulate a night of the estate, and the effect of changes.",
        ),
    ),
    "Alerts and SLAs": (
        Entry(
            "alerts",
            f"{_CLI}.alerts.commands",
            "List, show, acknowledge and hand over alerts.",
            is_group=True,
        ),
        Entry("sla", f"{_CLI}.sla.commands", "Show SLA status, history and forecasts.", is_group=True),
    ),
}
