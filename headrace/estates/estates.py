"""Scan an estate: compare its files with the catalog, show the plan, store it."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from sqlalchemy import Engine

from headrace import garbage_collection
from headrace.errors import ScanRefused
from headrace.estates import storage as estates
from headrace.estates.comparison import Comparison
from headrace.estates.plan import MAX_STORED, Plan


class MassRetirementRefused(ScanRefused):
    """A scan that lacks more than half of the known jobs, without confirmation."""


def scan(
    engine: Engine,
    files: Sequence[Path],
    instance: str = "",
    *,
    by: str | None = None,
    allow_mass_retirement: bool = False,
    accept: Callable[[Plan], bool] = lambda plan: True,
) -> Plan:
    """Read an estate's files and update the catalog; everything or nothing is stored.

    Args:
        engine: the catalog.
        files: JIL and calendar exports of one instance, descriptions of processes (.yaml), DB2 listings (.csv).
        instance: the name of the Autosys instance (AUTOSERV), '' if there is only one; also for jobs named in files
            of other kinds.
        by: the user; None means the user of this process.
        allow_mass_retirement: the files are complete, although they lack more than half of the known processes.
        accept: called with the plan before anything is stored; nothing is stored if it returns False.

    Raises OSError for a file that cannot be read, MassRetirementRefused, and ScanRefused if another scan was stored in
    the meantime.
    """
    with garbage_collection.paused():
        known = estates.known(engine, instance)
        found = Comparison(instance, known.processes)
        found.read(files)
        plan = found.plan(engine)
    if not accept(plan):
        return plan
    if plan.retires_majority and not allow_mass_retirement:
        raise MassRetirementRefused(
            f"{len(plan.removed):,} of {plan.known:,} known processes are not in these files and would be retired;"
            " pass all files of the instance, or confirm that these are complete (`--yes`)"
        )
    estates.store(
        engine,
        estates.Scan(
            instance=plan.instance,
            by=by or getpass.getuser(),
            since=known.newest_scan,
            files=[each._asdict() for each in found.files],
            counts=plan.counts,
            changes=plan.changes,
            findings=[asdict(each) for each in plan.findings[:MAX_STORED]],
            written=found.written,
            placed=found.placed,
            moved=found.moved,
            objects=found.objects,
            calendars=found.calendars,
            retired=[(each.technology, each.name) for each in found.removed],
        ),
    )
    return plan


__all__ = ["MassRetirementRefused", "Plan", "scan"]
