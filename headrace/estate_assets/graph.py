"""The asset graph of an estate: which processes form one asset, their order, and no cycles.

A job is downstream of the jobs in its condition, except those that it only must not overlap with. The conditions of a
box apply to its first members, and the box, which ends with its members, is downstream of its last ones. If boxes are
collapsed, a job that writes or reads a known dataset keeps its own asset.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headrace.estate_assets.keys import unit_key
from headrace.estates.rows import EstateProcess, ProcessName

Unit = tuple[str, ...]  # the path of an asset key
OUTSIDE = "outside_boxes"


@dataclass(slots=True)
class Drawing:
    """The assets and their upstream assets.

    units: by asset, its processes, the one that names it first. waits_for: by asset, including datasets, its upstream
    assets. left_out: edges that would have closed a cycle.
    """

    units: dict[Unit, list[ProcessName]] = field(default_factory=dict)
    waits_for: dict[Unit, tuple[Unit, ...]] = field(default_factory=dict)
    left_out: dict[Unit, list[Unit]] = field(default_factory=dict)
    top_box: dict[ProcessName, ProcessName | None] = field(default_factory=dict)


def draw(
    processes: Sequence[EstateProcess],
    reads: Mapping[Unit, Sequence[Unit]],
    *,
    own: Collection[ProcessName],
    collapse: bool,
) -> Drawing:
    """Build the graph of an estate and of declared datasets (`reads`), whose edges are all kept.

    own: the processes that keep their own asset. collapse: boxes represent their members.
    """
    known = {one.ident: one for one in processes}
    drawing = Drawing(top_box={ident: _top_box(ident, known) for ident in known})
    unit_of = {
        ident: _unit(one, drawing.top_box[ident], own) if collapse else unit_key(ident)
        for ident, one in known.items()
    }
    for ident, unit in sorted(unit_of.items(), key=lambda item: unit_key(item[0]) != item[1]):
        drawing.units.setdefault(unit, []).append(ident)
    found: dict[Unit, dict[Unit, None]] = {}
    edges = _collapsed(known, drawing.top_box, unit_of) if collapse else _by_job(known)
    for before, after in edges:
        if before != after:
            found.setdefault(after, {})[before] = None
    for ident, one in known.items():
        for dataset in one.writes:
            found.setdefault(tuple(dataset.split("/")), {})[unit_of[ident]] = None
        for dataset in one.reads:
            found.setdefault(unit_of[ident], {})[tuple(dataset.split("/"))] = None
    drawing.waits_for = {after: tuple(before) for after, before in found.items()}
    _break_cycles(drawing, reads)
    return drawing


def _top_box(ident: ProcessName, known: Mapping[ProcessName, EstateProcess]) -> ProcessName | None:
    """Return the outermost box around a process; boxes nested in a cycle are ignored."""
    seen = [ident]
    while (one := known.get(seen[-1])) is not None and one.box is not None and one.box in known:
        if one.box in seen:
            return None
        seen.append(one.box)
    return seen[-1] if len(seen) > 1 else None


def _unit(one: EstateProcess, top: ProcessName | None, own: Collection[ProcessName]) -> Unit:
    if one.ident in own or (top is None and one.metadata.get("type") == "BOX"):
        return unit_key(one.ident)
    if top is not None:
        return unit_key(top)
    technology, instance, _ = one.ident
    place = (technology.lower(), instance, OUTSIDE, str(one.metadata.get("application") or "no_application"))
    return tuple(part for part in place if part)


def _by_job(known: Mapping[ProcessName, EstateProcess]) -> Iterator[tuple[Unit, Unit]]:
    members: dict[ProcessName, list[ProcessName]] = {}
    for ident, one in known.items():
        if one.box is not None and one.box in known:
            members.setdefault(one.box, []).append(ident)
    before = {ident: _ordered(one, known) for ident, one in known.items()}
    first: dict[ProcessName, list[ProcessName]] = {}
    for box, inside in members.items():
        within = set(inside)
        first[box] = [ident for ident in inside if within.isdisjoint(before[ident])]
        waited_for = {upstream for ident in inside for upstream in before[ident]}
        for ident in inside:
            if ident not in waited_for:
                yield unit_key(ident), unit_key(box)
    for ident, upstreams in before.items():
        for starting in _starting(ident, first) if upstreams else ():
            for upstream in upstreams:
                yield unit_key(upstream), unit_key(starting)


def _ordered(one: EstateProcess, known: Mapping[ProcessName, EstateProcess]) -> list[ProcessName]:
    return [upstream for upstream, _, orders in one.waits_for if orders and upstream in known]


def _starting(ident: ProcessName, first: Mapping[ProcessName, Sequence[ProcessName]]) -> list[ProcessName]:
    """Return the jobs that start when this one does: for a box, its first members."""
    found: list[ProcessName] = []
    seen = {ident}
    waiting = [ident]
    while waiting:
        current = waiting.pop()
        inner = [each for each in first.get(current, ()) if each not in seen]
        seen.update(inner)
        waiting += inner
        if not first.get(current):
            found.append(current)
    return found or [ident]


def _collapsed(
    known: Mapping[ProcessName, EstateProcess],
    top_box: Mapping[ProcessName, ProcessName | None],
    unit_of: Mapping[ProcessName, Unit],
) -> Iterator[tuple[Unit, Unit]]:
    for ident, one in known.items():
        box = top_box[ident]
        if box is not None and unit_of[ident] != unit_of[box]:
            yield unit_of[ident], unit_of[box]  # a job with its own asset: its box ends after it
        for upstream in _ordered(one, known):
            within = box is not None and (top_box[upstream] or upstream) == box
            if not within or unit_of[upstream] != unit_of[box or ident]:
                yield unit_of[upstream], unit_of[ident]


def _break_cycles(drawing: Drawing, reads: Mapping[Unit, Sequence[Unit]]) -> None:
    """Remove an edge from each cycle, but no declared one."""
    waits = {after: dict.fromkeys(before) for after, before in drawing.waits_for.items()}
    for output, inputs in reads.items():
        waits.setdefault(output, {}).update(dict.fromkeys(inputs))
    fixed = {(before, after) for after, inputs in reads.items() for before in inputs}
    for before, after in _closing(waits, fixed):
        drawing.left_out.setdefault(after, []).append(before)
    drawing.waits_for = {
        after: tuple(each for each in before if each not in drawing.left_out.get(after, ()))
        for after, before in drawing.waits_for.items()
    }


def _closing(
    waits: Mapping[Unit, Mapping[Unit, None]], fixed: Collection[tuple[Unit, Unit]]
) -> Iterator[tuple[Unit, Unit]]:
    """Yield the edges to leave out, so that the graph is acyclic."""
    dropped: set[tuple[Unit, Unit]] = set()
    done: set[Unit] = set()
    for root in waits:
        while (circle := _cycle(root, waits, dropped, done)) is not None:
            edge = next(edge for edge in circle if edge not in fixed)
            dropped.add(edge)
            yield edge


def _cycle(
    root: Unit,
    waits: Mapping[Unit, Mapping[Unit, None]],
    dropped: Collection[tuple[Unit, Unit]],
    done: set[Unit],
) -> list[tuple[Unit, Unit]] | None:
    """Return the edges of a cycle reachable from `root` against the edges; `done` are assets on no cycle."""
    if root in done:
        return None
    path = [root]
    on_path = {root}
    work = [iter(waits.get(root, ()))]
    while work:
        after = path[-1]
        for before in work[-1]:
            if (before, after) in dropped or before in done:
                continue
            if before in on_path:
                circle = [*path[path.index(before) :], before]
                return [(circle[number + 1], circle[number]) for number in range(len(circle) - 2, -1, -1)]
            path.append(before)
            on_path.add(before)
            work.append(iter(waits.get(before, ())))
            break
        else:
            work.pop()
            done.add(path.pop())
            on_path.discard(after)
    return None
