"""External assets for processes of other systems, from scans stored in the catalog."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import dagster as dg

from headrace.catalog.records import Technology
from headrace.estate_assets.graph import Drawing, draw
from headrace.estate_assets.keys import asset_key, unit_key
from headrace.estate_assets.specs import dataset_spec, unit_spec
from headrace.estates.rows import EstateProcess, EstateRows, ProcessName
from headrace.execution.plan import ExternalPlan, Plan, ProcessPlan

COLLAPSE_ABOVE = 2_000
"""So many processes are an asset each; of more, a box with all that is in it is one asset."""


@dataclass(frozen=True, slots=True)
class EstateAssets:
    """The assets of an estate.

    asset_of: the asset that a process's completion materializes; if boxes are collapsed, the jobs in them have none.
    shown_in: the asset that shows a process, its own or that of its box. producers: by dataset key, the assets of the
    processes that write it.
    """

    specs: tuple[dg.AssetSpec, ...] = ()
    asset_of: Mapping[ProcessName, dg.AssetKey] = field(default_factory=dict)
    shown_in: Mapping[ProcessName, dg.AssetKey] = field(default_factory=dict)
    producers: Mapping[str, tuple[dg.AssetKey, ...]] = field(default_factory=dict)


def estate_assets(
    rows: EstateRows,
    plans: Sequence[Plan] = (),
    taken: Collection[str] = (),
    *,
    collapse_above: int = COLLAPSE_ABOVE,
) -> EstateAssets:
    """Build the assets of an estate, next to the datasets that `plans` declare.

    Args:
        rows: the catalog's processes.
        plans: the declarations, whose `produced_by` may name processes that no scan contains.
        taken: existing asset keys.
        collapse_above: the maximum number of processes with one asset each.

    Args:
        rows: what the catalog knows.
        plans: the declarations, whose `produced_by` names processes that no scan may have seen.
        taken: keys of assets that are there already.
        collapse_above: how many processes are an asset each.
    """
    produced_by = {plan.record.key: plan.produced_by for plan in plans if isinstance(plan, ExternalPlan)}
    processes = _with_named(rows.processes, produced_by)
    if not processes and not rows.datasets:
        return EstateAssets()
    drawing = draw(
        processes,
        _reads(plans),
        own={one.ident for one in processes if one.writes or one.reads},
        collapse=len(processes) > collapse_above,
    )
    known = {one.ident: one for one in processes}
    declared = {key for plan in plans for key in _keys(plan)}.union(taken)
    specs = [
        unit_spec(
            unit,
            [known[ident] for ident in members],
            drawing,
            _box_around(drawing.top_box[members[0]], known),
        )
        for unit, members in drawing.units.items()
        if "/".join(unit) not in declared
    ]
    specs += [
        dataset_spec(dataset, drawing.waits_for.get(tuple(dataset.key.split("/")), ()))
        for dataset in rows.datasets
        if dataset.key not in declared
    ]
    units = {ident: unit for unit, members in drawing.units.items() for ident in members}
    return EstateAssets(
        specs=tuple(specs),
        asset_of={ident: dg.AssetKey(unit) for ident, unit in units.items() if unit == unit_key(ident)},
        shown_in={ident: dg.AssetKey(unit) for ident, unit in units.items()},
        producers=_producers(drawing, {dataset for one in processes for dataset in one.writes}),
    )


def _box_around(box: ProcessName | None, known: Mapping[ProcessName, EstateProcess]) -> EstateProcess | None:
    return known[box] if box is not None else None


def _with_named(
    processes: Sequence[EstateProcess], produced_by: Mapping[str, Sequence[str]]
) -> tuple[EstateProcess, ...]:
    """Return the processes including those named only in declarations, with their declared datasets."""
    by_name: dict[str, list[ProcessName]] = {}
    for one in processes:
        by_name.setdefault(one.ident.name, []).append(one.ident)
        by_name.setdefault(one.key, []).append(one.ident)
    writes: dict[ProcessName, list[str]] = {}
    for dataset, names in produced_by.items():
        for name in names:
            for ident in by_name.get(name) or [_named(name)]:
                writes.setdefault(ident, []).append(dataset)
    known = {one.ident: one for one in processes}
    for ident, datasets in writes.items():
        one = known.get(ident) or EstateProcess(
            ident, "/".join(filter(None, ident)), None, (), "UNSCANNED", {}, None, (), (), ()
        )
        known[ident] = replace(one, writes=tuple(dict.fromkeys((*one.writes, *datasets))))
    return tuple(known.values())


def _named(text: str) -> ProcessName:
    """Return the process named `JOB`, `AUTOSYS/BOX/JOB` or `DB2_SP/NAME`, if nothing is known of it."""
    technology, _, rest = text.partition("/")
    if rest and technology in Technology.__members__:
        return ProcessName(technology, "", rest.rpartition("/")[2])
    return ProcessName(Technology.AUTOSYS.value, "", text)


def _reads(plans: Sequence[Plan]) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the inputs of each declared dataset."""
    return {
        tuple(output.split("/")): [tuple(item.dataset.split("/")) for item in plan.inputs]
        for plan in plans
        if isinstance(plan, ProcessPlan)
        for output in plan.record.outputs
    }


def _keys(plan: Plan) -> Sequence[str]:
    return plan.record.outputs if isinstance(plan, ProcessPlan) else (plan.record.key,)


def _producers(drawing: Drawing, datasets: Collection[str]) -> dict[str, tuple[dg.AssetKey, ...]]:
    found = {key: drawing.waits_for.get(tuple(key.split("/")), ()) for key in sorted(datasets)}
    return {key: tuple(map(dg.AssetKey, units)) for key, units in found.items() if units}


__all__ = ["COLLAPSE_ABOVE", "EstateAssets", "asset_key", "estate_assets"]
