"""The hourly synchronisation with OpenMetadata."""

import dagster as dg

from headrace.context import current_context
from headrace.database.connection import connect
from headrace.openmetadata.client import opened
from headrace.openmetadata.synchronisation import synchronise


@dg.op(description="Sends what changed to OpenMetadata, and reads what stewards wrote there.")
def synchronise_openmetadata(context: dg.OpExecutionContext) -> None:
    """Synchronise. It can be stopped at any time; the next run continues."""
    settings = current_context().settings.openmetadata
    with opened(settings) as client:
        done = synchronise(connect(), client, settings, on_progress=context.log.debug)
    for problem in done.problems:
        context.log.warning(problem)
    counts = {
        f"{kind} {action}": dg.MetadataValue.int(count) for (kind, action), count in done.counts.items()
    }
    context.add_output_metadata(
        {
            **counts,
            "requests": dg.MetadataValue.int(done.requests),
            "changes proposed by stewards": dg.MetadataValue.int(done.proposed),
            "problems": dg.MetadataValue.int(len(done.problems)),
        }
    )


@dg.job(name="openmetadata_sync", description="Synchronises the catalog with OpenMetadata, both ways.")
def openmetadata_sync() -> None:
    """Run the only step."""
    synchronise_openmetadata()


openmetadata_sync_hourly = dg.ScheduleDefinition(
    name="openmetadata_sync_hourly",
    job=openmetadata_sync,
    cron_schedule="40 * * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Hourly; the next hour makes up for a missed one.",
)
