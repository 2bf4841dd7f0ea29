"""The reports sensor: completes what a run that died after publishing did not report."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic

import dagster as dg
from sqlalchemy import Engine

from headrace.alerts.heartbeat import record_heartbeat
from headrace.catalog.records import Outcome, Publication
from headrace.dagster_internals import CODE_VERSION_TAG, DATA_VERSION_TAG, get_input_data_version_tag
from headrace.database.connection import connect
from headrace.database.locks import alone
from headrace.execution.metadata import version_metadata
from headrace.execution.notices import Notice, missing, notify
from headrace.execution.plan import Plan, ProcessPlan
from headrace.publishing.unreported import (
    UnreportedVersion,
    delete_replaced,
    delete_reported,
    record_failure,
    unreported_versions,
)

TIME_LIMIT = timedelta(seconds=15)  # Dagster cancels a tick at 60 s, and one call of sendevent may take 30 s


def reports_sensor(plans: Sequence[Plan]) -> dg.SensorDefinition:
    """Create the sensor over the outputs of `plans`.

    It keeps no state of its own: a version stays in the catalog's outbox until Dagster knows it and its notifications
    are delivered.
    """
    notices = {
        output.record.key: output.notices
        for plan in plans
        if isinstance(plan, ProcessPlan)
        for output in plan.outputs
    }

    @dg.sensor(
        name="publication_reports",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Reports versions whose run died after publishing them, and repeats failed notifications.",
    )
    def publication_reports(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        engine = connect()
        reported = 0
        with alone(engine, "reporting published versions") as mine:
            deadline = monotonic() + TIME_LIMIT.total_seconds()
            owed = unreported_versions(engine, notices, due=True).versions if mine else ()
            for each in owed:
                report_to_dagster(context.instance, each)
            for each in owed:
                if monotonic() < deadline:
                    reported += deliver_notices(engine, each, notices[each.version.dataset])
            if mine:
                delete_replaced(engine)
        record_heartbeat(engine, "publication_reports", datetime.now(UTC))
        return dg.SensorResult(skip_reason=dg.SkipReason(f"Versions reported: {reported}."))

    return publication_reports


def report_to_dagster(instance: dg.DagsterInstance, unreported: UnreportedVersion) -> None:
    """Report the version to Dagster, unless Dagster knows it."""
    event = materialization(unreported)
    if not _is_known(instance, event):
        instance.report_runless_asset_event(event)


def deliver_notices(engine: Engine, unreported: UnreportedVersion, notices: Sequence[Notice]) -> bool:
    """Deliver the missing notifications of a version that Dagster knows; then nothing is owed any more.

    Returns False if one failed: the version stays in the outbox for another try.
    """
    version = unreported.version
    undelivered = missing(notices, version, unreported.delivered)
    [notified] = notify(undelivered, [version], pauses=(), within=TIME_LIMIT.total_seconds())
    if notified.failed:
        record_failure(engine, version.version_id, notified.delivered, "; ".join(notified.failed))
        return False
    delete_reported(engine, [version.version_id])
    return True


def materialization(unreported: UnreportedVersion) -> dg.AssetMaterialization:
    """Create the materialization that the version's run did not report."""
    version = unreported.version
    return dg.AssetMaterialization(
        asset_key=dg.AssetKey.from_user_string(version.dataset),
        partition=version.partition,
        description="Reported without its run.",
        metadata=version_metadata(Publication(version, Outcome.PUBLISHED, unreported.generation)),
        tags={
            DATA_VERSION_TAG: version.tag,
            **({CODE_VERSION_TAG: version.code_version} if version.code_version else {}),
            **{
                get_input_data_version_tag(dg.AssetKey.from_user_string(dataset)): tag
                for dataset, tag in unreported.inputs.items()
            },
        },
    )


def _is_known(instance: dg.DagsterInstance, event: dg.AssetMaterialization) -> bool:
    """Return True if the newest materialization of the asset's partition is of this version."""
    partitions = [event.partition] if event.partition else None
    newest = instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=event.asset_key, asset_partitions=partitions), limit=1
    ).records
    return any(
        record.asset_materialization is not None
        and (record.asset_materialization.tags or {}).get(DATA_VERSION_TAG)
        == (event.tags or {})[DATA_VERSION_TAG]
        for record in newest
    )
