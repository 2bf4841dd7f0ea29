"""Decide what a run takes in: compare the pinned inputs with what the published version has taken in."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import Engine

from headrace.catalog import versions
from headrace.catalog.records import PinReason, ResolvedInput, Version
from headrace.catalog.sensitivity import marked
from headrace.database.connection import transaction
from headrace.execution.incremental.taken import TakenIn
from headrace.execution.pinning import PinnedInputs
from headrace.execution.plan import IncrementalPlan, ProcessPlan
from headrace.execution.problems import GrowthChanged
from headrace.publishing.pins import inputs_of_chain
from headrace.queries.pointers import newest
from headrace.queries.versions import inputs_of


@dataclass(frozen=True, slots=True)
class Intake:
    """The versions that a run of a dataset which keeps its history takes in, and the one that it continues.

    previous: the published version, which is continued; None: everything is computed. present: the input's versions
    that count now, by partition ('' if it has none); new: those that the previous version has not taken in; replaced:
    those that it has taken in and that count no longer. taken: the record of the new version, apart from values.
    """

    previous: Version | None
    present: Mapping[str, Version]
    new: Mapping[str, Version]
    replaced: Mapping[str, Version]
    taken: TakenIn

    @property
    def is_empty(self) -> bool:
        """True if the previous version has taken in everything that counts now, and nothing else."""
        return self.previous is not None and not self.new and not self.replaced

    def reads(self, plan: ProcessPlan, pinned: PinnedInputs) -> PinnedInputs:
        """Return the inputs that the run may read, among them the previous version."""
        previous = [ResolvedInput(self.previous, PinReason.PUBLISHED)] if self.previous is not None else []
        if plan.own is not None:
            return replace(pinned, by_alias={**pinned.by_alias, plan.own.alias: previous})
        assert plan.incremental is not None  # noqa: S101 - one of the two keeps the history
        item, mode = plan.incremental.input, plan.incremental.mode
        of_input = [
            each
            for each in pinned.by_alias[item]
            if mode != "append" or (each.version.partition or "") in self.new
        ]
        of_input += [
            ResolvedInput(each, PinReason.PUBLISHED) for each in self.replaced.values() if mode == "merge"
        ]
        return replace(pinned, by_alias={**pinned.by_alias, item: of_input}, previous=previous)


def intake(
    engine: Engine, plan: ProcessPlan, pinned: PinnedInputs, log: logging.Logger, *, full_refresh: bool
) -> Intake:
    """Return what a run takes in of its pinned inputs. full_refresh: everything.

    Raises GrowthChanged.
    """
    key = plan.record.key
    previous = None if full_refresh else newest(engine, key)
    before = TakenIn.of(previous) if previous is not None else None
    if previous is not None and before is None:
        log.warning("%s: version %s was not built incrementally; starting from nothing", key, previous.tag)
        previous = None
    described = plan.incremental.described if plan.incremental is not None else {"mode": "self"}
    if previous is not None and before is not None and before.described != described:
        raise GrowthChanged(
            f"{key}: `incremental` has changed since version {previous.tag} was built, so it cannot be continued. "
            f"`headrace materialize {key} --full-refresh` computes it from nothing, without the history that its "
            "input no longer has."
        )
    before = before if before is not None and previous is not None else TakenIn(described=described)
    present = _present(plan, pinned)
    ids = {partition: version.version_id for partition, version in present.items()}
    if plan.incremental is None:
        known = inputs_of_chain(engine, previous.version_id) if previous is not None else set()
        new = {} if known.issuperset(ids.values()) and previous is not None else present
        replaced: dict[str, Version] = {}
    else:
        new = {name: each for name, each in present.items() if before.versions.get(name) != each.version_id}
        # Behind the watermark, rows stay whatever the input's next version has.
        past = {} if plan.incremental.watermark is not None else before.versions
        replaced = _versions(engine, {name: each for name, each in past.items() if ids.get(name) != each})
    if previous is not None and before.code_versions != (plan.record.code_version,):
        log.warning(
            "%s: the rows of version %s were built from other code; `headrace materialize %s --full-refresh` builds "
            "them again",
            key,
            previous.tag,
            key,
        )
    return Intake(
        previous=marked(engine, [previous])[0] if previous is not None else None,
        present=present,
        new=new,
        replaced=replaced,
        taken=replace(before, versions=ids, code_versions=before.with_code(plan.record.code_version)),
    )


def _present(plan: ProcessPlan, pinned: PinnedInputs) -> dict[str, Version]:
    """Return the versions that count now: of the input with new rows, or of all inputs if the dataset reads itself."""
    if plan.incremental is not None:
        return {
            each.version.partition or "": each.version for each in pinned.by_alias[plan.incremental.input]
        }
    return {
        f"{each.version.dataset} {each.version.partition or ''}".strip(): each.version for each in pinned.all
    }


def recorded_intake(engine: Engine, grows: IncrementalPlan, version: Version) -> Intake:
    """Return what the run that wrote an incremental version took in. Raises VersionExpired for the one before it."""
    taken = TakenIn.of(version)
    assert taken is not None  # noqa: S101 - of an incremental dataset
    previous = next(
        (each for each in inputs_of(engine, [version.version_id]) if each.dataset == version.dataset), None
    )
    before = TakenIn.of(previous) if previous is not None else None
    if previous is None or before is None:
        previous, before = None, TakenIn(described=taken.described)
    else:
        previous.require_rows()
    present = _versions(engine, taken.versions)
    past = {} if grows.watermark is not None else before.versions
    return Intake(
        previous=previous,
        present=present,
        new={name: each for name, each in present.items() if before.versions.get(name) != each.version_id},
        replaced=_versions(
            engine, {name: each for name, each in past.items() if taken.versions.get(name) != each}
        ),
        taken=replace(before, versions=taken.versions, code_versions=taken.code_versions),
    )


def _versions(engine: Engine, ids: Mapping[str, UUID]) -> dict[str, Version]:
    if not ids:
        return {}
    with transaction(engine) as cursor:
        found = versions.by_ids(cursor, ids.values())
    readable: Sequence[Version] = marked(engine, [found[each] for each in ids.values()])
    return dict(zip(ids, readable, strict=True))
