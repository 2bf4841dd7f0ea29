"""Load a project's declarations: everything valid is loaded, everything else is an error with file, line and field."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from headrace import garbage_collection
from headrace.catalog.records import DatasetRecord, ProcessRecord
from headrace.dagster_internals import disable_dagster_warnings
from headrace.declarations.definition import external_asset, process_assets
from headrace.declarations.loading.broken import Division, divided, stub
from headrace.declarations.loading.files import find, import_failure
from headrace.declarations.loading.graph import LocatedPlan, consistent, divisions
from headrace.declarations.loading.known import (
    NOTHING_KNOWN,
    CatalogContents,
    known,
    known_subjects,
    record_problems,
)
from headrace.estate_assets.assets import EstateAssets, estate_assets
from headrace.execution.partitions import UNKNOWN_PARTITIONS
from headrace.execution.plan import Plan, ProcessPlan
from headrace.execution.problems import DeclarationError, relative_to
from headrace.execution.python_code import load_module
from headrace.project import project_root

if TYPE_CHECKING:
    from headrace.queries.projects import ProjectDataset, Subjects

_LOG = logging.getLogger("headrace")
_VALIDATING = "DAGSTER_IS_DEFS_VALIDATION_CLI"  # set by `dg check defs`


class DeclarationsInvalid(Exception):
    """A project with invalid declarations; the message lists them."""


@dataclass(frozen=True, slots=True)
class LoadedProject:
    """A loaded project: Dagster's definitions, the plans behind them, and the problems.

    estate: the assets of external processes.
    """

    definitions: dg.Definitions
    plans: tuple[Plan, ...]
    problems: tuple[DeclarationError, ...]
    estate: EstateAssets


def load_project() -> LoadedProject:
    """Load the declarations of this project, together with the catalog's external processes and other projects.

    The catalog stores the problems for `headrace status`.
    """
    loaded = load(project_root(), known())
    record_problems(project_root(), loaded.problems)
    return loaded


def load(root: Path, known: CatalogContents = NOTHING_KNOWN) -> LoadedProject:
    """Load the declarations below `root`/assets, together with the catalog's external ones.

    Logs each problem once. Raises DeclarationsInvalid under `dg check defs` if there is one.
    """
    with relative_to(root), disable_dagster_warnings(), garbage_collection.paused():
        loaded = _load(root, known)
        for problem in loaded.problems:
            _LOG.warning("%s", problem)
        if loaded.problems and os.environ.get(_VALIDATING):
            raise DeclarationsInvalid("\n".join(str(problem) for problem in loaded.problems))
        # Definitions live as long as the process, and every full garbage collection would traverse all of them.
        gc.freeze()
    return loaded


def check(root: Path) -> list[DeclarationError]:
    """Return all problems of alerts.yaml and of the declarations below `root`/assets, with imports of transforms."""
    with relative_to(root), disable_dagster_warnings():
        loaded = _load(root, known())
        return [*loaded.problems, *check_files(root, loaded.plans)]


def records(plans: Sequence[Plan]) -> tuple[list[DatasetRecord], list[ProcessRecord]]:
    """Return the datasets and processes of some plans, for registration in the catalog.

    A process that reads a dataset without a plan is left out: the catalog may not know that dataset, and would reject
    all. The process's own run registers it.
    """
    datasets: list[DatasetRecord] = []
    processes: list[ProcessRecord] = []
    for plan in plans:
        if isinstance(plan, ProcessPlan):
            datasets += [output.record for output in plan.outputs]
            processes.append(plan.record)
        else:
            datasets.append(plan.record)
    declared = {record.key for record in datasets}
    return datasets, [record for record in processes if declared.issuperset(record.inputs)]


def _subjects(plans: Sequence[Plan], known: Subjects) -> Subjects:
    """Return the owners and domains of the declarations and of the catalog."""
    datasets, processes = records(plans)
    declared: list[DatasetRecord | ProcessRecord] = [*datasets, *processes]
    return replace(
        known,
        owners=known.owners.union(*(record.owners for record in declared)),
        domains=known.domains.union(record.key.split("/", 1)[0] for record in declared),
    )


def _load(root: Path, known: CatalogContents) -> LoadedProject:
    found = find(root, root / "assets")
    elsewhere = _keys(found.others)
    others = {each.key: divided(each.partition_definition) for each in known.datasets}
    placed, declared_twice = _without_foreign(found.placed, known.datasets)
    kept, problems = consistent(placed, elsewhere, {**others, **found.broken})
    problems += declared_twice
    left_out = {**found.broken, **divisions(placed)}
    estate = estate_assets(known.estate, [one.plan for one in kept], {*elsewhere, *left_out, *others})
    assets: list[dg.AssetsDefinition | dg.AssetSpec] = []
    plans: list[Plan] = []
    for one in kept:
        try:
            assets.append(
                process_assets(one.plan)
                if isinstance(one.plan, ProcessPlan)
                else external_asset(one.plan, estate.producers.get(one.plan.record.key, ()))
            )
        except Exception as error:
            problems.append(one.origin.error((), f"Dagster does not accept it: {error}"))
        else:
            plans.append(one.plan)
    declared = elsewhere | {record.key for record in records(plans)[0]}
    assets += [stub(key, one) for key, one in left_out.items() if key not in declared]
    read = {item.dataset for one in kept for item in one.inputs}
    assets += [
        _foreign_asset(each, others[each.key]) for each in known.datasets if each.key in read - declared
    ]
    problems = _each_once([*found.problems, *problems])
    assets += estate.specs
    own = dg.Definitions(assets=assets, metadata=_problem_metadata(problems))
    definitions = dg.Definitions.merge(own, *found.others) if found.others else own
    return LoadedProject(definitions, tuple(plans), tuple(problems), estate)


def _without_foreign(
    placed: Sequence[LocatedPlan], datasets: Sequence[ProjectDataset]
) -> tuple[list[LocatedPlan], list[DeclarationError]]:
    """Return the plans whose keys no other project declares, case ignored, and a problem for each of the others."""
    foreign = {each.key.casefold(): each for each in datasets}
    kept: list[LocatedPlan] = []
    problems: list[DeclarationError] = []
    for one in placed:
        taken = next((key for key in one.outputs if key.casefold() in foreign), None)
        if taken is None:
            kept.append(one)
            continue
        other = foreign[taken.casefold()]
        how, move = "is", f"; or, if it has moved here, run `headrace catalog transfer {taken}`"
        if other.key != taken:
            how, move = f"differs only in case from {other.key}, which is", ""
        problems.append(
            one.origin.error(
                ("key",), f"{taken} {how} declared by the project {other.project}", f"Rename it{move}."
            )
        )
    return kept, problems


def _foreign_asset(dataset: ProjectDataset, division: Division) -> dg.AssetSpec:
    """Build the external asset that represents another project's dataset where this one reads it."""
    return dg.AssetSpec(
        key=dg.AssetKey(dataset.key.split("/")),
        description=dataset.description,
        group_name=dataset.key.split("/")[0],
        partitions_def=division.partitions,
        metadata={"project": dataset.project} | ({} if division.known else {UNKNOWN_PARTITIONS: True}),
    )


