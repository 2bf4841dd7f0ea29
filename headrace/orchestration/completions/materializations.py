"""Telling Dagster of completions elsewhere: a materialization for each, once, also when a teller dies."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from time import monotonic

import dagster as dg
from sqlalchemy import Engine

from headrace.access.redaction import scrubbed
from headrace.dagster_internals import DATA_VERSION_TAG
from headrace.database.locks import alone
from headrace.declarations.estate.keys import asset_key
from headrace.events.pending_materializations import Announcement, to_tell, told

COMPLETION_TAG = "headrace/completion"  # the run's id, or the version's
_AT_ONCE = 100


def tell_completions(
    engine: Engine,
    instance: dg.DagsterInstance,
    within: timedelta,
    shown: Collection[dg.AssetKey] | None = None,
) -> int:
    """Tell Dagster of the genuine completions that it does not know of, for as long as `within` says; how many.

    Each run, and each version, is told once, the earliest of what waits first; Dagster's own record says what it knows.
    One that comes late is told after what is newer, and marked. shown: the assets that there are; a process that was
    scanned and is none of them, because its box stands for it, is not told of.
    """
    deadline = monotonic() + within.total_seconds()
    count = 0
    with alone(engine, "telling of completions") as mine:
        while mine and monotonic() < deadline:
            waiting = to_tell(engine, _AT_ONCE)
            if not waiting:
                break
            done: list[Announcement] = []
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
                told(engine, done)
    return count


def materialization(said: Announcement) -> dg.AssetMaterialization:
    """What Dagster is told of a completion."""
    run: dict[str, dg.MetadataValue | str | int | float | bool | None] = {
        "process": said.process_key,
        "run": str(said.run_id) if said.run_id else None,
        "run number": said.run,
        "attempt": said.attempt if said.run else None,
        "status": said.status,
        "exit code": said.exit_code,
        "seconds": (said.at - said.started_at).total_seconds() if said.started_at else None,
        "machine": said.machine,
        "log": said.log_location,
        "business date": said.business_date,
        "ended": dg.MetadataValue.timestamp(said.at),
        "late": True if said.late else None,
    }
    if said.version is None:
        assert said.technology is not None  # noqa: S101 - a process has one
        key = asset_key(said.technology, said.process or "", said.instance)
        partition, words = None, f"{said.process} ended."
        version, about = said.run or said.event_key, run
    else:
        output = said.version
        key, partition = dg.AssetKey.from_user_string(output.dataset), output.partition
        rows = "dagster/row_count" if partition is None else "dagster/partition_row_count"
        words = f"{said.process_key} ended." if said.process_key else "It was registered."
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
        description=f"{words} This comes late: something newer was told before." if said.late else words,
        metadata={name: scrubbed(value) for name, value in about.items() if value is not None},
        tags={DATA_VERSION_TAG: version, COMPLETION_TAG: str(said.version_id or said.run_id)},
    )


def _is_news(
    instance: dg.DagsterInstance,
    said: Announcement,
    event: dg.AssetMaterialization,
    shown: Collection[dg.AssetKey] | None,
) -> bool:
    """Whether the completion is of something that is shown, and Dagster does not know of it."""
    if shown is not None and said.version is None and said.scanned and event.asset_key not in shown:
        return False
    return not _knows(instance, event)


def _knows(instance: dg.DagsterInstance, event: dg.AssetMaterialization) -> bool:
    """Whether this very completion is one that Dagster knows of its asset and partition."""
    tags = event.tags or {}
    version = {DATA_VERSION_TAG: tags[DATA_VERSION_TAG]}  # the only tag that Dagster finds events by
    if not instance.event_log_storage.get_event_tags_for_asset(event.asset_key, filter_tags=version):
        return False
    partitions = [event.partition] if event.partition else None
    records = dg.AssetRecordsFilter(asset_key=event.asset_key, asset_partitions=partitions)
    cursor, more = None, True
    while more:
        found = instance.fetch_materializations(records, limit=_AT_ONCE, cursor=cursor)
        for record in found.records:
            known = record.asset_materialization
            if known is not None and (known.tags or {}).get(COMPLETION_TAG) == tags[COMPLETION_TAG]:
                return True
        cursor, more = found.cursor, found.has_more
    return False
