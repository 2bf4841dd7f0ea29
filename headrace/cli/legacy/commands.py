"""`headrace legacy report`, `jobs`, `candidates` and `diff`: analyse an Autosys estate from its files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

from headrace.estates.confidence import MIN_CONFIDENCE
from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.estate_files import EstateFiles, read, read_and_warn
from headrace.terminal.output import emit, show, table

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
)
MAX_ROWS = 500  # rows of a table


def today() -> date:
    """Return the day, in UTC, against which calendars are checked for expiry."""
    return datetime.now(UTC).date()


@app.command(
    epilog=examples(
        "headrace legacy report jobs.jil calendars.txt", "headrace legacy report estate/ --strict --json"
    )
)
def report(
    files: EstateFiles,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if there are findings of severity error.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Report an estate's contents and problems, by file and line."""
    from headrace.autosys import lint
    from headrace.autosys.facts import report_facts
    from headrace.cli.legacy.report import print_report
    from headrace.severity import Severity
    from headrace.terminal.progress import progress

    estate = read(files)
    with progress("checking the estate"):
        found = lint(estate, today=today())
    if as_json:
        emit(report_facts(estate, found))
    else:
        print_report(estate, found)
    if strict and any(finding.severity is Severity.ERROR for finding in found):
        raise typer.Exit(1)


@app.command(epilog=examples("headrace legacy jobs jobs.jil", "headrace legacy jobs estate/ --like 'FIN_%'"))
def jobs(
    files: EstateFiles,
    like: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Only those whose name matches; % or * matches any text."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List jobs with type, box, machine, schedule and conditions."""
    from headrace.autosys.facts import job_facts
    from headrace.terminal.job_cells import waits_for

    estate = read_and_warn(files)
    found = [job for job in estate.jobs.values() if like is None or _is_like(job.name, like)]
    if as_json:
        emit({"jobs": [job_facts(job, estate) for job in found]})
    elif found:
        from headrace.autosys import start_in_words

        rows = [
            (job.name, job.type, job.box, job.machine, job.owner, start_in_words(job), waits_for(job))
            for job in found[:MAX_ROWS]
        ]
        show(table(["job", "type", "box", "machine", "owner", "starts", "waits for"], rows))
        if len(found) > MAX_ROWS:
            typer.echo(f"Showing {MAX_ROWS} of {len(found):,}; filter with --like, or use --json for all.")
    else:
        typer.echo("No matching job." if like else "No jobs in these files.")


@app.command(
    epilog=examples(
        "headrace legacy candidates jobs.jil", "headrace legacy candidates estate/ --at-least 0.8 --json"
    )
)
def candidates(
    files: EstateFiles,
    at_least: Annotated[
        float, typer.Option(min=0, max=1, metavar="CONFIDENCE", help="Minimum confidence.")
    ] = MIN_CONFIDENCE,
    as_json: AsJson = False,
) -> None:
    """List candidate datasets: files that jobs seem to use.

    The confidence ranges from 0 to 1. Listing a candidate does not make it a dataset.
    """
    from headrace.estates.dataset_candidates import candidates as candidates_of
    from headrace.terminal.job_cells import evidence_in_words

    found = candidates_of(read_and_warn(files))
    kept = [each for each in found if each.confidence >= at_least]
    if as_json:
        emit({"candidates": [each.facts() for each in kept]})
        return
    if kept:
        rows = [
            (
                each.pattern,
                f"{each.confidence:.2f}",
                each.writers,
                each.readers,
                evidence_in_words(each.evidence),
            )
            for each in kept[:MAX_ROWS]
        ]
        show(table(["files", "#confidence", "written by", "read by", "evidence"], rows))
        if len(kept) > MAX_ROWS:
            typer.echo(f"The {MAX_ROWS} most confident of {len(kept):,}; --json has all.")
    hidden = len(found) - len(kept)
    if hidden:
        typer.echo(f"{hidden:,} below confidence {at_least:g} omitted; --at-least 0 shows them.")
    elif not found:
        typer.echo("No job in these files shows which files it uses.")


@app.command(
    epilog=examples("headrace legacy diff monday.jil tuesday.jil", "headrace legacy diff old/ new/ --json")
)
def diff(
    before: Annotated[
        Path, typer.Argument(metavar="OLD", exists=True, help="The earlier file or directory.")
    ],
    after: Annotated[Path, typer.Argument(metavar="NEW", exists=True, help="The later file or directory.")],
    as_json: AsJson = False,
) -> None:
    """Compare two states of an estate: added, changed, removed.

    Statements that moved or are only formatted differently are not changes.
    """
    from headrace.autosys import compare

    found = compare(read_and_warn([before]), read_and_warn([after]))
    if as_json:
        emit(found)
        return
    typer.echo(
        f"{len(found.added):,} added, {len(found.changed):,} changed, {len(found.removed):,} removed."
        if found
        else "Nothing differs."
    )
    changes = [
        (name, change.attribute, _without(change.before, change.after), _without(change.after, change.before))
        for name, changes in found.changed.items()
        for change in changes
    ]
    for title, names in (("added", found.added), ("removed", found.removed)):
        if names:
            show(table([title], [[name] for name in names]))
    if changes:
        show(table(["changed", "attribute", "from", "to"], changes))


def _is_like(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern.replace("%", "*").replace("[", "[[]"))


def _without(values: Sequence[str], others: Sequence[str]) -> str | None:
    """Return the values that the other side lacks, or all values if only the order differs."""
    own = [value for value in values if value not in others] or values
    return "\n".join(own) or None
