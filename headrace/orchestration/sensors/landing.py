"""The landing sensor: reports landed files to Dagster with versions, row counts and freshness."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import dagster as dg

from headrace.access.redaction import redacted
from headrace.alerts.heartbeat import record_heartbeat
from headrace.catalog.locators import FILES_STORE
from headrace.catalog.records import Version
from headrace.dagster_internals import DATA_VERSION_TAG
from headrace.database.connection import connect
from headrace.events.scheduler_versions import REPORTED
from headrace.execution.plan import ExternalPlan, Plan
from headrace.landed.files import not_looked_at
from headrace.landed.observation import Memory, Observation, observe
from headrace.orchestration.partition_keys import add_partition_keys

READ_TIME_LIMIT = timedelta(seconds=30)  # Dagster cancels a tick at 60 s
NEVER_REPORTED = datetime.min.replace(tzinfo=UTC)
MARK = "headrace/landed_files_told"  # in Dagster's storage, for reports from outside the sensor


def landing_sensor(plans: Sequence[Plan]) -> dg.SensorDefinition:
    """Create the sensor over the external datasets among `plans`.

    Its cursor is the time of the newest version reported to Dagster. A tick that dies after publishing leaves the
    cursor unchanged, so that the next one reports the rest.
    """
    external = [plan for plan in plans if isinstance(plan, ExternalPlan)]
    memory: Memory = {}
    parts = [
        "Registers files that landed, and tables that changed, as versions of their external datasets.",
        not_looked_at(external),
    ]

    @dg.sensor(
        name="landed_files",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=" ".join(filter(None, parts)),
    )
    def landed_files(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        engine = connect()
        observation = observe(engine, external, READ_TIME_LIMIT, memory)
        record_heartbeat(engine, "landed_files", datetime.now(UTC))
        for problem in observation.problems:
            context.log.warning(problem)
        if observation.left:
            context.log.info(f"{observation.left} left for the next tick: the time limit was reached.")
        reported = max(
            _reported(context.instance),
            datetime.fromisoformat(context.cursor) if context.cursor else NEVER_REPORTED,
        )
        _mark(context.instance, reported)
        versions = _since(reported, observation)
        _add_keys(context.instance, external, versions)
        return dg.SensorResult(
            asset_events=[materialization(version) for version in versions],
            cursor=versions[-1].created_at.isoformat() if versions else context.cursor,
            skip_reason=None if versions else dg.SkipReason("No file has landed since the last tick."),
        )

    return landed_files


def report_landed_files(
    instance: dg.DagsterInstance, external: Sequence[ExternalPlan], observation: Observation
) -> None:
    """Report unreported versions to Dagster immediately, instead of the sensor, which will not repeat that."""
    versions = _since(_reported(instance), observation)
    _add_keys(instance, external, versions)
    for version in versions:
        instance.report_runless_asset_event(materialization(version))
    if versions:
        _mark(instance, versions[-1].created_at)


def _add_keys(
    instance: dg.DagsterInstance, external: Sequence[ExternalPlan], versions: Sequence[Version]
) -> None:
    """Add the partition keys of these versions that are new to Dagster."""
    for plan in external:
        keys = [each.partition for each in versions if each.dataset == plan.record.key and each.partition]
        if keys:
            add_partition_keys(instance, plan.partitions, keys)


def _since(reported: datetime, observation: Observation) -> list[Version]:
    unreported = [
        version
        for version in observation.published
        if version.created_at > reported and REPORTED not in version.metadata  # reported by the ingestion
    ]
    return sorted(unreported, key=lambda version: version.created_at)


def _reported(instance: dg.DagsterInstance) -> datetime:
    mark = instance.daemon_cursor_storage.get_cursor_values({MARK}).get(MARK)
    return datetime.fromisoformat(mark) if mark else NEVER_REPORTED


def _mark(instance: dg.DagsterInstance, reported: datetime) -> None:
    if reported > _reported(instance):
        instance.daemon_cursor_storage.set_cursor_values({MARK: reported.isoformat()})


def materialization(version: Version) -> dg.AssetMaterialization:
    """Create the materialization of an external dataset's version."""
    rows = "dagster/row_count" if version.partition is None else "dagster/partition_row_count"
    return dg.AssetMaterialization(
        asset_key=dg.AssetKey.from_user_string(version.dataset),
        partition=version.partition,
        description="A file landed." if version.store == FILES_STORE else "A table changed.",
        metadata={
            rows: version.row_count,
            "dagster/uri": redacted(version.location),
            "version": version.tag,
            "bytes": version.byte_size,
            "checksum": version.checksum,
        },
        tags={DATA_VERSION_TAG: version.tag},
    )
