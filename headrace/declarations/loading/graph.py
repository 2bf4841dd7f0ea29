"""Validate the plans of a project against each other: duplicate keys, unknown inputs, cycles, partitions."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import dagster as dg

from headrace.catalog.records import UNDECLARED, DatasetRecord
from headrace.dagster_internals import infer_partition_mapping
from headrace.declarations.loading.broken import Division
from headrace.declarations.loading.relations import Relation, relation_of
from headrace.declarations.steps import input_error
from headrace.execution.plan import InputPlan, Plan, ProcessPlan
from headrace.execution.problems import DeclarationError
from headrace.sources.origin import Origin


@dataclass(frozen=True, slots=True)
class LocatedPlan:
    """A plan and the place of its declaration."""

    plan: Plan
    origin: Origin

    @property
    def outputs(self) -> tuple[str, ...]:
        """The keys of the datasets that it declares."""
        return self.plan.record.outputs if isinstance(self.plan, ProcessPlan) else (self.plan.record.key,)

    @property
    def records(self) -> Sequence[DatasetRecord]:
        """The datasets that it declares."""
        if isinstance(self.plan, ProcessPlan):
            return [output.record for output in self.plan.outputs]
        return [self.plan.record]

    @property
    def inputs(self) -> Sequence[InputPlan]:
        """The keys of its inputs."""
        return self.plan.inputs if isinstance(self.plan, ProcessPlan) else ()

    @property
    def partitions(self) -> dg.PartitionsDefinition[str] | None:
        """The partitioning of its datasets."""
        if isinstance(self.plan, ProcessPlan):
            return self.plan.partitions.definition if self.plan.partitions else None
        return self.plan.partitions


def consistent(
    placed: Sequence[LocatedPlan], elsewhere: Set[str], broken: Mapping[str, Division]
) -> tuple[list[LocatedPlan], list[DeclarationError]]:
    """Return the consistent plans, and the problems of the others.

    elsewhere: keys of assets that are not Headrace's. broken: datasets with a known invalid declaration; datasets that
    read them are kept, as are those that read one excluded here.
    """
    problems: list[DeclarationError] = []
    kept = _with_free_former_keys(_unique(placed, elsewhere, problems), problems)
    kept = _with_own_views(kept, problems)
    divided = {**broken, **divisions(placed), **divisions(kept)}
    kept = _without_unknown_inputs(kept, divided.keys() | elsewhere, problems)
    kept = _without_cycles(kept, problems)
    return _with_fitting_partitions(kept, divided, problems), problems


def divisions(placed: Iterable[LocatedPlan]) -> dict[str, Division]:
    """Return the partitioning of the datasets of some plans, by key."""
    return {key: Division(one.partitions) for one in placed for key in one.outputs}


def _unique(
    placed: Sequence[LocatedPlan], elsewhere: Set[str], problems: list[DeclarationError]
) -> list[LocatedPlan]:
    """Leave out plans with a declared key, whatever its case: some file systems ignore case, and folders are shared."""
    first: dict[str, tuple[str, Origin | None]] = {key.casefold(): (key, None) for key in elsewhere}
    kept: list[LocatedPlan] = []
    for one in placed:
        own = {key.casefold(): (key, one.origin) for key in one.outputs}
        twice = next(
            (key for key in one.outputs if key.casefold() in first or own[key.casefold()][0] != key), None
        )
        if twice is None:
            first.update(own)
            kept.append(one)
            continue
        other, origin = first.get(twice.casefold()) or own[twice.casefold()]
        place = "as an asset in Python" if origin is None else f"at {origin.declared_at}"
        how = "is already declared," if other == twice else f"differs only in case from {other}, declared"
        problems.append(
            one.origin.error(
                ("key",), f"{twice} {how} {place}", "The first one is kept; rename or remove this one."
            )
        )
    return kept


def _with_free_former_keys(
    placed: Sequence[LocatedPlan], problems: list[DeclarationError]
) -> list[LocatedPlan]:
    """Leave out plans whose `renamed_from` is the key of a declared dataset, or of two datasets."""
    declared = {key: one.origin for one in placed for key in one.outputs}
    renamed: dict[str, Origin] = {}
    kept: list[LocatedPlan] = []
    for one in placed:
        former = [record.renamed_from for record in one.records if record.renamed_from is not None]
        twice = next((key for key in former if key in declared or key in renamed), None)
        if twice is not None:
            why = (
                f"is declared at {declared[twice].declared_at}, so it has not been renamed"
                if twice in declared
                else f"is the former key of another dataset, declared at {renamed[twice].declared_at}"
            )
            problems.append(
                one.origin.error(
                    ("renamed_from",), f"{twice} {why}", "Remove `renamed_from`, or the other declaration."
                )
            )
            continue
        renamed.update(dict.fromkeys(former, one.origin))
        kept.append(one)
    return kept


def _with_own_views(placed: Sequence[LocatedPlan], problems: list[DeclarationError]) -> list[LocatedPlan]:
    """Leave out plans with an output whose view in a database is that of another: each would replace its rows."""
    first: dict[Relation, tuple[str, Origin]] = {}
    kept: list[LocatedPlan] = []
    for one in placed:
        outputs = one.plan.outputs if isinstance(one.plan, ProcessPlan) else ()
        views = [(each, view) for each in outputs if (view := relation_of(each.location)) is not None]
        own: dict[Relation, tuple[str, Origin]] = {}
        twice = None
        for output, view in views:
            twice = twice or (
                (output, first.get(view) or own[view]) if view in first or view in own else None
            )
            own[view] = output.record.key, one.origin
        if twice is None:
            first.update(own)
            kept.append(one)
            continue
        output, (other, origin) = twice
        message = f"{output.record.key} is the view {output.location}, as is {other}, declared at {origin.declared_at}"
        problems.append(one.origin.error(("output",), message, "The first one is kept; set another `table`."))
    return kept


def _without_unknown_inputs(
    placed: Sequence[LocatedPlan], known: Set[str], problems: list[DeclarationError]
) -> list[LocatedPlan]:
    kept: list[LocatedPlan] = []
    for one in placed:
        unknown = [item for item in one.inputs if item.dataset not in known]
        problems += [_unknown_input(one, item, known) for item in unknown]
        if not unknown:
            kept.append(one)
    return kept


def _unknown_input(one: LocatedPlan, item: InputPlan, known: Set[str]) -> DeclarationError:
    close = difflib.get_close_matches(item.dataset, sorted(known), 1)
    return input_error(
        item,
        one.origin,
        f"{one.outputs[0]} reads {item.dataset}, {UNDECLARED}",
        f"Did you mean {close[0]}?"
        if close
        else "Declare it, as an ExternalDataset if something else writes it.",
    )


def _without_cycles(placed: Sequence[LocatedPlan], problems: list[DeclarationError]) -> list[LocatedPlan]:
    producer = {key: index for index, one in enumerate(placed) for key in one.outputs}
    reads = {
        index: {producer[item.dataset] for item in one.inputs if item.dataset in producer}
        for index, one in enumerate(placed)
    }
    tangled = _never_ready(reads)
    on_cycle: set[int] = set()
    for index in sorted(tangled):
        path = _path_back(index, reads, tangled)
        if path is not None:
            on_cycle.add(index)
            names = " <- ".join(placed[step].outputs[0] for step in path)
            one = placed[index]
            read = next(item for item in one.inputs if producer.get(item.dataset) == path[1])
            problems.append(
                input_error(
                    read, one.origin, f"{one.outputs[0]} depends on itself: {names}", "Break the cycle."
                )
            )
    return [one for index, one in enumerate(placed) if index not in on_cycle]


def _never_ready(reads: Mapping[int, Set[int]]) -> set[int]:
    """Return the processes on a cycle, or downstream of one."""
    waiting = {index: len(needs) for index, needs in reads.items()}
    readers: dict[int, list[int]] = {}
    for index, needs in reads.items():
        for need in needs:
            readers.setdefault(need, []).append(index)
    ready = [index for index, count in waiting.items() if count == 0]
    while ready:
        done = ready.pop()
        del waiting[done]
        for reader in readers.get(done, ()):
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready.append(reader)
    return set(waiting)


def _path_back(start: int, reads: Mapping[int, Set[int]], within: Set[int]) -> list[int] | None:
    """Return the shortest path from a process along its inputs back to itself."""
    came_from: dict[int, int] = {}
    edge = [start]
    while edge:
        following: list[int] = []
        for index in edge:
            for need in sorted(reads[index] & within):
                if need == start:
                    path = [index]
                    while path[-1] != start:
                        path.append(came_from[path[-1]])
                    return [*reversed(path), start]
                if need not in came_from:
                    came_from[need] = index
                    following.append(need)
        edge = following
    return None


def _with_fitting_partitions(
    placed: Sequence[LocatedPlan], divided: Mapping[str, Division], problems: list[DeclarationError]
) -> list[LocatedPlan]:
    partitions = {key: one.partitions for key, one in divided.items() if one.known}
    kept: list[LocatedPlan] = []
    for one in placed:
        wrong = list(_misfits(one, partitions))
        problems += wrong
        if not wrong:
            kept.append(one)
    return kept


def _misfits(
    one: LocatedPlan, partitions: Mapping[str, dg.PartitionsDefinition[str] | None]
) -> Iterator[DeclarationError]:
    for index, item in enumerate(one.inputs):
        upstream = partitions.get(item.dataset)
        if item.dataset in partitions:
            yield from _not_new(one, item, upstream)
        if item.dataset not in partitions or (upstream is None and item.mapping is None):
            continue
        if upstream is None:
            yield one.origin.error(
                ("inputs", index, "partitions"),
                f"{item.dataset} has no partitions",
                "Omit `partitions` of this input.",
            )
            continue
        try:
            infer_partition_mapping(item.mapping, one.partitions, upstream).validate_partition_mapping(
                upstream, one.partitions
            )
        except (dg.DagsterInvalidDefinitionError, dg.DagsterInvariantViolationError) as error:
            yield input_error(
                item,
                one.origin,
                f"the partitions of {one.outputs[0]} and {item.dataset} do not match: {error}",
                "Choose with `partitions` of the input: all, last, or the same kind on both sides.",
            )


def _not_new(
    one: LocatedPlan, item: InputPlan, upstream: dg.PartitionsDefinition[str] | None
) -> Iterator[DeclarationError]:
    """Yield why a run cannot know what is new of the input."""
    grows = one.plan.incremental if isinstance(one.plan, ProcessPlan) else None
    if grows is None or grows.input != item.alias:
        return
    if upstream is None and grows.mode != "scd2" and grows.watermark is None:
        yield one.origin.error(
            ("incremental",),
            f"{item.dataset} has no partitions, and `watermark` is missing",
            "Name a column of it that is greater in new rows than in all rows before.",
        )
    elif upstream is not None and grows.watermark is not None:
        yield one.origin.error(
            ("incremental", "watermark"),
            f"{item.dataset} has partitions, which are taken in one by one",
            "Remove `watermark`." if grows.mode == "merge" else "Write `partition` instead of `watermark`.",
        )
    elif upstream is None and grows.partition is not None:
        yield one.origin.error(
            ("incremental", "partition"), f"{item.dataset} has no partitions", "Write `watermark` instead."
        )
    elif (
        upstream is not None
        and grows.mode == "scd2"
        and not isinstance(upstream, dg.TimeWindowPartitionsDefinition)
    ):
        yield one.origin.error(
            ("incremental", "mode"),
            f"the partitions of {item.dataset} have no order in time",
            "A history needs an input with partitions by time, or without partitions.",
        )
