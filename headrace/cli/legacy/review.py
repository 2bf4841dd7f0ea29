"""`headrace legacy review`, `confirm` and `reject`: decide about candidate datasets."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.legacy.commands import MAX_ROWS
from headrace.cli.legacy.scan import Instance
from headrace.estates.confidence import MIN_CONFIDENCE
from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit, show, table

if TYPE_CHECKING:
    from headrace.estates.candidates import CandidateRow

app = typer.Typer()
MAX_EVIDENCE = 3  # pieces of evidence
Pattern = Annotated[str, typer.Argument(metavar="PATTERN", help="The file pattern, as `review` shows it.")]


@app.command(
    epilog=examples(
        "headrace legacy review",
        "headrace legacy review --export review.yaml",
        "headrace legacy review --apply review.yaml",
    )
)
def review(
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Export candidates to a file for editing.")
    ] = None,
    apply: Annotated[
        Path | None,
        typer.Option(metavar="FILE", exists=True, dir_okay=False, help="Apply the decisions in this file."),
    ] = None,
    at_least: Annotated[
        float, typer.Option(min=0, max=1, metavar="CONFIDENCE", help="Minimum confidence.")
    ] = MIN_CONFIDENCE,
    every: Annotated[bool, typer.Option("--all", help="Include candidates already decided.")] = False,
    as_json: AsJson = False,
) -> None:
    """List candidate datasets; export them, or apply decisions."""
    from headrace.database.connection import connect
    from headrace.estates.candidates import Status, candidates
    from headrace.estates.review import by_confidence, confidence, exported

    if apply is not None:
        _apply(apply, as_json)
        return
    rows = [
        row
        for row in by_confidence(candidates(connect(), None if every else Status.PENDING))
        if confidence(row) >= at_least or row.status is not Status.PENDING
    ]
    if export is not None:
        export.write_text(exported(rows), encoding="utf-8")
        typer.echo(
            f"{len(rows):,} candidates in {export}; edit it, then `headrace legacy review --apply {export}`."
        )
    elif as_json:
        emit({"candidates": [{"confidence": confidence(row), **row.facts()} for row in rows]})
    elif rows:
        header = ["files", "#confidence", "status", "written by", "read by", "evidence"]
        show(
            table(header, [(row.pattern, f"{confidence(row):.2f}", *_cells(row)) for row in rows[:MAX_ROWS]])
        )
        if len(rows) > MAX_ROWS:
            typer.echo(f"The {MAX_ROWS} most confident of {len(rows):,}; --json has all.")
    else:
        typer.echo("No open candidates; `headrace legacy scan` finds them.")


@app.command(
    epilog=examples(
        "headrace legacy confirm '/data/in/ledger_{YYYYMMDD}.csv' --as finance/ledger --owner team:finance"
    )
)
def confirm(
    pattern: Pattern,
    dataset: Annotated[str, typer.Option("--as", metavar="DATASET", help="The dataset's key, domain/name.")],
    owner: Annotated[list[str] | None, typer.Option(metavar="OWNER", help="The owner.")] = None,
    format: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="The format. [default: from the pattern's extension]")
    ] = None,
    written_by: Annotated[
        list[str] | None,
        typer.Option(metavar="JOB", help="A job that writes it, if the evidence does not show it."),
    ] = None,
    read_by: Annotated[
        list[str] | None,
        typer.Option(metavar="JOB", help="A job that reads it, if the evidence does not show it."),
    ] = None,
    instance: Instance = "",
) -> None:
    """Confirm a candidate as a dataset, and link its jobs."""
    from pydantic import ValidationError

    from headrace.database.connection import connect
    from headrace.estates.candidates import Decision, Status, decide
    from headrace.estates.review import Entry, format_of

    try:
        Entry(pattern=pattern, decision="confirm", dataset=dataset)
    except ValidationError as error:
        raise CommandError(f"{dataset!r} is not a valid dataset key; use domain/name") from error
    decision = Decision(
        pattern,
        Status.CONFIRMED,
        instance,
        dataset,
        format or format_of(pattern),
        owners=tuple(owner or ()),
        written_by=tuple(written_by or ()),
        read_by=tuple(read_by or ()),
    )
    decide(connect(), decision, getpass.getuser())
    typer.echo(f"{pattern} is confirmed as {dataset}.")


@app.command(epilog=examples("headrace legacy reject /data/tmp/work.dat"))
def reject(pattern: Pattern, instance: Instance = "") -> None:
    """Reject a candidate; later scans do not propose it again."""
    from headrace.database.connection import connect
    from headrace.estates.candidates import Decision, Status, decide

    decide(connect(), Decision(pattern, Status.REJECTED, instance), getpass.getuser())
    typer.echo(f"{pattern} is rejected.")


def _apply(file: Path, as_json: bool) -> None:
    from headrace.database.connection import connect
    from headrace.estates.candidates import decide_each
    from headrace.estates.entries import lost
    from headrace.estates.review import read_review

    decisions, errors = read_review(file.read_text(encoding="utf-8"), str(file))
    changed, refused = decide_each(connect(), decisions, getpass.getuser())
    findings = [
        *errors,
        *(lost("refused", str(why), str(file), each.line, each.pattern) for each, why in refused),
    ]
    if as_json:
        emit({"decided": changed, "errors": findings})
    else:
        for finding in findings:
            typer.echo(str(finding), err=True)
        typer.echo(f"{changed:,} of {len(decisions):,} decisions were new.")
    if findings:
        raise typer.Exit(1)


def _cells(row: CandidateRow) -> tuple[object, ...]:
    evidence = [
        f"{each.name}, {each.attribute}: {each.excerpt}" + (f" ({each.place})" if each.place else "")
        for each in row.evidence[:MAX_EVIDENCE]
    ]
    if len(row.evidence) > MAX_EVIDENCE:
        evidence.append(f"and {len(row.evidence) - MAX_EVIDENCE:,} more")
    status = f"{row.status.lower()} as {row.dataset}" if row.dataset else row.status.lower()
    return status, row.processes("writes"), row.processes("reads"), "\n".join(evidence)
