"""Erased versions in Dagster: their events are deleted, which have previews of rows and examples of failing ones."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg
import sqlalchemy as sa
from dagster import DagsterEventType
from sqlalchemy import Engine

from headrace.catalog.records import Version
from headrace.dagster_internals.storage import (
    AssetCheckExecutionsTable,
    AssetEventTagsTable,
    SqlEventLogStorage,
    SqlEventLogStorageTable,
)
from headrace.database.connection import transaction
from headrace.orchestration.sensors.reports import report_to_dagster
from headrace.publishing.erasure import unfinished_erasures
from headrace.publishing.unreported import UnreportedVersion
from headrace.queries.versions import published

_RUNS = "SELECT DISTINCT dagster_run_id FROM catalog.run_attempt WHERE run_id = ANY (%s) AND dagster_run_id IS NOT NULL"
_TOGETHER = 200  # versions: each is a condition of a query
_events = SqlEventLogStorageTable.c
_checks = AssetCheckExecutionsTable.c


def forget_erased_versions(
    engine: Engine, instance: dg.DagsterInstance, expired: Sequence[Version] = ()
) -> list[Version]:
    """Delete what Dagster has of the versions whose erased rows are still stored, and return these versions.

    expired: other versions of which it is deleted.
    To be called before their rows are deleted, which marks an erasure as finished: one that was killed is continued by
    the next command, or at night. Raises TypeError for an event log outside a database.
    """
    left = unfinished_erasures(engine)
    gone = [*left, *expired]
    for start in range(0, len(gone), _TOGETHER):
        _forget(engine, instance, gone[start : start + _TOGETHER])
    return left


def _forget(engine: Engine, instance: dg.DagsterInstance, versions: Sequence[Version]) -> None:
    """Delete the materializations and check results of the versions, and report those that are published now."""
    storage = instance.event_log_storage
    if not isinstance(storage, SqlEventLogStorage):
        raise TypeError(f"Dagster's event log is a {type(storage).__name__}, which Headrace cannot change")
    keys = [
        dg.AssetKey.from_user_string(key).to_string() for key in {version.dataset for version in versions}
    ]
    with transaction(engine) as cursor:
        rows = cursor.execute(_RUNS, [[version.run_id for version in versions]]).fetchall()
    runs = [row["dagster_run_id"] for row in rows]
    of_versions = sa.or_(
        sa.and_(
            _events.asset_key.in_(keys),
            _events.dagster_event_type == DagsterEventType.ASSET_MATERIALIZATION.value,
            sa.or_(*(_events.event.contains(version.tag, autoescape=True) for version in versions)),
        ),
        sa.and_(
            _events.dagster_event_type == DagsterEventType.ASSET_CHECK_EVALUATION.value,
            _events.run_id.in_(runs),
        ),
    )
    with storage.index_transaction() as connection:
        ids = list(connection.scalars(sa.select(_events.id).where(of_versions)))
        connection.execute(sa.delete(AssetEventTagsTable).where(AssetEventTagsTable.c.event_id.in_(ids)))
        connection.execute(sa.delete(SqlEventLogStorageTable).where(_events.id.in_(ids)))
        connection.execute(
            sa.delete(AssetCheckExecutionsTable).where(_checks.asset_key.in_(keys), _checks.run_id.in_(runs))
        )
    # Dagster keeps the last materialization of an asset apart: that of the version published now replaces it.
    for row in published(engine, sorted({version.dataset for version in versions})):
        report_to_dagster(instance, UnreportedVersion(row.version, row.generation, (), None, {}))
