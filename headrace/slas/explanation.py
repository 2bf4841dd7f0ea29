"""The critical path of a dataset: what it waits for, and the forecast of each step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine

from headrace.access.sensitivity import Public, SubjectKey
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.slas import graph
from headrace.slas.forecasting.forecasts import learn, predict
from headrace.slas.sql import statement


@dataclass(frozen=True, slots=True)
class Step:
    """A dataset or process on the critical path. usually: its usual arrival; None if too little is known.

    expected, earliest, latest: the median and the 80% interval. late_by: minutes after its usual time, negative if
    before. times_usual_rows: its input rows relative to the usual count, if its run time depends on them.
    """

    subject_type: Public[str]
    key: SubjectKey
    usually: datetime | None
    expected: datetime
    earliest: datetime
    latest: datetime
    late_by: float | None
    times_usual_rows: float | None


def critical_path(engine: Engine, key: str, zone: str, now: datetime) -> list[Step]:
    """Return the path from the bottleneck to the dataset or process; empty if it has arrived, or too little is known.

    zone: the time zone of typical times.
    """
    with transaction(engine) as cursor:
        whole = graph.load(cursor)
        named = (
            statement("queries/named")
            .execute(cursor, {"organisation": current_context().organisation_id, "key": key})
            .fetchone()
        )
        if named is None:
            return []
        if named["subject_id"] not in whole.number:
            whole = graph.graph_of([(named["subject_id"], named["subject_id"])])
        target = whole.number[named["subject_id"]]
        nodes = {target, *whole.reached([target], up=True)}
        learn(cursor, [whole.ids[node] for node in nodes], now)
        prediction = predict(cursor, whole, nodes, zone, now)
        path = [node for node in prediction.path(target) if node in nodes]
        forecasts = prediction.of(path) if path else {}
        ids = [whole.ids[node] for node in forecasts]
        names = {row["subject_id"]: row for row in statement("subjects").execute(cursor, {"ids": ids})}
    steps = []
    for node in path:
        forecast, row = forecasts.get(node), names.get(whole.ids[node])
        if forecast is None or row is None:
            continue
        due, expected = prediction.due(node), _moment(forecast.expected)
        usually = None if due is None else _moment(due)
        steps.append(
            Step(
                row["subject_type"],
                row["subject"],
                usually,
                expected,
                _moment(forecast.low),
                _moment(forecast.high),
                None if usually is None else (expected - usually).total_seconds() / 60,
                prediction.times_usual_rows(node),
            )
        )
    return steps


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(round(seconds), UTC)
