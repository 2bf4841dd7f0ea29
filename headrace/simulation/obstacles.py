"""Why a job does not start, and which jobs wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from headrace.autosys.conditions import (
    Atom,
    Condition,
    ExitIs,
    GlobalIs,
    JobIs,
    RequiredStatus,
    atoms,
    unparse,
)
from headrace.simulation.conditions import holds, key_of
from headrace.simulation.definitions import Definition
from headrace.simulation.outcome import Outcome, shown
from headrace.simulation.playing import Scene
from headrace.simulation.statuses import ENDED, Status

_DONE = ENDED | {Status.ON_ICE, Status.INACTIVE}
_DEPTH = 3  # boxes and predecessors that are followed


def why_not(scene: Scene, outcome: Outcome, name: str) -> tuple[str, ...]:
    """Return why a job did not start by the end of what was played, one reason per line."""
    return tuple(_why_not(scene, outcome, scene.definitions[name], _DEPTH))


def open_boxes(scene: Scene, outcome: Outcome) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the boxes that still run at the end though nothing in them does: a member that holds each, and why."""
    members: dict[str, list[Definition]] = {}
    for definition in scene.definitions.values():
        if definition.box is not None and outcome.states.get(definition.box) is not None:
            members.setdefault(definition.box, []).append(definition)
    found = {}
    for box in sorted(scene.definitions):
        inside = members.get(box, [])
        statuses = {outcome.states[each.name].status for each in inside}
        if outcome.states[box].status is not Status.RUNNING or Status.RUNNING in statuses:
            continue
        waiting = (each for each in inside if outcome.states[each.name].status not in _DONE)
        holder = min(waiting, key=lambda each: each.name, default=None)
        if holder is not None:
            found[box] = holder.name, tuple(_why_not(scene, outcome, holder, 0))
        elif inside:
            found[box] = box, tuple(_unmet_success(outcome, scene.definitions[box]))
    return found


def deadlocks(scene: Scene, outcome: Outcome) -> list[tuple[str, ...]]:
    """Return sets of jobs that wait for each other, so that none of them can start, or no box of them can end."""
    ran = {run.name for run in outcome.runs}
    found = {
        tuple(sorted(cycle))
        for cycle in scene.cycles
        if all(name in scene.definitions for name in cycle) and ran.isdisjoint(cycle)
    }
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, definition in scene.definitions.items():
        condition = definition.condition if name not in ran else None
        if definition.is_box and outcome.states[name].status is Status.RUNNING:
            condition = definition.box_success
        for atom in _unmet(outcome, definition, condition):
            if not isinstance(atom, GlobalIs) and atom.job in scene.definitions:
                graph.add_edge(name, key_of(atom))
    found |= {tuple(sorted(each)) for each in nx.strongly_connected_components(graph) if len(each) > 1}
    return sorted(found)


def _why_not(scene: Scene, outcome: Outcome, definition: Definition, depth: int) -> Iterator[str]:
    name, status = definition.name, outcome.states[definition.name].status
    if status in (Status.ON_HOLD, Status.ON_ICE):
        if definition.auto_hold and definition.status is None:
            yield f"{name} has auto_hold: it is on hold from the start of its box until it is taken off"
        else:
            yield f"{name} has the status {status}: it does not start until that is taken off"
    elif definition.unreadable is not None:
        yield f"its condition cannot be read: {definition.unreadable}"
    elif name in outcome.unscheduled:
        yield outcome.unscheduled[name]
    elif name in outcome.stopped:
        yield f"{name} starts itself again through its own condition, without end"
    elif (cycle := next((each for each in scene.cycles if name in each), None)) is not None:
        yield f"{name} waits for itself, in a cycle: {', '.join(cycle)}"
    elif status in (Status.QUE_WAIT, Status.PEND_MACH):
        yield f"it waits for machine {', '.join(definition.machines)} ({status})"
    elif definition.box is not None and definition.box not in scene.definitions:
        yield f"box {definition.box} is not expected to start"
        yield "it does not exist"
    elif definition.box is not None and not any(run.name == definition.box for run in outcome.runs):
        yield f"box {definition.box} is not expected to start"
        if depth:
            yield from _why_not(scene, outcome, scene.definitions[definition.box], depth - 1)
    elif definition.condition is not None:
        yield from _unmet_in_words(scene, outcome, definition, depth)
    elif definition.box is None:
        yield "it is in no box, waits for nothing and the clock does not start it: by hand only"
    else:
        yield f"its schedule has no time while box {definition.box} runs"


def _unmet_success(outcome: Outcome, box: Definition) -> Iterator[str]:
    for atom in _unmet(outcome, box, box.box_success):
        yield f"box_success does not hold: {unparse(atom)}"


def _unmet_in_words(scene: Scene, outcome: Outcome, definition: Definition, depth: int) -> Iterator[str]:
    unmet = list(_unmet(outcome, definition, definition.condition))
    for atom in unmet:
        yield f"{unparse(atom)}: {_reason(scene, outcome, atom)}"
    if unmet and depth:
        first = unmet[0]
        other = None if isinstance(first, GlobalIs) else scene.definitions.get(key_of(first))
        if other is not None and not any(run.name == other.name for run in outcome.runs):
            yield from _why_not(scene, outcome, other, depth - 1)
    if not unmet:
        jobs = sorted(definition.waits_for())
        elsewhere = [each for each in jobs if "^" in each]
        yield (
            f"it waits for a job of another scheduler: {', '.join(elsewhere)}"
            if elsewhere
            else f"none of the jobs that it waits for runs: {', '.join(jobs)}"
        )
        first_job = next((scene.definitions[each] for each in jobs if each in scene.definitions), None)
        if first_job is not None and depth and not any(run.name == first_job.name for run in outcome.runs):
            yield from _why_not(scene, outcome, first_job, depth - 1)


def _reason(scene: Scene, outcome: Outcome, atom: Atom) -> str:
    if isinstance(atom, GlobalIs):
        return "the variable has another value"
    state = outcome.states.get(key_of(atom))
    if state is None or (atom.instance is None and atom.job not in scene.definitions):
        return "no such job"
    failed = (RequiredStatus.FAILURE, RequiredStatus.TERMINATED)
    if isinstance(atom, JobIs) and atom.wanted in failed and state.status is Status.SUCCESS:
        return f"only if {atom.job} fails"
    if isinstance(atom, ExitIs) and state.status in ENDED:
        return f"{atom.job} ends with exit code {state.exit_code}"
    if atom.lookback is not None and state.status in ENDED:
        ended = f"last ended {shown(state.ended_at)}" if state.ended_at > 0 else "has not ended"
        return f"{atom.job} {ended}, too long before"
    return f"{atom.job} is {state.status}"


def _unmet(outcome: Outcome, definition: Definition, condition: Condition | None) -> Iterator[Atom]:
    last_end = outcome.states[definition.name].ended_at
    for atom in atoms(condition) if condition is not None else ():
        if not holds(atom, outcome.states, outcome.variables, outcome.until, last_end):
            yield atom
