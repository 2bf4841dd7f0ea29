"""A run as `headrace why` explains it: facts, attempts, inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from headrace.terminal.output import facts, show, span, table

if TYPE_CHECKING:
    from rich.table import Table

    from headrace.queries.rows import RunInput, RunReport

MAX_VERSIONS_SHOWN = 5  # exact versions per line


def show_run(report: RunReport) -> None:
    """Show a run with its attempts, the versions it read and those it wrote."""
    from headrace.api.links import links_to

    took = span(report.ended_at - report.started_at) if report.ended_at else "not ended"
    show(
        facts(
            [
                ("run", report.run_id),
                ("of", f"{report.process_key} ({report.technology})"),
                ("state", report.state),
                ("partitions", _listed(report.partitions)),
                ("started", report.started_at),
                ("took", took),
                ("Dagster run", report.root_dagster_run_id),
                ("run number there", report.external_run),
                ("in the run of its box", report.parent_run_id),
                (
                    "historical",
                    "loaded as history: triggered no runs and no alerts" if report.historical else None,
                ),
                ("page", links_to("runs", str(report.run_id)).page),
            ]
        )
    )
    show(_attempts(report))
    for attempt in report.attempts:
        if attempt.log_location:
            typer.echo(f"log of attempt {attempt.number}: {attempt.log_location}")
    if report.inputs:
        show(table(["input", "version", "chosen"], _inputs(report.inputs)))
    if report.outputs:
        header = ["output", "partition", "version", "outcome", "#rows", "checks", "reason"]
        show(table(header, _outputs(report)))


def _attempts(report: RunReport) -> Table:
    """List the attempts of external runs, with status, exit code and machine."""
    header = ["#attempt", "state", "started", "ended", "kind", "reason"]
    if report.technology == "SPARK":
        return table(
            header,
            [
                (each.number, each.state, each.started_at, each.ended_at, each.failure_kind, each.reason)
                for each in report.attempts
            ],
        )
    return table(
        ["attempt", *header[1:4], "ending", "#exit code", "machine", "reason"],
        [
            (
                each.number or "by hand",
                each.state,
                each.started_at,
                each.ended_at,
                each.ending,
                each.exit_code,
                each.host,
                each.reason,
            )
            for each in report.attempts
        ],
    )


def _listed(keys: Sequence[str]) -> str | None:
    if len(keys) <= MAX_VERSIONS_SHOWN:
        return ", ".join(keys) or None
    return f"{len(keys):,}, {keys[0]} to {keys[-1]}"


def _inputs(inputs: Sequence[RunInput]) -> Iterator[tuple[object, ...]]:
    grouped: dict[tuple[str, str | None], list[RunInput]] = {}
    for item in inputs:
        grouped.setdefault((item.version.dataset, item.reason), []).append(item)
    for (dataset, reason), items in grouped.items():
        chosen = {"PUBLISHED": "published", "PINNED": "pinned", "AS_OF": "as of a time"}.get(str(reason))
        if len(items) > MAX_VERSIONS_SHOWN:
            partitions = sorted(str(item.version.partition) for item in items)
            yield (
                dataset,
                f"{len(items):,} partitions, {partitions[0]} to {partitions[-1]} (--json lists them)",
                chosen,
            )
            continue
        for item in items:
            place = f"[{item.version.partition}] " if item.version.partition is not None else ""
            yield dataset, place + item.version.tag, chosen


def _outputs(report: RunReport) -> Iterator[tuple[object, ...]]:
    for output in report.outputs:
        checks = ", ".join(
            f"{check.name} {check.status.lower()}"
            + (f" ({check.failed_rows:,} rows)" if check.failed_rows else "")
            for check in output.checks
            if check.status != "PASS"
        )
        passed = sum(check.status == "PASS" for check in output.checks)
        ref = output.version
        words = "; ".join([*([f"{passed} passed"] if passed else []), *([checks] if checks else [])])
        yield (
            ref.dataset,
            ref.partition,
            ref.tag,
            output.outcome,
            output.row_count,
            words or None,
            output.reason,
        )
