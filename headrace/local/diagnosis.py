"""Examine an installation: machine, catalog, Spark, warehouse, and whether the stores agree with the catalog."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from platform import python_version
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from headrace.catalog.locators import FILES_STORE
from headrace.connections.connection import connection
from headrace.connections.opening import opened
from headrace.context import current_context
from headrace.database.connection import connect
from headrace.declarations.loading.project import load
from headrace.errors import CatalogError
from headrace.execution.plan import ExternalPlan
from headrace.files.filesystem import is_local, local_path, normalised
from headrace.files.opening import files_for
from headrace.nouns import counted
from headrace.project import NoProject, project_root
from headrace.queries import pointers
from headrace.queries.platform import platform_state
from headrace.queries.versions import published
from headrace.spark.errors import ResourceError, UnusableFunction
from headrace.spark.java import require_java
from headrace.spark.project_functions import project_function
from headrace.spark.session import SparkResource
from headrace.stores.references import update_references
from headrace.stores.registry import STORES
from headrace.stores.store import OpenStores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MIN_FREE_BYTES = 1_000_000_000  # of a local warehouse


class Health(StrEnum):
    """The result of an examination."""

    OK = "OK"
    REPAIRED = "REPAIRED"
    WARNING = "WARNING"  # it works, and may not be as intended
    PROBLEM = "PROBLEM"


@dataclass(frozen=True, slots=True)
class Finding:
    """The health of one subject, with the reason of a problem and its solution."""

    subject: str
    health: Health
    detail: str


def examine(
    datasets: Sequence[str] = (), on_progress: Callable[[str], None] = lambda _: None
) -> Iterator[Finding]:
    """Yield a finding for each part of the installation, for each dataset with a problem, and for all others together.

    References of stores that are out of date are updated. datasets: only these; by default all with published versions.
    Raises UnknownDataset for one of them.
    """
    yield Finding("Headrace", Health.OK, f"{version('headrace')} with Python {python_version()}")
    try:
        yield Finding("Java", Health.OK, str(require_java()))
    except ResourceError as error:
        yield Finding("Java", Health.PROBLEM, str(error))
    try:
        engine = connect()
    except CatalogError as error:
        yield Finding("catalog", Health.PROBLEM, str(error))
        return
    yield from _catalog(engine)
    yield from _functions()
    on_progress("starting Spark")
    try:
        session = SparkResource().session
    except ResourceError as error:
        yield Finding("Spark", Health.PROBLEM, str(error))
        return
    yield Finding("Spark", Health.OK, f"{session.version} at {current_context().settings.spark.master}")
    stores = OpenStores(session, current_context().settings.warehouse_uri)
    try:
        stores.named(FILES_STORE)
    except ResourceError as error:
        yield Finding("warehouse", Health.PROBLEM, str(error))
        return
    warehouse = _warehouse(normalised(current_context().settings.warehouse_uri), session)
    yield warehouse
    yield from _connections(session)
    if warehouse.health is Health.PROBLEM:
        yield Finding("datasets", Health.WARNING, "not examined, as the warehouse is not there")
        return
    yield from _datasets(engine, stores, datasets, on_progress)


def _catalog(engine: Engine) -> Iterator[Finding]:
    state = platform_state(engine)
    yield Finding("catalog", Health.OK, f"PostgreSQL {state.server_version}, revision {state.revision}")
    silent = [each for each in state.sensors if each.is_silent or each.failure]
    for each in silent:
        reason = each.failure or "it does not run: start `headrace up`, or Dagster's daemon"
        yield Finding(f"sensor {each.sensor}", Health.WARNING, reason)


def _functions() -> Iterator[Finding]:
    """Import the readers and writers that the project declares, as a run or `headrace observe` does."""
    try:
        plans = load(project_root()).plans
    except NoProject:
        return
    users: dict[str, set[str]] = {}
    for plan in plans:
        if isinstance(plan, ExternalPlan):
            declared = {plan.record.key: plan.reader}
        else:
            declared = {each.record.key: each.extract.writer for each in plan.outputs if each.extract}
        for key, reference in declared.items():
            if reference is not None:
                users.setdefault(reference, set()).add(key)
    problems = 0
    for reference, keys in sorted(users.items()):
        try:
            project_function(reference)
        except UnusableFunction as error:
            problems += 1
            yield Finding(", ".join(sorted(keys)), Health.PROBLEM, str(error))
    if sound := len(users) - problems:
        yield Finding("functions", Health.OK, f"readers and writers of the project: {sound}")


def _warehouse(location: str, session: SparkSession) -> Finding:
    try:
        files_for(location, session).require_writable(location)
    except ResourceError as error:
        return Finding("warehouse", Health.PROBLEM, str(error))
    if is_local(location):
        folder = local_path(location)
        existing = next(each for each in (folder, *folder.parents) if each.exists())
        if not os.access(existing, os.W_OK):
            return Finding("warehouse", Health.PROBLEM, f"{existing} is not writable for this user")
        free = shutil.disk_usage(existing).free
        if free < MIN_FREE_BYTES:
            return Finding(
                "warehouse",
                Health.WARNING,
                f"{location} has only {free:,} bytes of free space: free some, or let versions expire "
                "(`headrace retention`)",
            )
    return Finding("warehouse", Health.OK, location)


def _connections(session: SparkSession) -> Iterator[Finding]:
    for name in sorted(current_context().settings.connections):
        try:
            with opened(connection(name), lambda: session) as database:
                yield Finding(f"connection {name}", Health.OK, database.dialect.name)
        except ResourceError as error:
            yield Finding(f"connection {name}", Health.PROBLEM, str(error))


def _datasets(
    engine: Engine, stores: OpenStores, datasets: Sequence[str], on_progress: Callable[[str], None]
) -> Iterator[Finding]:
    """Compare what is published with what the stores hold."""
    wanted = list(datasets) or pointers.datasets(engine)
    problems: list[Finding] = []
    for dataset in wanted:
        on_progress(dataset)
        found = [*_references(engine, stores, dataset), *_published(engine, stores, dataset)]
        yield from found
        problems += found
    sound = len(wanted) - len({each.subject for each in problems})
    yield Finding("datasets", Health.OK, f"{counted(sound, 'dataset')} with what the catalog has published")


def _references(engine: Engine, stores: OpenStores, dataset: str) -> Iterator[Finding]:
    try:
        references = update_references(engine, dataset, lambda: stores.session)
    except ResourceError as error:
        yield Finding(dataset, Health.PROBLEM, str(error))
        return
    if changed := sum(each.changed for each in references):
        yield Finding(
            dataset,
            Health.REPAIRED,
            f"{counted(changed, 'reference')} for other programs led to another version",
        )


def _published(engine: Engine, stores: OpenStores, dataset: str) -> Iterator[Finding]:
    """Look for published versions whose rows are not there, or not as they were written."""
    versions = [row.version for row in published(engine, [dataset]) if row.version.locator is not None]
    installed = STORES.names()
    for store in sorted({each.store for each in versions}.difference(installed)):
        yield Finding(dataset, Health.WARNING, f"it is in the store {store}, which is not installed here")
    readable = [each for each in versions if each.store in installed]
    try:
        if readable:
            stores.read(readable)
    except ResourceError:
        # One by one, to name all that are wrong.
        for version in readable:
            try:
                stores.read([version])
            except ResourceError as error:
                yield Finding(dataset, Health.PROBLEM, str(error))
