"""`headrace status` and `why`: overall status, and the explanation of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.nouns import counted
from headrace.slas.status import OUT_OF_ORDER
from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.output import ago, emit, facts, moment, show, span, table
from headrace.terminal.sla_cells import sla_status_text

if TYPE_CHECKING:
    from rich.table import Table

    from headrace.publishing.unreported import UnreportedPage
    from headrace.queries.projects import ProjectProblem
    from headrace.queries.rows import DatasetStatus, RunInput, RunReport
    from headrace.registration.retirement import Retirement
    from headrace.slas.queries import SlaObjectiveStatus

app = typer.Typer()
MAX_VERSIONS_SHOWN = 5  # exact versions per line
MAX_RETIRED_NAMED = 5
MAX_UNREPORTED = 5  # versions that Dagster or a system to notify does not know
MAX_LISTED = 40  # datasets; of a larger catalog only those that need attention are listed


@app.command(epilog=examples("headrace status", "headrace status --json"))
def status(
    every: Annotated[
        bool, typer.Option("--all", help=f"List every dataset, also in a catalog of more than {MAX_LISTED}.")
    ] = False,
    retired: Annotated[
        bool, typer.Option("--retired", help="Show the retired datasets, which are omitted otherwise.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the status of datasets and runs.

    Late and at-risk SLAs, failed checks, unpublished datasets, running and lost runs, and declarations that were
    invalid when their project was last loaded. Of a large catalog only datasets that need attention are listed.
    """
    from headrace import queries
    from headrace.alerts.heartbeat import alerting_status
    from headrace.database.connection import connect
    from headrace.publishing.unreported import unreported_versions
    from headrace.queries.projects import project_problems
    from headrace.registration.retirement import retirements
    from headrace.slas.queries import attention_counts, needs_attention, objectives_by_dataset

    engine = connect()
    unreported = unreported_versions(engine)  # marks runs whose process died as LOST
    statuses = queries.status(engine, retired=retired)
    gone = retirements(engine)
    objectives = objectives_by_dataset(engine)
    problems = project_problems(engine)
    if as_json:
        rows = [
            {**queries.to_json(dataset), "objectives": queries.to_json(objectives.get(dataset.key, []))}
            for dataset in statuses
        ]
        emit(
            {
                "datasets": rows,
                "unreported": {
                    "total": unreported.total,
                    "versions": [each.facts() for each in unreported.versions],
                },
                "declarations": queries.to_json(problems),
                "retired": queries.to_json(gone),
            }
        )
        return
    listed: Sequence[DatasetStatus] = statuses
    if statuses and not every and len(statuses) > MAX_LISTED:
        attention = [each for each in statuses if needs_attention(each, objectives.get(each.key, ()))]
        listed = attention[:MAX_LISTED]
        counts = attention_counts(statuses, objectives)
        found = ", ".join(f"{count:,} {words}" for words, count in counts.items() if count)
        order = f": {found}." if found else ", all in order."
        unlisted = len(attention) - len(listed)
        more = f" {unlisted:,} of them are not listed below; --all lists every dataset." if unlisted else ""
        typer.echo(f"{counted(len(statuses), 'dataset')}{order}{more}")
    if listed:
        show(_status_table(listed, objectives))
    now = datetime.now(UTC)
    remarks = [
        *_remarks(listed, objectives),
        *_unreported(unreported),
        *alerting_status(engine, now).problems(now),
        *_invalid(problems),
    ]
    typer.echo("\n".join(remarks) if remarks else "All is well." if statuses else "No dataset is registered.")
    for line in _retired(gone, in_full=retired):
        typer.echo(line)


