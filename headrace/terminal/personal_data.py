"""The samples from which columns with personal data are suggested: read, judged and dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import typer

from headrace.catalog.schema import sensitive
from headrace.personal_data.suggestions import Suggestion, suggestions
from headrace.terminal.frames import open_stores

if TYPE_CHECKING:
    from headrace.catalog.records import Version
    from headrace.stores.store import OpenStores

_SEED = 1  # of the sample, so that a second look finds the same
_SPARE = 1.5  # a sample has fewer rows than its fraction says, now and then


def suggested(keys: Sequence[str], rows: int, min_confidence: float) -> list[tuple[str, Suggestion]]:
    """Return suggestions for the published versions of datasets, apart from columns that are sensitive already.

    keys: empty for all datasets. Raises UnknownDataset, UnknownVersion for a dataset without a published version.
    """
    from headrace import queries
    from headrace.database.connection import connect
    from headrace.queries.reading import readable_versions

    engine, stores = connect(), cache(open_stores)
    names = keys or [each.key for each in queries.status(engine) if each.newest_tag is not None]
    found: list[tuple[str, Suggestion]] = []
    for number, key in enumerate(names, 1):
        typer.echo(f"{key} ({number} of {len(names)})", err=True)
        versions = readable_versions(engine, key, None, None, None)
        hidden = sensitive(column for each in versions for column in each.columns)
        columns = {
            column.name: column.type
            for each in versions
            for column in each.columns
            if column.name not in hidden
        }
        sample = _sample(stores, versions, list(columns), rows) if columns else ()
        found += [(key, each) for each in suggestions(columns, sample, min_confidence)]
    return found


def _sample(
    opened: Callable[[], OpenStores], versions: Sequence[Version], columns: Sequence[str], rows: int
) -> Iterator[dict[str, object]]:
    from pyspark.sql import functions as F

    from headrace.spark.quoting import quoted

    stores = opened()
    with stores.explained(versions[0].location):
        frame = stores.read(versions)
        present = sum(each.row_count or 0 for each in versions)
        fraction = _SPARE * rows / present if present else 1.0
        if fraction < 1:
            frame = frame.sample(fraction=fraction, seed=_SEED)
        texts = [F.col(quoted(name)).cast("string").alias(name) for name in columns]
        for row in frame.select(*texts).limit(rows).toLocalIterator():
            yield row.asDict()
