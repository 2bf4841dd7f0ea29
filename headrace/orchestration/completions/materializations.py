"""Report external completions to Dagster: one materialization each, exactly once, whichever process dies in between."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from time import monotonic

import dagster as dg
from sqlalchemy import Engine

from headrace.access.redaction import scrubbed
from headrace.dagster_internals import DATA_VERSION_TAG
from headrace.database.locks import alone
from headrace.estate_assets.keys import asset_key
from headrace.events.pending_materializations import (
    PendingMaterialization,
    delete_delivered,
    pending_materializations,
)

COMPLETION_TAG = "headrace/completion"  # the run's id, or the version's
_BATCH_SIZE = 100


def report_completions(
    engine: Engine,
    instance: dg.DagsterInstance,
    within: timedelta,
    shown: Collection[dg.AssetKey] | None = None,
) -> int:
    """Report the genuine completions that Dagster does not have, for at most `within`; returns their number.

    Each run, and each version, is reported once, earliest first; Dagster's own events show what it has. A late one is
    reported after newer ones, and marked. shown: the existing assets; a scanned process that is not among them, because
    its box represents it, is not reported.
    """
    deadline = monotonic() + within.total_seconds()
    count = 0
    with alone(engine, "reporting completions to Dagster") as mine:
        while mine and monotonic() < deadline:
            waiting = pending_materializations(engine, _BATCH_SIZE)
            if not waiting:
                break
            done: list[PendingMaterialization] = []
            try:
                for each in waiting:
                    if monotonic() >= deadline:
                        break
                    event = materialization(each)
                    if _is_news(instance, each, event, shown):
                        instance.report_runless_asset_event(event)
                        count += 1
                    done.append(each)
            finally:
                delete_delivered(engine, done)
    return count


def materialization(pending: PendingMaterialization) -> dg.AssetMaterialization:
    """Convert a completion to a materialization."""
    run: dict[str, dg.MetadataValue | str | int | float | bool | None] = {
        "process": pending.process_key,
        "run": str(pending.run_id) if pending.run_id else None,
        "run number": pending.run,
        "attempt": pending.attempt if pending.run else None,
        "status": pending.status,
        "exit code": pending.exit_code,
        "seconds": (pending.at - pending.started_at).total_seconds() if pending.started_at else None,
        "machine": pending.machine,
        "log": pending.log_location,
        "business date": pending.business_date,
        "ended": dg.MetadataValue.timestamp(pending.at),
        "late": True if pending.late else None,
    }
    if pending.version is None:
        assert pending.technology is not None  # noqa: S101 - a process has one
        key = asset_key(pending.technology, pending.process or "", pending.instance)
        partition, description = None, f"{pending.process} ended."
        version, about = pending.run or pending.event_key, run
    else:
        output = pending.version
        key, partition = dg.AssetKey.from_user_string(output.dataset), output.partition
        rows = "dagster/row_count" if partition is None else "dagster/partition_row_count"
        description = f"{pending.process_key} ended." if pending.process_key else "It was registered."
        version = output.tag
        about = {
            rows: output.row_count,
            "dagster/uri": output.location,
            "version": output.tag,
            "bytes": output.byte_size,
            "checksum": output.checksum,
            "not measured": output.not_measured,
            **run,
        }
    return dg.AssetMaterialization(
        asset_key=key,
        partition=partition,
        description=f"{description} Late: a newer completion was reported before."
        if pending.late
        else description,
        metadata={name: scrubbed(value) for name, value in about.items() if value is not None},
        tags={DATA_VERSION_TAG: version, COMPLETION_TAG: str(pending.version_id or pending.run_id)},
    )


def _is_news(
    instance: dg.DagsterInstance,
    pending: PendingMaterialization,
    event: dg.AssetMaterialization,
    shown: Collection[dg.AssetKey] | None,
) -> bool:
    """Return True if the completion belongs to an existing asset, and Dagster does not have it."""
    if shown is not None and pending.version is None and pending.scanned and event.asset_key not in shown:
        return False
    return not _knows(instance, event)


def _knows(instance: dg.DagsterInstance, event: dg.AssetMaterialization) -> bool:
    """Return True if Dagster has this completion for its asset and partition."""
    tags = event.tags or {}
    version = {DATA_VERSION_TAG: tags[DATA_VERSION_TAG]}  # the only tag by which Dagster finds events
    if not instance.event_log_storage.get_event_tags_for_asset(event.asset_key, filter_tags=version):
        return False
    partitions = [event.partition] if event.partition else None
    records = dg.AssetRecordsFilter(asset_key=event.asset_key, asset_partitions=partitions)
    cursor, more = None, True
    while more:
        found = instance.fetch_materializations(records, limit=_BATCH_SIZE, cursor=cursor)
        for record in found.records:
            known = record.asset_materialization
            if known is not None and (known.tags or {}).get(COMPLETION_TAG) == tags[COMPLETION_TAG]:
                return True
        cursor, more = found.cursor, found.has_more
    return False