@app.command(epilog=examples("headrace why 3f9c21d0", "headrace why 3f9c21d0 --json"))
def why(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="The id of a run or Dagster run, or its first 4 or more characters."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Explain a run: inputs, outputs, attempts, failure, log."""
    from headrace.database.connection import connect
    from headrace.publishing.runs import reap
    from headrace.retention.run_reports import why as explain

    engine = connect()
    reap(engine)  # a run whose process died would still be shown as running
    reports = explain(engine, run)
    if as_json:
        emit({"runs": reports})
        return
    for report in reports:
        _explain(report)


def _status_table(
    statuses: Sequence[DatasetStatus], objectives: Mapping[str, Sequence[SlaObjectiveStatus]]
) -> Table:
    """Build the table of datasets with their status, one per row."""
    from rich.text import Text

    def row(dataset: DatasetStatus) -> tuple[object, ...]:
        state = dataset.last_run_state
        return (
            dataset.key,
            dataset.newest_tag,
            dataset.partition_count if dataset.partitions else None,
            ago(dataset.newest_published_at),
            sla_status_text(dataset, objectives.get(dataset.key, ())),
            Text(
                _check_summary(dataset),
                style="red" if dataset.failing else "yellow" if dataset.warning else "",
            ),
            state,
        )

    header = ["dataset", "newest version", "#partitions", "published", "objectives", "checks", "last run"]
    return table(header, [row(dataset) for dataset in statuses])


def _check_summary(dataset: DatasetStatus) -> str:
    parts = [
        *([f"failed: {', '.join(dataset.failing)}"] if dataset.failing else []),
        *([f"warning: {', '.join(dataset.warning)}"] if dataset.warning else []),
    ]
    return "; ".join(parts) or ("ok" if dataset.newest_tag else "-")


def _remarks(
    statuses: Sequence[DatasetStatus], objectives: Mapping[str, Sequence[SlaObjectiveStatus]]
) -> Iterator[str]:
    for dataset in statuses:
        kept = objectives.get(dataset.key, ())
        if kept and kept[0].state in OUT_OF_ORDER:
            yield f"{dataset.key} is {sla_status_text(dataset, kept)}."
        if dataset.failing:
            yield f"{dataset.key}: version {dataset.latest_tag} is blocked, {dataset.latest_reason}."
        if dataset.last_run_state in {"FAILED", "LOST"}:
            yield f"{dataset.key}: its last run {dataset.last_run_state.lower()}; headrace why {dataset.last_run_id}"
        if dataset.last_run_state == "RUNNING":
            started = moment(dataset.last_run_at)
            yield f"{dataset.key}: a run has been active since {started}; headrace why {dataset.last_run_id}"
        if dataset.newest_tag is None:
            yield f"{dataset.key} has never been published."


def _unreported(page: UnreportedPage) -> Iterator[str]:
    for each in page.versions[:MAX_UNREPORTED]:
        version = each.version
        partition = f", partition {version.partition}," if version.partition else ""
        published = f"{version.dataset}{partition} is published as {version.tag}"
        if each.failure is None:
            yield (
                f"{published}, but its run ended before it was reported to Dagster and the systems to notify; Headrace"
                f" sends it while `headrace up` runs; headrace why {version.run_id}"
            )
        else:
            yield (
                f"{published}, but notifications failed: {each.failure}. Headrace tries again; `headrace legacy notify"
                f" {version.dataset}` sends them immediately"
            )
    if page.total > MAX_UNREPORTED:
        yield f"{page.total - MAX_UNREPORTED:,} more published versions are not fully reported; --json lists them."


def _invalid(problems: Sequence[ProjectProblem]) -> Iterator[str]:
    for problem in problems:
        field = f"{problem.field}: " if problem.field else ""
        hint = f"\n  {problem.hint}" if problem.hint else ""
        yield (
            f"{problem.file}:{problem.line}: {field}{problem.message} (project {problem.project}, loaded"
            f" {ago(problem.loaded_at)}){hint}"
        )


def _retired(retirements: Sequence[Retirement], *, in_full: bool) -> Iterator[str]:
    """Name the retired datasets; in full with time, person and reason."""
    if in_full:
        for each in retirements:
            yield f"{each.key} was retired {ago(each.at)} by {each.by}: {each.reason or 'no reason given'}."
    elif retirements:
        named = ", ".join(each.key for each in retirements[:MAX_RETIRED_NAMED])
        more = len(retirements) - MAX_RETIRED_NAMED
        yield f"Retired: {named}" + (f" and {more:,} more" if more > 0 else "") + " (--retired shows them)."


def _explain(report: RunReport) -> None:
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
