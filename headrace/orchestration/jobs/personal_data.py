"""The nightly look for personal data in the datasets that changed."""

from functools import cache

import dagster as dg

from headrace.catalog.sensitivity_suggestions import datasets_to_look_at, stored_suggestions
from headrace.context import current_context
from headrace.database.connection import connect


@dg.op(
    description="Samples the datasets that changed, and suggests their columns that may have personal data."
)
def suggest_sensitive_columns(context: dg.OpExecutionContext) -> None:
    """Look at each dataset. It can be stopped at any time: the next run looks at the others.

    One that cannot be read does not stop the others, and is looked at again the next night.
    """
    # Here, because they load Spark.
    from headrace.errors import CatalogError
    from headrace.orchestration.personal_data import look_for_personal_data
    from headrace.spark.errors import ResourceError
    from headrace.spark.session import SparkResource
    from headrace.stores.store import OpenStores

    engine = connect()
    stores = cache(lambda: OpenStores(SparkResource().session, current_context().settings.warehouse_uri))
    keys, failed = datasets_to_look_at(engine), 0
    for key in keys:
        try:
            look_for_personal_data(engine, stores, key)
        except (CatalogError, ResourceError) as error:
            context.log.warning("%s: %s", key, error)
            failed += 1
    context.add_output_metadata(
        {
            "datasets": dg.MetadataValue.int(len(keys)),
            "failed": dg.MetadataValue.int(failed),
            "suggestions waiting for a decision": dg.MetadataValue.int(len(stored_suggestions(engine))),
        }
    )


@dg.job(
    name="sensitive_suggestions",
    description="Suggests columns of the datasets that changed that may have personal data, for a steward to decide.",
)
def sensitive_suggestions() -> None:
    """Run the only step."""
    suggest_sensitive_columns()


sensitive_suggestions_nightly = dg.ScheduleDefinition(
    name="sensitive_suggestions_nightly",
    job=sensitive_suggestions,
    cron_schedule="50 2 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Nightly; the next night makes up for a missed one.",
)