def _each_once(problems: Iterable[DeclarationError]) -> list[DeclarationError]:
    """Deduplicate by file and line. A file on which two declarations fail is one problem, reported with its field."""
    found: dict[tuple[Path, int, str], DeclarationError] = {}
    for problem in problems:
        same = (problem.file, problem.line, problem.message)
        if same not in found or found[same].field is None:
            found[same] = problem
    return [found[same] for same in sorted(found)]


def _keys(definitions: Sequence[dg.Definitions]) -> set[str]:
    return {spec.key.to_user_string() for one in definitions for spec in one.resolve_all_asset_specs()}


def _problem_metadata(problems: Sequence[DeclarationError]) -> dict[str, dg.MarkdownMetadataValue]:
    if not problems:
        return {}
    return {"problems": dg.MetadataValue.md("\n".join(f"- {problem}" for problem in problems))}


def check_files(root: Path, plans: Sequence[Plan]) -> Iterator[DeclarationError]:
    """Yield the problems that loading alone does not find: transforms that cannot be imported, and alerts.yaml."""
    files = {
        file
        for plan in plans
        if isinstance(plan, ProcessPlan)
        for file, _ in plan.references
        if file.suffix == ".py"
    }
    for file in sorted(files):
        try:
            load_module(file, root)
        except Exception as error:
            yield import_failure(file, error)
    # Not by every process that loads the declarations.
    from headrace.declarations.alerting.rules import WrongRules, load_rules

    try:
        yield from load_rules(root, _subjects(plans, known_subjects())).problems
    except WrongRules as error:
        yield from error.problems
