"""Prune Dagster's event log to what its UI and automation need; the catalog has the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg
import sqlalchemy as sa
from dagster import DagsterEventType, DagsterRunStatus, RunsFilter
from sqlalchemy import ColumnElement, Connection

from headrace.dagster_internals import FINISHED_STATUSES
from headrace.dagster_internals.storage import (
    AssetCheckExecutionsTable,
    AssetEventTagsTable,
    SqlEventLogStorage,
    SqlEventLogStorageTable,
)

BATCH_SIZE = 20_000  # rows per statement
# Step events, in addition to log messages (events without a type). Failures are kept.
DETAILS = (
    DagsterEventType.STEP_INPUT,
    DagsterEventType.STEP_OUTPUT,
    DagsterEventType.STEP_START,
    DagsterEventType.STEP_SUCCESS,
    DagsterEventType.STEP_SKIPPED,
    DagsterEventType.STEP_RESTARTED,
    DagsterEventType.STEP_UP_FOR_RETRY,
    DagsterEventType.STEP_WORKER_STARTING,
    DagsterEventType.STEP_WORKER_STARTED,
    DagsterEventType.STEP_EXPECTATION_RESULT,
    DagsterEventType.RESOURCE_INIT_STARTED,
    DagsterEventType.RESOURCE_INIT_SUCCESS,
    DagsterEventType.RESOURCE_INIT_FAILURE,
    DagsterEventType.OBJECT_STORE_OPERATION,
    DagsterEventType.ASSET_STORE_OPERATION,
    DagsterEventType.LOADED_INPUT,
    DagsterEventType.HANDLED_OUTPUT,
    DagsterEventType.ENGINE_EVENT,
    DagsterEventType.HOOK_COMPLETED,
    DagsterEventType.HOOK_ERRORED,
    DagsterEventType.HOOK_SKIPPED,
    DagsterEventType.LOGS_CAPTURED,
    # Check results are in a separate table.
    DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED,
    DagsterEventType.ASSET_CHECK_EVALUATION,
)
# Dagster needs the newest of each asset and partition.
OF_ASSETS = (
    DagsterEventType.ASSET_MATERIALIZATION,
    DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
    DagsterEventType.ASSET_FAILED_TO_MATERIALIZE,
    DagsterEventType.ASSET_OBSERVATION,
    DagsterEventType.FRESHNESS_STATE_CHANGE,
)
_events = SqlEventLogStorageTable.c
_checks = AssetCheckExecutionsTable.c


@dataclass(frozen=True, slots=True)
class PruningResult:
    """Numbers of deleted rows: log events, and check results superseded by later ones."""

    events: int
    check_results: int


def prune(instance: dg.DagsterInstance, before: datetime, *, dry_run: bool = False) -> PruningResult:
    """Delete unneeded rows older than `before` from Dagster's event log.

    These are log messages and step events of finished runs, and asset events and check results that have newer ones.
    Runs, their ends and failures stay, and so does the newest event of each asset and partition, which automation,
    staleness and partition status depend on. Deletes in pieces, each committed: it can be stopped at any time. A dry
    run counts and deletes nothing.
    """
    storage = instance.event_log_storage
    if not isinstance(storage, SqlEventLogStorage):
        raise TypeError(f"Dagster's event log is a {type(storage).__name__}, which Headrace cannot prune")
    naive = before.astimezone(UTC).replace(tzinfo=None)  # in Dagster's format
    going_on = [run.run_id for run in instance.get_runs(RunsFilter(statuses=_UNFINISHED))]
    log = _Log(storage, naive, going_on, dry_run)
    return PruningResult(log.events(), log.check_results())


_UNFINISHED = [status for status in DagsterRunStatus if status not in FINISHED_STATUSES]


@dataclass(frozen=True, slots=True)
class _Log:
    storage: SqlEventLogStorage
    before: datetime
    going_on: list[str]
    dry_run: bool

    def events(self) -> int:
        done = 0
        superseded = sa.and_(
            _events.timestamp < self.before,
            _events.run_id.not_in(self.going_on),
            sa.or_(
                _events.dagster_event_type.is_(None),
                _events.dagster_event_type.in_([each.value for each in DETAILS]),
                sa.and_(
                    _events.dagster_event_type.in_([each.value for each in OF_ASSETS]), _has_newer_event()
                ),
            ),
        )
        for part in self._parts(SqlEventLogStorageTable, _events.timestamp):
            with self.storage.index_transaction() as connection:
                ids = list(connection.scalars(sa.select(_events.id).where(part, superseded)))
                done += len(ids)
                if ids and not self.dry_run:
                    _delete(connection, AssetEventTagsTable.c.event_id, ids)
                    _delete(connection, _events.id, ids)
        return done

    def check_results(self) -> int:
        done = 0
        newer = sa.alias(AssetCheckExecutionsTable)
        superseded = sa.and_(
            _checks.create_timestamp < self.before,
            _checks.run_id.not_in(self.going_on),
            sa.exists().where(
                newer.c.asset_key == _checks.asset_key,
                newer.c.check_name == _checks.check_name,
                newer.c.partition.is_not_distinct_from(_checks.partition),
                newer.c.id > _checks.id,
            ),
        )
        for part in self._parts(AssetCheckExecutionsTable, _checks.create_timestamp):
            with self.storage.index_transaction() as connection:
                ids = list(connection.scalars(sa.select(_checks.id).where(part, superseded)))
                done += len(ids)
                if ids and not self.dry_run:
                    _delete(connection, _checks.id, ids)
        return done

    def _parts(self, table: sa.Table, time: ColumnElement[datetime]) -> Iterator[ColumnElement[bool]]:
        """Yield ranges of rows, from the first to the first that is not old, in pieces."""
        key = table.c.id
        first = 0
        while True:
            with self.storage.index_connection() as connection:
                rows = connection.execute(
                    sa.select(key, time).where(key >= first).order_by(key).limit(BATCH_SIZE)
                ).all()
            if not rows:
                return
            yield key.between(rows[0][0], rows[-1][0])
            if len(rows) < BATCH_SIZE or (rows[-1][1] is not None and rows[-1][1] >= self.before):
                return
            first = rows[-1][0] + 1


def _has_newer_event() -> ColumnElement[bool]:
    newer = sa.alias(SqlEventLogStorageTable)
    return sa.exists().where(
        newer.c.asset_key == _events.asset_key,
        newer.c.dagster_event_type == _events.dagster_event_type,
        newer.c.partition.is_not_distinct_from(_events.partition),
        newer.c.id > _events.id,
    )


def _delete(connection: Connection, key: ColumnElement[int], ids: list[int]) -> None:
    table = key.table
    connection.execute(sa.delete(table).where(key.in_(ids)))
