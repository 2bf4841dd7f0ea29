"""The critical path of a night and the slack of its runs, by the critical path method. Pure.

The forward pass gives each run that has not started the earliest start that its predecessors allow, the backward pass
the latest end that moves no deadline and not the end of the night; their difference is the total float (Kelley and
Walker, "Critical-Path Planning and Scheduling", Proceedings of the Eastern Joint Computer Conference, 1959).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import networkx as nx

MAX_LAG = timedelta(minutes=15)  # from the end of a run to the start of the one that it lets start


@dataclass(frozen=True, slots=True)
class Activity:
    """The run of a process, past, present or expected. took: its usual duration, if it has not ended.

    starts_at: not before then, for one that has not started. box: the process that it runs in. deadline: of its end.
    """

    key: str
    starts_at: datetime
    ends_at: datetime | None = None
    started: bool = True
    took: timedelta = timedelta()
    box: str | None = None
    deadline: datetime | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """When a run starts and ends, or is expected to. slack: how much later it could end without moving a deadline or
    the end of the night; negative if a deadline is missed."""

    starts_at: datetime
    ends_at: datetime
    slack: timedelta


@dataclass(frozen=True, slots=True)
class Schedule:
    """The timing of each run. target: the run whose end is explained; critical: the chain of runs that leads to it,
    in the order of their starts."""

    timings: Mapping[str, Timing]
    target: str | None
    critical: tuple[str, ...]


def schedule(
    activities: Iterable[Activity],
    dependencies: Iterable[tuple[str, str]],
    now: datetime,
    target: str | None = None,
) -> Schedule:
    """Schedule runs, of which each waits for its predecessors. A box ends with the last of its members.

    target: without one, the run with a deadline that has the least time until it, or else the run that ends last.
    """
    found = {each.key: each for each in activities}
    graph = _graph(found, dependencies)
    order = list(nx.topological_sort(graph))
    spans = _forward(found, graph, order, now)
    latest = _backward(found, graph, order, spans)
    timings = {key: Timing(*spans[key], latest[key] - spans[key][1]) for key in found}
    end = target if target in found else _target(found, timings)
    return Schedule(timings, end, _chain(end, found, graph, timings) if end else ())


def _graph(found: Mapping[str, Activity], dependencies: Iterable[tuple[str, str]]) -> nx.DiGraph[str]:
    """Return the graph of what waits for what. What waits for a box waits for its members, and the members wait for
    what the box waits for. A run that began before another had ended did not wait for that one; which of those
    that wait for each other is first is not known."""
    members: dict[str, list[str]] = {}
    for each in found.values():
        if each.box in found and each.box != each.key:
            members.setdefault(str(each.box), []).append(each.key)
    inside = sorted((member, box) for box in members for member in _leaves(box, members))
    pairs: list[tuple[str, str]] = []
    for source, target in sorted(set(dependencies)):
        if source in found and target in found:
            pairs += [(source, each) for each in [target, *_leaves(target, members)]]
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(found)
    graph.add_edges_from(pair for pair in pairs if pair[0] != pair[1] and not _overlap(*pair, found))
    graph.add_edges_from(inside, is_member=True)
    for cycle in list(nx.strongly_connected_components(graph)):
        if len(cycle) > 1:
            graph.remove_edges_from(list(graph.subgraph(cycle).edges))
    return graph


def _leaves(box: str, members: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the runs in a box and in the boxes in it, without those boxes."""
    found: list[str] = []
    seen, open_ = {box}, [box]
    while open_:
        for each in members.get(open_.pop(), ()):
            if each in seen:
                continue
            seen.add(each)
            if each in members:
                open_.append(each)
            else:
                found.append(each)
    return found


def _overlap(source: str, target: str, found: Mapping[str, Activity]) -> bool:
    one, other = found[source], found[target]
    return other.started and (not one.started or one.ends_at is None or one.ends_at > other.starts_at)


def _forward(
    found: Mapping[str, Activity], graph: nx.DiGraph[str], order: Iterable[str], now: datetime
) -> dict[str, tuple[datetime, datetime]]:
    spans: dict[str, tuple[datetime, datetime]] = {}
    for key in order:
        each = found[key]
        before = graph.pred[key]
        inside = [spans[source] for source, edge in before.items() if edge.get("is_member")]
        if each.started:
            start = each.starts_at
        else:
            start = max(each.starts_at, now, *(spans[one][1] for one in before if not inside))
            start = min((begin for begin, _ in inside), default=start)
        if each.ends_at is not None:
            end = each.ends_at
        elif inside:
            end = max(ends for _, ends in inside)
        else:
            end = max(now, start + each.took) if each.started else start + each.took
        spans[key] = start, end
    return spans


def _backward(
    found: Mapping[str, Activity],
    graph: nx.DiGraph[str],
    order: Sequence[str],
    spans: Mapping[str, tuple[datetime, datetime]],
) -> dict[str, datetime]:
    """Return the latest end of each run. A box takes no time of its own: its members do."""
    boxes = {each.box for each in found.values() if each.box != each.key}
    end = max((ends for _, ends in spans.values()), default=None)
    latest: dict[str, datetime] = {}
    for key in reversed(order):
        bounds = [found[key].deadline, None if list(graph.successors(key)) else end]
        for following in graph.successors(key):
            start, ends = spans[following]
            took = timedelta() if following in boxes else ends - start
            bounds.append(latest[following] - took)
        latest[key] = min(bound for bound in bounds if bound is not None)
    return latest


def _target(found: Mapping[str, Activity], timings: Mapping[str, Timing]) -> str | None:
    due = [
        (each.deadline - timings[key].ends_at, key)
        for key, each in found.items()
        if each.deadline is not None
    ]
    if due:
        return min(due)[1]
    last = max((timing.ends_at for timing in timings.values()), default=None)
    return min((key for key, timing in timings.items() if timing.ends_at == last), default=None)


def _chain(
    end: str, found: Mapping[str, Activity], graph: nx.DiGraph[str], timings: Mapping[str, Timing]
) -> tuple[str, ...]:
    """Follow the predecessor that ended last, as long as its end is what let the next one start or, in a box, end."""
    boxes = {each.box for each in found.values() if each.box != each.key}
    chain = [end]
    while True:
        key = chain[-1]
        before = sorted(graph.predecessors(key), key=lambda each: (timings[each].ends_at, each))
        if not before:
            break
        last = before[-1]
        if key not in boxes and timings[key].starts_at - timings[last].ends_at > MAX_LAG:
            break
        chain.append(last)
    return tuple(reversed(chain))
