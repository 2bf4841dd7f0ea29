"""Forecast pending deadlines: read histories from the catalog, store predictions with the objectives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import available_timezones

import numpy as np
from psycopg import Cursor

from headrace.context import current_context
from headrace.database.jsonb import jsonb
from headrace.slas import graph
from headrace.slas.forecasting.history import DAY, ArrivalHistory, Zone
from headrace.slas.forecasting.prediction import Forecast, Prediction, PresentState
from headrace.slas.graph import Graph
from headrace.slas.sql import statement

FORECAST_HORIZON = timedelta(hours=12)  # later deadlines are not forecast
FORECAST_INTERVAL = timedelta(minutes=1)
_BATCH_SIZE = 100  # deadlines per tick, the oldest forecasts first: a node takes about a millisecond
_MAX_RELEARNED = 2000  # histories refreshed per tick
_RELEARN = timedelta(days=1)


def forecast_deadlines(cursor: Cursor[Any], now: datetime) -> int:
    """Forecast the deadlines of the next hours, and store the results; returns their number.

    Each is forecast at most once a minute; if there are many, in turns.

    Objectives whose probability of a miss crosses a threshold become due in this tick.
    """
    parameters = {
        "organisation": current_context().organisation_id,
        "now": now,
        "until": now + FORECAST_HORIZON,
        "before": now - FORECAST_INTERVAL,
        "limit": _BATCH_SIZE,
    }
    targets = statement("forecasts/due").execute(cursor, parameters).fetchall()
    if not targets:
        return 0
    whole = graph.load(cursor)
    wanted = {
        row["subject_id"]: whole.number[row["subject_id"]]
        for row in targets
        if row["subject_id"] in whole.number
    }
    alone = {row["subject_id"] for row in targets} - wanted.keys()
    if alone:
        whole = graph.graph_of([*_edges(whole), *((each, each) for each in alone)])
        wanted = {row["subject_id"]: whole.number[row["subject_id"]] for row in targets}
    nodes = set(wanted.values()) | set(whole.reached(wanted.values(), up=True))
    learn(cursor, [whole.ids[node] for node in nodes], now)
    prediction = predict(cursor, whole, nodes, _zone(row["timezone"] for row in targets), now)
    forecasts = prediction.of(list(wanted.values()))
    keys = _keys(cursor, {whole.ids[each.waits_for] for each in forecasts.values()})
    rows = [
        _row(row, forecast, whole, keys)
        for row in targets
        if (forecast := forecasts.get(wanted[row["subject_id"]])) is not None
    ]
    found = {"objectives": jsonb(rows), "looked": [row["objective_id"] for row in targets], "now": now}
    statement("forecasts/write").execute(cursor, found)
    return len(rows)


def learn(cursor: Cursor[Any], ids: Sequence[UUID], now: datetime) -> None:
    """Refresh the histories of some datasets and processes, the least recently read first; not all at once."""
    parameters = {
        "organisation": current_context().organisation_id,
        "ids": list(ids),
        "now": now,
        "before": now - _RELEARN,
        "limit": _MAX_RELEARNED,
    }
    rows = statement("forecasts/learn").execute(cursor, parameters).fetchall()
    arrival_histories = [
        (row["subject_id"], current_context().organisation_id, now, _history(row)) for row in rows
    ]
    cursor.executemany(
        "INSERT INTO catalog.sla_arrival_history (subject_id, organisation_id, learned_at, history) "
        "VALUES (%s, %s, %s, %s) "
        "ON CONFLICT (subject_id) DO UPDATE SET learned_at = excluded.learned_at, history = excluded.history",
        arrival_histories,
    )


def predict(cursor: Cursor[Any], whole: Graph, nodes: Iterable[int], zone: str, now: datetime) -> Prediction:
    """Predict some nodes, from the learned histories and the arrivals since then."""
    ids = [whole.ids[node] for node in nodes]
    rows = statement("forecasts/arrival_histories").execute(cursor, {"ids": ids, "now": now}).fetchall()
    arrival_histories: dict[int, ArrivalHistory] = {}
    running: dict[int, float] = {}
    failed: set[int] = set()
    first = now.timestamp()
    for row in rows:
        node = whole.number[row["subject_id"]]
        arrived, took, counts = np.frombuffer(row["history"]).reshape(3, -1)
        if row["last"] is not None and (not len(arrived) or row["last"] > arrived[-1]):
            arrived, took = np.append(arrived, row["last"]), np.append(took, np.nan)
            counts = np.append(counts, np.nan if row["last_rows"] is None else row["last_rows"])
        arrival_histories[node] = ArrivalHistory(arrived, took, counts)
        first = min(first, float(arrived[0])) if len(arrived) else first
        if row["running"] is not None:
            running[node] = row["running"]
        elif row["failed"]:
            failed.add(node)
    clock = Zone(zone, max(first, now.timestamp() - 400 * DAY), now.timestamp())
    return Prediction(
        whole, arrival_histories, clock, PresentState(now.timestamp(), running, frozenset(failed))
    )


def _history(row: Mapping[str, Any]) -> bytes:
    """Read a history from the catalog: arrivals, run times, and row counts of versions."""
    return np.array(
        [row["arrived"] or [], row["took"] or [], row["counts"] or []], dtype=np.float64
    ).tobytes()


def _row(
    target: Mapping[str, Any], forecast: Forecast, whole: Graph, keys: Mapping[UUID, str]
) -> dict[str, Any]:
    head = whole.ids[forecast.waits_for]
    return {
        "objective_id": target["objective_id"],
        "miss_probability": forecast.chance_after(target["deadline"].timestamp()),
        "expected_at": datetime.fromtimestamp(forecast.expected, UTC),
        "expected_from": datetime.fromtimestamp(forecast.low, UTC),
        "expected_to": datetime.fromtimestamp(forecast.high, UTC),
        "waits_for": keys.get(head),
        "waits_for_id": head,
        "waits_minutes": round(forecast.by_minutes, 1),
    }


def _zone(names: Iterable[str | None]) -> str:
    """Return the most common time zone of deadlines, used for typical times of all nodes; UTC if none is known."""
    counted = Counter(name or "UTC" for name in names)
    known = [name for name in counted if name in available_timezones()]
    return min(known, key=lambda name: (-counted[name], name), default="UTC")


def _edges(whole: Graph) -> list[tuple[UUID, UUID]]:
    return [(whole.ids[one], whole.ids[other]) for one in range(len(whole.ids)) for other in whole.after[one]]


def _keys(cursor: Cursor[Any], ids: Iterable[UUID]) -> dict[UUID, str]:
    rows = statement("subjects").execute(cursor, {"ids": list(ids)})
    return {row["subject_id"]: row["subject"] for row in rows}
