"""Look for personal data in the published rows of datasets: sample, judge, and store what is suggested.

A sample is neither stored nor shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from headrace.catalog.schema import sensitive
from headrace.catalog.sensitivity_suggestions import store_suggestions
from headrace.personal_data.suggestions import MIN_CONFIDENCE, Suggestion, suggestions
from headrace.queries.reading import readable_versions

if TYPE_CHECKING:
    from headrace.catalog.records import Version
    from headrace.stores.store import OpenStores

SAMPLE_ROWS = 1000
_SEED = 1  # of the sample, so that a second look finds the same
_SPARE = 1.5  # a sample has fewer rows than its fraction says, now and then


def look_for_personal_data(
    engine: Engine, stores: Callable[[], OpenStores], key: str, rows: int = SAMPLE_ROWS
) -> list[Suggestion]:
    """Suggest columns of the published versions of a dataset, and store those that are probable enough.

    Columns that are sensitive already are left out. stores: called if there are rows to read. Returns suggestions of
    any confidence. Raises UnknownDataset, MissingVersion, StoreUnavailable.
    """
    looked_at = datetime.now(UTC)
    versions = readable_versions(engine, key, None, None, None)
    hidden = sensitive(column for each in versions for column in each.columns)
    columns = {
        column.name: column.type for each in versions for column in each.columns if column.name not in hidden
    }
    found = suggestions(columns, _sample(stores(), versions, list(columns), rows) if columns else (), 0)
    probable = [each for each in found if each.confidence >= MIN_CONFIDENCE]
    store_suggestions(engine, key, probable, looked_at)
    return found


def _sample(
    stores: OpenStores, versions: Sequence[Version], columns: Sequence[str], rows: int
) -> Iterator[dict[str, object]]:
    from pyspark.sql import functions as F

    from headrace.spark.quoting import quoted

    with stores.explained(versions[0].location):
        frame = stores.read(versions)
        present = sum(each.row_count or 0 for each in versions)
        fraction = _SPARE * rows / present if present else 1.0
        if fraction < 1:
            frame = frame.sample(fraction=fraction, seed=_SEED)
        texts = [F.col(quoted(name)).cast("string").alias(name) for name in columns]
        for row in frame.select(*texts).limit(rows).toLocalIterator():
            yield row.asDict()
