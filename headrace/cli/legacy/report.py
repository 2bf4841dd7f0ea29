"""Report on an Autosys estate: counts, effects of statements, and findings in sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from headrace.nouns import counted
from headrace.terminal.output import facts, show, table

if TYPE_CHECKING:
    from headrace.autosys import Estate, Finding
    from headrace.autosys.statement_application import Step

MAX_LINES_SHOWN = 20  # lines per section
SEVERITIES = ("ERROR", "WARNING", "INFO")


def print_report(estate: Estate, found: Sequence[Finding]) -> None:
    """Print the report; long sections are cut."""
    from rich.text import Text

    from headrace.autosys.findings import by_section

    show(facts(_counts(estate)))
    steps = [step for step in estate.steps if step.affected]
    if steps:
        rows = [
            (_statement(step), step.statement.name, _shortened(step.affected), _place(step))
            for step in steps[:MAX_LINES_SHOWN]
        ]
        typer.echo()
        show(table(["statement", "of", "affects", "at"], rows, title=_title("Changes by statements", steps)))
    for title, findings in by_section(found).items():
        typer.echo()
        show(Text(_title(title, findings), style="bold"))
        for finding in findings[:MAX_LINES_SHOWN]:
            typer.echo(str(finding))
    typer.echo()
    typer.echo(_summary(found))


def _counts(estate: Estate) -> Iterator[tuple[str, object]]:
    from headrace.autosys import census

    counts = census(estate)
    yield "jobs", _counted(counts.jobs)
    yield "boxes", f"{counts.boxes:,}" + (f", {counts.nested:,} within another" if counts.nested else "")
    yield "machines", f"{counts.machines:,} named by jobs"
    yield "owners", f"{counts.owners:,}"
    yield (
        "edges",
        f"{counts.edges:,}"
        + (f", {counts.elsewhere:,} to jobs of other schedulers" if counts.elsewhere else ""),
    )
    yield "calendars", f"{counts.calendars:,}" + (f", and {counts.cycles:,} cycles" if counts.cycles else "")
    yield "also declared", ", ".join(counted(number, kind) for kind, number in counts.others.items())


def _counted(by_type: Mapping[str, int]) -> str:
    types = ", ".join(f"{number:,} {name}" for name, number in by_type.items())
    return f"{sum(by_type.values()):,}" + (f": {types}" if types else "")


def _title(title: str, rows: Sequence[object]) -> str:
    return f"{title}: {len(rows):,}" + (
        f", the first {MAX_LINES_SHOWN} of them (--json has all)" if len(rows) > MAX_LINES_SHOWN else ""
    )


def _summary(found: Sequence[Finding]) -> str:
    counts = [
        (sum(finding.severity == severity for finding in found), severity.lower()) for severity in SEVERITIES
    ]
    return ", ".join(counted(number, word) for number, word in counts) + "."


def _statement(step: Step) -> str:
    return f"{step.statement.action}_{step.statement.kind}"


def _place(step: Step) -> str:
    return f"{step.statement.file}:{step.statement.line}"


def _shortened(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
