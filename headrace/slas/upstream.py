"""Find late inputs that have no SLA, from when they usually arrive."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from psycopg import Cursor

from headrace.slas.graph import Graph
from headrace.slas.sql import statement

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ArrivalTimes:
    """The last five arrivals, newest first: publishes, or ends of successful runs.

    began: the start of these runs; None for a dataset.
    """

    at: Sequence[datetime] = ()
    began: Sequence[datetime] | None = None

    def waits_for(self, source: ArrivalTimes) -> bool:
        """Return True if the latest arrival here used the latest arrival of the source, as it usually does.

        A producing run ends after its dataset is published, so it counts from its start.
        """
        arrived = source.began if source.began is not None and self.began is None else source.at
        if not arrived:
            return not self.at  # nothing is known of either
        if not self.at or arrived[0] > self.at[0]:
            return False
        turns = [(before, at) for at, before in pairwise(self.at) if at >= arrived[-1]]
        fresh = sum(any(before < each <= at for each in arrived) for before, at in turns)
        return 2 * fresh >= len(turns)


def load(cursor: Cursor[Any], graph: Graph, nodes: Collection[int], now: datetime) -> dict[int, ArrivalTimes]:
    """Load the last arrivals of datasets and processes."""
    ids = [graph.ids[node] for node in nodes]
    rows = statement("last_arrivals").execute(cursor, {"ids": ids, "now": now}) if ids else ()
    return {graph.number[row["subject_id"]]: ArrivalTimes(row["at"], row["began"]) for row in rows}


def awaited(graph: Graph, arrived: Mapping[int, ArrivalTimes], waiting: Collection[int]) -> dict[int, int]:
    """Return, for each waiting node, the farthest upstream node that has not arrived.

    The node itself if all its inputs have arrived. Of several, the one that has been missing the longest. For a process
    with a single output, the output is returned.
    """
    within = {*waiting, *graph.reached(waiting, up=True)} & arrived.keys()
    arrived = {node: _as_known(graph, arrived, node) for node in within}
    found: dict[int, int] = {}
    for node in graph.order:
        if node not in within:
            continue
        mine = arrived[node]
        heads = set()
        for each in graph.before[node]:
            if each in found and mine.waits_for(arrived[each]):
                is_maker = found[each] == each and arrived[each].began is not None and mine.began is None
                heads.add(node if is_maker and len(graph.after[each]) == 1 else found[each])
        if len(heads) > 1:
            heads.discard(node)
        found[node] = min(heads, key=lambda head: (max(arrived[head].at, default=_NEVER), head), default=node)
    return {node: found[node] for node in waiting if node in found}


def _as_known(graph: Graph, arrived: Mapping[int, ArrivalTimes], node: int) -> ArrivalTimes:
    """Use the arrivals of a process's outputs if its runs are not reported."""
    mine = arrived[node]
    if mine.at or mine.began is None:
        return mine
    made = [arrived[each].at for each in graph.after[node] if each in arrived and arrived[each].began is None]
    at = max(made, key=len, default=())
    return ArrivalTimes(at, at)
