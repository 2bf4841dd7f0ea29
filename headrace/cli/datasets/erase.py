"""`headrace erase`: erase rows from all versions of a dataset, and of what was made from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.nouns import counted
from headrace.terminal.arguments import AsJson, Dataset, Yes, current_user, examples
from headrace.terminal.errors import warn
from headrace.terminal.output import emit, show, table

if TYPE_CHECKING:
    from headrace.execution.erasure import AffectedRows, AffectedVersion

app = typer.Typer()


@app.command(
    epilog=examples(
        "headrace erase crm/customers --where 'customer_id = 4711' --reason 'request 2026-17' --dry-run",
        "headrace erase crm/customers --where 'customer_id = 4711' --reason 'request 2026-17'",
    )
)
def erase(
    dataset: Dataset,
    where: Annotated[
        str, typer.Option("--where", metavar="SQL", help="Erase the rows for which this condition is true.")
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Recorded in the audit trail.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be erased.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Erase rows from all versions of a dataset.

    The published version is rewritten without the rows, and other versions that have them are deleted. Column lineage
    finds the rows in datasets made from this one. Where it cannot, their published version is named: materialize the
    dataset again, and repeat the command, which deletes it. Exits with 1 as long as there is such a version.
    """
    from headrace.database.connection import connect
    from headrace.execution.erasure import Action, Condition, affected_rows
    from headrace.execution.erasure import erase as erase_rows
    from headrace.local.environment import dagster_instance
    from headrace.orchestration import garbage
    from headrace.orchestration.erasure import forget_erased_versions
    from headrace.terminal.frames import open_stores
    from headrace.terminal.progress import own_output, progress

    if as_json and not (yes or dry_run):
        raise typer.BadParameter("with --json, give --yes or --dry-run")
    engine, condition = connect(), Condition(where)
    with own_output() as terminal, progress("looking for the rows", terminal):
        stores = open_stores()
        found = affected_rows(engine, stores, dataset, condition)
    left = found.of(Action.RECOMPUTE)
    if not as_json:
        _show(found)
    if dry_run:
        if as_json:
            emit(_facts(found, dataset, erased=False))
        return
    if not yes and found.versions:
        typer.confirm("Erase these rows? This cannot be undone.", abort=True)
    with own_output() as terminal, progress("erasing", terminal):
        erase_rows(engine, found, stores, dataset, condition, reason=reason, by=current_user())
        erased = [each.stored.version for each in found.of(Action.REWRITE, Action.DELETE)]
        with dagster_instance() as instance:
            unfinished = forget_erased_versions(engine, instance)  # and what a killed command left
        garbage.record_gone(engine, stores)
        rows = garbage.expired_rows(engine, stores, {each.dataset for each in unfinished})
        deleted = garbage.delete(engine, stores, rows)
    if len(deleted) < len(rows):
        warn(
            "some rows could not be deleted yet; `headrace retention --delete` does it, and so does the nightly job"
        )
    if as_json:
        emit(_facts(found, dataset, erased=True))
    else:
        typer.echo(f"Erased {counted(found.row_count, 'row')} from {counted(len(erased), 'version')}.")
    if left:
        keys = " ".join(sorted({each.stored.version.dataset for each in left}))
        warn(f"computed from the rows: run `headrace materialize --stale {keys}`, and this command again")
    for key, count in found.sources.items():
        warn(
            f"{key} still has {counted(count, 'row')} of them, and the next run reads it: erase them there too"
        )
    if left or found.sources or len(deleted) < len(rows):
        raise typer.Exit(1)


def _show(found: AffectedRows) -> None:
    if not found.versions:
        typer.echo("No version has such rows.")
        return
    groups: dict[tuple[str, str], list[AffectedVersion]] = {}
    for each in found.versions:
        groups.setdefault((each.stored.version.dataset, each.action.value), []).append(each)
    rows = [
        (
            dataset,
            action,
            len(some),
            "unknown" if any(each.rows is None for each in some) else sum(each.rows or 0 for each in some),
        )
        for (dataset, action), some in groups.items()
    ]
    show(table(["dataset", "action", "#versions", "#rows"], rows))


def _facts(found: AffectedRows, dataset: str, *, erased: bool) -> dict[str, Any]:
    versions = [
        {
            "dataset": each.stored.version.dataset,
            "partition": each.stored.version.partition,
            "version": each.stored.version.tag,
            "rows": each.rows,
            "action": each.action,
        }
        for each in found.versions
    ]
    return {"dataset": dataset, "erased": erased, "versions": versions, "sources": found.sources}
