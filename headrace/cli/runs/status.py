"""Commands that explain: how everything stands, and why a run ended as it did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.common.arguments import AsJson, examples
from headrace.cli.common.output import ago, emit, facts, moment, show, size, span, table
from headrace.cli.sla.cells import promise_words, promises
from headrace.slas.status import OUT_OF_ORDER

if TYPE_CHECKING:
    from rich.table import Table

    from headrace.catalog.queries.rows import DatasetStatus, RunInput, RunReport
    from headrace.execution.problems import DeclarationError
    from headrace.slas.queries import SlaStanding

app = typer.Typer()
SHOWN = 5  # exact versions that a line names


@app.command(rich_help_panel="Datasets", epilog=examples("headrace status", "headrace status --json"))
def status(as_json: AsJson = False) -> None:
    """Say how everything stands.

    What is late or at risk by its SLA, as judged last, checks that failed, datasets that were never published, runs
    that go on or were lost, and declarations that cannot be used.
    """
    from headrace.alerts.heartbeat import standing
    from headrace.catalog import queries
    from headrace.catalog.runs import reap
    from headrace.cli.runs.commands import problem_facts
    from headrace.database.connection import connect
    from headrace.declarations.loading.project import check
    from headrace.project import project_root

    engine = connect()
    reap(engine)
    standings = queries.status(engine)
    promised = promises(engine)
    problems = check(project_root())
    if as_json:
        found = [
            {**queries.to_json(standing), "promises": queries.to_json(promised.get(standing.key, []))}
            for standing in standings
        ]
        emit({"datasets": found, "declarations": [problem_facts(problem) for problem in problems]})
        return
    if standings:
        show(_standings_table(standings, promised))
    now = datetime.now(UTC)
    remarks = [*_remarks(standings, promised), *standing(engine, now).problems(now), *_broken(problems)]
    typer.echo(
        "\n".join(remarks) if remarks else "All is well." if standings else "No dataset is registered."
    )


@app.command(rich_help_panel="Runs", epilog=examples("headrace why 3f9c21d0", "headrace why 3f9c21d0 --json"))
def why(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="The id of a run, or of a Dagster run, or how it begins (4 characters or more).",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Explain a run: what it read and wrote, its attempts, why it failed, and where its log is."""
    from headrace.catalog.runs import reap
    from headrace.database.connection import connect
    from headrace.retention.run_reports import why as explain

    engine = connect()
    reap(engine)  # a run whose process died would say that it goes on
    reports = explain(engine, run)
    if as_json:
        emit({"runs": reports})
        return
    for report in reports:
        _explain(report)


def _standings_table(
    standings: Sequence[DatasetStatus], promised: Mapping[str, Sequence[SlaStanding]]
) -> Table:
    """How datasets stand, one a row."""
    from rich.text import Text

    def row(standing: DatasetStatus) -> tuple[object, ...]:
        state = standing.last_run_state
        return (
            standing.key,
            standing.newest_tag,
            standing.partition_count if standing.partitions else None,
            standing.row_count if standing.newest_tag else None,
            size(standing.byte_size) if standing.newest_tag else None,
            ago(standing.newest_published_at),
            promise_words(standing, promised.get(standing.key, ())),
            Text(
                _check_words(standing),
                style="red" if standing.failing else "yellow" if standing.warning else "",
            ),
            state,
        )

    header = [
        "dataset",
        "newest version",
        "#partitions",
        "#rows",
        "#size",
        "published",
        "promised",
        "checks",
        "last run",
    ]
    return table(header, [row(standing) for standing in standings])


def _check_words(standing: DatasetStatus) -> str:
    parts = [
        *([f"failed: {', '.join(standing.failing)}"] if standing.failing else []),
        *([f"warning: {', '.join(standing.warning)}"] if standing.warning else []),
    ]
    return "; ".join(parts) or ("ok" if standing.newest_tag else "-")


def _remarks(
    standings: Sequence[DatasetStatus], promised: Mapping[str, Sequence[SlaStanding]]
) -> Iterator[str]:
    for standing in standings:
        kept = promised.get(standing.key, ())
        if kept and kept[0].state in OUT_OF_ORDER:
            yield f"{standing.key} is {promise_words(standing, kept)}."
        if standing.failing:
            yield f"{standing.key}: version {standing.latest_tag} is blocked, {standing.latest_reason}."
        if standing.last_run_state in {"FAILED", "LOST"}:
            yield f"{standing.key}: its last run {standing.last_run_state.lower()}; headrace why {standing.last_run_id}"
        if standing.last_run_state == "RUNNING":
            started = moment(standing.last_run_at)
            yield f"{standing.key}: a run goes on since {started}; headrace why {standing.last_run_id}"
        if standing.newest_tag is None:
            yield f"{standing.key} was never published."


def _broken(problems: Sequence[DeclarationError]) -> Iterator[str]:
    from headrace.execution.problems import relative_to
    from headrace.project import project_root

    with relative_to(project_root()):
        for problem in problems:
            yield f"broken declaration: {problem}"


def _explain(report: RunReport) -> None:
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
                ("historical", "loaded later; it started and alarmed nothing" if report.historical else None),
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
    """Of runs elsewhere with what they say of them: how they ended, the exit code, the machine."""
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
    if len(keys) <= SHOWN:
        return ", ".join(keys) or None
    return f"{len(keys):,}, {keys[0]} to {keys[-1]}"


def _inputs(inputs: Sequence[RunInput]) -> Iterator[tuple[object, ...]]:
    grouped: dict[tuple[str, str | None], list[RunInput]] = {}
    for item in inputs:
        grouped.setdefault((item.version.dataset, item.reason), []).append(item)
    for (dataset, reason), items in grouped.items():
        chosen = {"PUBLISHED": "published", "PINNED": "pinned", "AS_OF": "as of a time"}.get(str(reason))
        if len(items) > SHOWN:
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
