"""Run times of external processes."""

from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import Engine

from headrace.catalog.records import Technology
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.queries.sql import statement

DAYS = 90


def mean_runtimes(engine: Engine, technology: Technology, instance: str = "") -> Mapping[str, timedelta]:
    """Return the mean run time of each process of an instance, by external name, over genuine successes of 90 days.

    Processes without reported starts are omitted.
    """
    with transaction(engine) as cursor:
        rows = statement("runs/runtimes").execute(
            cursor,
            {
                "organisation": current_context().organisation_id,
                "technology": technology,
                "instance": instance,
                "days": DAYS,
            },
        )
        return {row["external_name"]: row["mean"] for row in rows}
