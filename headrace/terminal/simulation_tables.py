"""A simulated night as tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from headrace.nouns import counted
from headrace.simulation.comparison import Difference, Span
from headrace.simulation.nights import named_runs
from headrace.simulation.outcome import moment
from headrace.terminal.output import facts, span, table, text
from headrace.terminal.output import moment as shown

if TYPE_CHECKING:
    from rich.table import Table

    from headrace.simulation.critical_path import Schedule
    from headrace.simulation.deadlines import Result
    from headrace.simulation.nights import Night
    from headrace.simulation.replay import Compared

MAX_ROWS, MAX_NAMES = 200, 10


def timeline_table(night: Night, planned: Schedule, jobs: frozenset[str]) -> Table:
    """Return the runs of the period by start, of these jobs or of all. `*` marks the critical path."""
    critical = set(planned.critical)
    rows = []
    for key, run in named_runs(night.outcome):
        if not jobs or run.name in jobs:
            slack = planned.timings[key].slack if key in planned.timings else None
            why = night.outcome.why(run)
            rows.append(
                (
                    moment(run.started_at),
                    moment(run.ended_at),
                    f"{'*' if key in critical else ' '}{run.name}",
                    run.status if run.is_exact or run.ended_at is None else f"{run.status}~",
                    _signed(slack),
                    why[-1] if why else "-",
                )
            )
    return table(("start", "end", "job", "status", "#slack", "why"), _limited(rows))


def deadline_table(results: Iterable[Result]) -> Table:
    """Return the deadlines that are missed, or may be, by time."""
    return table(
        ("due", "job", "deadline", "reached", "#late", "#probability of a miss"),
        [
            (
                moment(each.deadline.due),
                each.deadline.name,
                each.deadline.source,
                moment(each.at),
                span(timedelta(seconds=each.at - each.deadline.due))
                if each.is_missed and each.at is not None
                else None,
                f"{each.probability:.0%}" if each.probability is not None else None,
            )
            for each in results
            if each.is_missed or each.probability
        ],
    )


def difference_table(found: Sequence[Difference], before: str, after: str) -> Table:
    """Return the runs that differ. before, after: the names of the two sides."""
    return table(
        ("job", f"{before}: start", "end", f"{after}: start", "end", "#later", "status"),
        _limited(
            [
                (
                    each.name,
                    *_span(each.before),
                    *_span(each.after),
                    _signed(None if each.later is None else timedelta(seconds=each.later)),
                    each.after.status if each.after is not None else "does not run",
                )
                for each in found
            ]
        ),
    )


def summary(night: Night, planned: Schedule) -> Table:
    """Return the counts of a night, its critical path, and what hinders jobs."""
    outcome = night.outcome
    runs = list(outcome.of_period())
    missed = sum(each.is_missed for each in night.results)
    return facts(
        [
            ("period", f"{shown(moment(outcome.since))} to {shown(moment(outcome.until))}"),
            ("runs", counted(len(runs), "run")),
            ("critical path", " > ".join(planned.critical)),
            ("deadlines", f"{counted(len(night.results), 'deadline')}, {missed} missed"),
            ("no start known", _names(outcome.unscheduled.values())),
            ("wait for each other", "; ".join(", ".join(each) for each in night.deadlocks)),
            ("do not end", "\n".join(_open_boxes(night))),
            ("stopped", _names(f"{name} after {count} runs" for name, count in outcome.stopped.items())),
            ("run time unknown", f"{_names(night.unknown)} (~: not before)" if night.unknown else None),
        ]
    )


def why_table(night: Night, name: str, reasons: Sequence[str]) -> Table:
    """Return each run of a job with all reasons; without one, why it does not run."""
    rows = []
    for _, run in named_runs(night.outcome):
        if run.name == name:
            when = f"{shown(moment(run.started_at))} to {shown(moment(run.ended_at))}"
            rows.append((when, "\n".join(night.outcome.why(run))))
    return facts(rows or [("does not run", "\n".join(reasons))])


def night_facts(night: Night, planned: Schedule, jobs: frozenset[str]) -> dict[str, object]:
    """Return a night as JSON."""
    outcome = night.outcome
    return {
        "since": moment(outcome.since),
        "until": moment(outcome.until),
        "target": planned.target,
        "critical_path": planned.critical,
        "runs": [
            {
                "run": key,
                "job": run.name,
                "start": moment(run.started_at),
                "end": moment(run.ended_at),
                "status": run.status,
                "is_exact": run.is_exact,
                "slack_seconds": planned.timings[key].slack.total_seconds(),
                "why": outcome.why(run),
            }
            for key, run in named_runs(outcome)
            if not jobs or run.name in jobs
        ],
        "deadlines": [
            {
                "job": each.deadline.name,
                "deadline": each.deadline.source,
                "due": moment(each.deadline.due),
                "reached": moment(each.at),
                "is_missed": each.is_missed,
                "probability": each.probability,
            }
            for each in night.results
        ],
        "deadlocks": night.deadlocks,
        "open_boxes": {
            box: {"held_by": member, "why": why} for box, (member, why) in night.open_boxes.items()
        },
        "stopped": outcome.stopped,
        "no_start_known": outcome.unscheduled,
        "run_time_unknown": night.unknown,
    }


def difference_facts(found: Iterable[Difference]) -> list[dict[str, object]]:
    """Return differences as JSON."""
    return [
        {
            "job": each.name,
            "before": _span_facts(each.before),
            "after": _span_facts(each.after),
            "later_seconds": each.later,
        }
        for each in found
    ]


def comparison_tables(found: Compared) -> list[Table]:
    """Return how a plan and what happened differ, and the share of the runs that end within 5 % of each."""
    shares = [
        ("as planned within 5 %", None if found.planned is None else f"{found.planned:.0%} of runs"),
        ("with recorded run times", None if found.replayed is None else f"{found.replayed:.0%} of runs"),
    ]
    return [difference_table(found.differences, "planned", "actual"), facts(shares)]


def comparison_facts(found: Compared) -> dict[str, object]:
    """Return how a plan and what happened differ as JSON."""
    return {
        "actual": difference_facts(found.differences),
        "share_as_planned": found.planned,
        "share_with_recorded_run_times": found.replayed,
    }


def _open_boxes(night: Night) -> Iterator[str]:
    for box, (member, why) in list(night.open_boxes.items())[:MAX_NAMES]:
        yield f"{box}, as {member} waits: {why[0] if why else '-'}"
    if len(night.open_boxes) > MAX_NAMES:
        yield f"and {len(night.open_boxes) - MAX_NAMES:,} more"


def _limited(rows: Sequence[tuple[object, ...]]) -> Iterator[tuple[object, ...]]:
    yield from rows[:MAX_ROWS]
    if len(rows) > MAX_ROWS:
        rest = text(f"{len(rows) - MAX_ROWS:,} more; --json lists all, --job those of one job")
        yield (*(text("") for _ in rows[0][:-1]), rest)


def _names(found: Iterable[str]) -> str:
    names = sorted(set(found))
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _signed(length: timedelta | None) -> str | None:
    if length is None:
        return None
    return f"-{span(-length)}" if length < timedelta() else span(length)


def _span(one: Span | None) -> tuple[object, object]:
    return (None, None) if one is None else (moment(one.started_at), moment(one.ended_at))


def _span_facts(one: Span | None) -> dict[str, object] | None:
    if one is None:
        return None
    return {"start": moment(one.started_at), "end": moment(one.ended_at), "status": one.status}
