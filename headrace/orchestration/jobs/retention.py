"""The nightly retention job: archive old runs and events, prune Dagster's log, let versions expire."""

from datetime import UTC, datetime

import dagster as dg

from headrace.context import current_context
from headrace.database.connection import connect
from headrace.orchestration.jobs.dagster_log import prune
from headrace.publishing.expiry import expire_versions, rows_are_left


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


@dg.op(
    description="Lets versions expire that the `keep` of their datasets does not keep, and deletes their rows."
)
def expire(context: dg.OpExecutionContext) -> None:
    """Expire versions, and delete their rows and those that an interrupted night left.

    Spark, through which stores delete, is started only if there are any.
    """
    # Here, because they load Spark.
    from headrace.orchestration import garbage
    from headrace.orchestration.erasure import forget_erased_versions
    from headrace.spark.session import SparkResource
    from headrace.stores.store import OpenStores

    engine = connect()
    expired = expire_versions(engine)
    deleted: list[garbage.Garbage] = []
    if rows_are_left(engine):
        forget_erased_versions(engine, context.instance)
        stores = OpenStores(SparkResource().session, current_context().settings.warehouse_uri)
        garbage.record_gone(engine, stores)
        expired_rows = [each for each in garbage.garbage(engine, stores) if each.expired]
        deleted = garbage.delete(engine, stores, expired_rows)
    context.add_output_metadata(
        {
            "expired versions": dg.MetadataValue.int(len(expired)),
            "deleted bytes": dg.MetadataValue.int(sum(each.byte_size for each in deleted)),
        }
    )


@dg.job(
    name="catalog_retention",
    description="Keeps 90 days in the tables, and older runs and events in the archive. Lets versions expire.",
)
def catalog_retention() -> None:
    """Run both steps."""
    archive_and_prune()
    expire()


catalog_retention_nightly = dg.ScheduleDefinition(
    name="catalog_retention_nightly",
    job=catalog_retention,
    cron_schedule="20 2 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Nightly; the next night makes up for a missed one.",
)
