"""The nightly retention job: archive old runs and events, prune Dagster's log."""

from datetime import UTC, datetime

import dagster as dg

from headrace.database.connection import connect
from headrace.orchestration.jobs.dagster_log import prune


@dg.op(description="Archives runs and events older than 90 days, and prunes Dagster's event log as far back.")
def archive_and_prune(context: dg.OpExecutionContext) -> None:
    """Archive and prune. Both can be stopped at any time; the next run continues."""
    # Here, because they load pyarrow and pandas, which the other processes that load the definitions do not need.
    from headrace.retention.archiving import HOT_RETENTION, archive_everywhere
    from headrace.retention.registry import ArchivingElsewhere

    found: dict[str, dg.MetadataValue] = {}
    try:
        done = archive_everywhere(connect(), on_progress=context.log.info)
    except ArchivingElsewhere as elsewhere:
        context.log.warning(str(elsewhere))
    else:
        counts = {f"archived {kind.folder}": rows for kind, rows in done.rows.items()}
        counts |= {"files": done.files, "bytes": done.byte_size, "late runs": done.late}
        counts |= {
            "partitions made": done.made,
            "partitions dropped": done.dropped,
            "alerts deleted": done.alerts,
        }
        found |= {name: dg.MetadataValue.int(count) for name, count in counts.items()}
    pruned = prune(context.instance, datetime.now(UTC) - HOT_RETENTION)
    found["pruned events of Dagster"] = dg.MetadataValue.int(pruned.events)
    found["pruned check results of Dagster"] = dg.MetadataValue.int(pruned.check_results)
    context.add_output_metadata(found)


@dg.job(
    name="catalog_retention",
    description="Keeps 90 days in the tables, and older runs and events in the archive.",
)
def catalog_retention() -> None:
    """Run the only step."""
    archive_and_prune()


catalog_retention_nightly = dg.ScheduleDefinition(
    name="catalog_retention_nightly",
    job=catalog_retention,
    cron_schedule="20 2 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Nightly; the next night makes up for a missed one.",
)
