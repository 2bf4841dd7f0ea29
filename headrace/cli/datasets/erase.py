"""`headrace erase`: erase rows from all versions of a dataset, and of what was made from it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.nouns import counted
from headrace.terminal.arguments import AsJson, Yes, current_user, dataset_keys, examples
from headrace.terminal.errors import warn
from headrace.terminal.output import emit

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from headrace.execution.erasure import Condition

app = typer.Typer()


@app.command(
    epilog=examples(
        "headrace erase crm/customers --where 'customer_id = 4711' --reason 'request 2026-17' --dry-run",
        "headrace erase crm/customers --where 'customer_id = 4711' --reason 'request 2026-17'",
        "headrace erase --subject customer=4711 --reason 'request 2026-17'",
    )
)
def erase(
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Recorded in the audit trail.")],
    dataset: Annotated[
        str | None, typer.Argument(metavar="[DATASET]", help="With --where.", autocompletion=dataset_keys)
    ] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="SQL", help="Erase the rows for which this condition is true."),
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(
            "--subject",
            metavar="KIND=ID",
            help="Erase the rows about a person, from all datasets with a column tagged `subject=KIND`.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be erased.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Erase rows from all versions of a dataset.

    Or those about a person, from all datasets with a column that is tagged as their identifier.

    The published version is rewritten without the rows, and other versions that have them are deleted. Column lineage
    finds the rows in datasets made from this one. Where it cannot, their published version is named: materialize the
    dataset again, and repeat the command, which deletes it. Exits with 1 as long as there is such a version.
    """
    from headrace.database.connection import connect
    from headrace.execution.erasure import Condition
    from headrace.publishing.erasure import ErasureRefused
    from headrace.terminal.erasure import rows_about

    if (dataset is None) == (subject is None) or (dataset is None) != (where is None):
        raise typer.BadParameter("give a dataset and --where, or --subject alone")
    if as_json and not (yes or dry_run):
        raise typer.BadParameter("with --json, give --yes or --dry-run")
    engine = connect()
    if dataset is not None and where is not None:
        asked, outside = {dataset: [Condition(where)]}, list[str]()
    else:
        asked, outside = rows_about(engine, subject or "")
    results, refused = [], False
    for key, each in ((key, each) for key, conditions in asked.items() for each in conditions):
        try:
            results.append(
                _erase(
                    engine, key, each, reason, dry_run=dry_run, yes=yes, quiet=as_json, together=asked.keys()
                )
            )
        except ErasureRefused as refusal:  # the rows in the other datasets go all the same
            if subject is None:
                raise
            warn(str(refusal))
            refused = True
    for key in outside:
        warn(f"{key} has a column tagged `subject`, and another system writes it: erase the rows there")
    if as_json:
        facts = [each for each, _ in results]
        emit(
            facts[0] if dataset is not None else {"subject": subject, "datasets": facts, "elsewhere": outside}
        )
    if outside or refused or not all(is_done for _, is_done in results):
        raise typer.Exit(1)


def _erase(
    engine: Engine,
    dataset: str,
    condition: Condition,
    reason: str,
    *,
    dry_run: bool,
    yes: bool,
    quiet: bool,
    together: Collection[str],
) -> tuple[dict[str, Any], bool]:
    """Erase rows, and return what was done, and True if nothing is left. together: datasets that are erased, too."""
    from headrace.execution.erasure import Action, affected_rows
    from headrace.execution.erasure import erase as erase_rows
    from headrace.local.environment import dagster_instance
    from headrace.orchestration import garbage
    from headrace.orchestration.erasure import forget_erased_versions
    from headrace.terminal.erasure import erasure_facts, show_affected
    from headrace.terminal.frames import open_stores
    from headrace.terminal.progress import own_output, progress

    with own_output() as terminal, progress(f"looking for the rows in {dataset}", terminal):
        stores = open_stores()
        found = affected_rows(engine, stores, dataset, condition)
    left = found.of(Action.RECOMPUTE)
    if not quiet:
        show_affected(found)
    if dry_run:
        return erasure_facts(found, dataset, erased=False), True
    if not yes and found.versions:
        typer.confirm("Erase these rows? This cannot be undone.", abort=True)
    with own_output() as terminal, progress("erasing", terminal):
        erase_rows(engine, found, stores, dataset, condition, reason=reason, by=current_user())
        erased = [each.stored.version for each in found.of(Action.REWRITE, Action.DELETE)]
        with dagster_instance() as instance:
            unfinished = forget_erased_versions(
                engine, instance, found.expired
            )  # and what a killed command left
        garbage.record_gone(engine, stores)
        rows = garbage.expired_rows(engine, stores, {each.dataset for each in unfinished})
        deleted = garbage.delete(engine, stores, rows)
    if len(deleted) < len(rows):
        warn(
            "some rows could not be deleted yet; `headrace retention --delete` does it, and so does the nightly job"
        )
    if not quiet:
        typer.echo(f"Erased {counted(found.row_count, 'row')} from {counted(len(erased), 'version')}.")
    if left:
        keys = " ".join(sorted({each.stored.version.dataset for each in left}))
        warn(f"computed from the rows: run `headrace materialize --stale {keys}`, and this command again")
    sources = {key: count for key, count in found.sources.items() if key not in together}
    for key, count in sources.items():
        warn(
            f"{key} still has {counted(count, 'row')} of them, and the next run reads it: erase them there too"
        )
    is_done = not (left or sources or len(deleted) < len(rows))
    return erasure_facts(found, dataset, erased=True), is_done
