"""The sensor that tells Dagster of files that landed: versions, row counts and freshness of external datasets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import dagster as dg
from dagster._core.definitions.data_version import DATA_VERSION_TAG

from catalog.database import connect
from catalog.records import Version
from components.plan import ExternalPlan, Plan
from sensors.observation import observe

TIME_FOR_READING = timedelta(seconds=30)  # Dagster cuts a tick at 60 s
NOTHING_TOLD = datetime.min.replace(tzinfo=UTC).isoformat()


def landing_sensor(plans: Sequence[Plan]) -> dg.SensorDefinition:
    """The sensor over the external datasets among `plans`.

    Its cursor is the time of the newest version that Dagster was told of. A tick that dies after publishing leaves
    the cursor, so that the next one tells what it did not, as well as what somebody else published meanwhile.
    """
    external = [plan for plan in plans if isinstance(plan, ExternalPlan)]

    @dg.sensor(
        name="landed_files",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Registers the files that landed as versions of their external datasets.",
    )
    def landed_files(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        observation = observe(connect(), external, TIME_FOR_READING)
        for problem in observation.problems:
            context.log.warning(problem)
        told = datetime.fromisoformat(context.cursor or NOTHING_TOLD)
        versions = sorted(
            (version for version in observation.published if version.created_at > told),
            key=lambda version: version.created_at,
        )
        return dg.SensorResult(
            asset_events=[materialization(version) for version in versions],
            cursor=versions[-1].created_at.isoformat() if versions else context.cursor,
            skip_reason=None if versions else dg.SkipReason("No file has landed since the last look."),
        )

    return landed_files


def materialization(version: Version) -> dg.AssetMaterialization:
    """What Dagster is told of a version of an external dataset."""
    rows = "dagster/row_count" if version.partition is None else "dagster/partition_row_count"
    return dg.AssetMaterialization(
        asset_key=dg.AssetKey.from_user_string(version.dataset),
        partition=version.partition,
        description="A file landed.",
        metadata={
            rows: version.row_count,
            "dagster/uri": version.location,
            "version": version.tag,
            "bytes": version.byte_size,
            "checksum": version.checksum,
        },
        tags={DATA_VERSION_TAG: version.tag},
    )
