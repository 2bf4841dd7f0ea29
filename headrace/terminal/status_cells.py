"""The table of `headrace status` and the remarks below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.slas.status import OUT_OF_ORDER
from headrace.terminal.output import ago, moment, table
from headrace.terminal.sla_cells import sla_status_text

if TYPE_CHECKING:
    from rich.table import Table

    from headrace.publishing.unreported import UnreportedPage
    from headrace.queries.projects import ProjectProblem
    from headrace.queries.rows import DatasetStatus
    from headrace.registration.retirement import Retirement
    from headrace.slas.queries import SlaObjectiveStatus

MAX_RETIRED_NAMED = 5
MAX_UNREPORTED = 5  # versions that Dagster or a system to notify does not know


def status_table(
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


def remarks(
    statuses: Sequence[DatasetStatus], objectives: Mapping[str, Sequence[SlaObjectiveStatus]]
) -> Iterator[str]:
    """Yield a sentence for each dataset that needs attention."""
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


def unreported_remarks(page: UnreportedPage) -> Iterator[str]:
    """Name the published versions that Dagster or a system to notify does not know yet."""
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


def invalid_remarks(problems: Sequence[ProjectProblem]) -> Iterator[str]:
    """Name the declarations that were invalid when their project was last loaded."""
    for problem in problems:
        field = f"{problem.field}: " if problem.field else ""
        hint = f"\n  {problem.hint}" if problem.hint else ""
        yield (
            f"{problem.file}:{problem.line}: {field}{problem.message} (project {problem.project}, loaded"
            f" {ago(problem.loaded_at)}){hint}"
        )


def retired_remarks(retirements: Sequence[Retirement], *, in_full: bool) -> Iterator[str]:
    """Name the retired datasets; in full with time, person and reason."""
    if in_full:
        for each in retirements:
            yield f"{each.key} was retired {ago(each.at)} by {each.by}: {each.reason or 'no reason given'}."
    elif retirements:
        named = ", ".join(each.key for each in retirements[:MAX_RETIRED_NAMED])
        more = len(retirements) - MAX_RETIRED_NAMED
        yield f"Retired: {named}" + (f" and {more:,} more" if more > 0 else "") + " (--retired shows them)."
