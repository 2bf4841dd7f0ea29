"""Find garbage in the stores: what dead runs wrote, and no version names, and the rows of expired versions."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from sqlalchemy import Engine

from headrace.catalog.locators import FILES_STORE
from headrace.catalog.naming import own_namespace
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.publishing.runs import reap
from headrace.spark.errors import ResourceError, StoreUnavailable
from headrace.stores.references import update_references
from headrace.stores.registry import STORES
from headrace.stores.store import OpenStores
from headrace.stores.tags import begun

_LOG = logging.getLogger(__name__)
GRACE = timedelta(days=1)
# The versions of a dataset that was renamed stay in the place of its former key, which may be another's by now.
_PLACES = """
WITH named AS (
    SELECT dataset_id, full_name, full_name AS key FROM catalog.dataset WHERE organisation_id = %(organisation)s
    UNION
    SELECT dataset_id, full_name, named.name
    FROM catalog.dataset_name named
    JOIN catalog.dataset USING (dataset_id)
    WHERE named.organisation_id = %(organisation)s
      AND named.namespace = %(namespace)s
      AND named.name ~ '^[A-Za-z_][A-Za-z0-9_]*/[A-Za-z_][A-Za-z0-9_]*$' -- other names that were reported are no places
)
SELECT place.key, place.datasets, own.metadata_json ->> 'warehouse' AS base_uri,
       own.metadata_json ->> 'store' AS store, known.*
FROM (
    SELECT key, array_agg(dataset_id) AS ids, array_agg(full_name) AS datasets FROM named GROUP BY key
) place
LEFT JOIN catalog.dataset own ON own.organisation_id = %(organisation)s AND own.full_name = place.key
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(DISTINCT version_tag) FILTER (WHERE expired_at IS NULL), '{}')
               || coalesce(array_agg(DISTINCT segment ->> 'tag') FILTER (WHERE expired_at IS NULL), '{}') AS tags,
           coalesce(array_agg(DISTINCT version_tag) FILTER (WHERE expired_at IS NOT NULL), '{}') AS expired_tags,
           coalesce(
               jsonb_agg(DISTINCT jsonb_build_array(
                   coalesce(version.metadata_json ->> 'store', %(files)s), version.metadata_json ->> 'warehouse'
               )) FILTER (WHERE version.dataset_version_id IS NOT NULL),
               '[]'
           ) AS places
    FROM catalog.dataset_version version
    LEFT JOIN catalog.expired_version expired USING (dataset_version_id)
    -- The rows of an expired version stay while another one has them, which was appended to it.
    LEFT JOIN LATERAL jsonb_array_elements(version.metadata_json -> 'appended_to') AS segment ON TRUE
    WHERE version.dataset_id = ANY (place.ids)
) known
ORDER BY place.key
"""
_ROWS_DELETED = """
UPDATE catalog.expired_version expired SET rows_deleted_at = now()
FROM catalog.dataset_version version
WHERE expired.organisation_id = %s
  AND version.dataset_version_id = expired.dataset_version_id
  AND version.version_tag = %s
"""
_ROWS_LEFT = """
SELECT full_name, array_agg(DISTINCT version_tag) AS tags
FROM catalog.expired_version expired
JOIN catalog.dataset_version version USING (dataset_version_id)
JOIN catalog.dataset USING (dataset_id)
WHERE expired.organisation_id = %s AND rows_deleted_at IS NULL
GROUP BY full_name
"""
_OLDEST_RUNNING = """
SELECT min(start_ts) AS start_ts
FROM catalog.run_attempt
WHERE organisation_id = %s AND state = 'RUNNING'
"""


@dataclass(frozen=True, slots=True)
class Garbage:
    """Rows in a store that no version has: their tag and place, when their write began, their size in bytes.

    dataset: the key in whose place they are; present_keys: of the datasets that have or had this key. expired: an
    expired version had them. base_uri: of the dataset's versions, if it is not the configured warehouse.
    """

    dataset: str
    present_keys: tuple[str, ...]
    tag: str
    store: str
    base_uri: str | None
    location: str
    written_at: datetime
    byte_size: int
    expired: bool


def garbage(
    engine: Engine, stores: OpenStores, grace: timedelta = GRACE, now: datetime | None = None
) -> list[Garbage]:
    """Return what no version names in the stores of the datasets, or only expired ones; blocked and superseded versions
    are versions.

    What was begun later than `grace` before `now`, or than the start of the oldest live attempt, is excluded: that run
    may still publish it. Stores that are not installed here are skipped, and so are
    datasets whose place cannot be reached, with a warning.
    """
    reap(engine)
    before = (now or datetime.now(UTC)) - grace
    with transaction(engine) as cursor:
        running = cursor.execute(_OLDEST_RUNNING, [current_context().organisation_id]).fetchone()
    if running is not None and running["start_ts"] is not None:
        before = min(
            before, running["start_ts"].replace(microsecond=0)
        )  # tags have a resolution of one second
    found: list[Garbage] = []
    for row in _places(engine):
        try:
            found += _of_dataset(stores, row, before)
        except StoreUnavailable as error:
            _LOG.warning("%s was not looked at: %s", row["key"], error)
    return found


def expired_rows(engine: Engine, stores: OpenStores, datasets: Collection[str]) -> list[Garbage]:
    """Return the rows of expired versions of these datasets, however new."""
    return [
        each
        for row in _places(engine)
        if not set(row["datasets"]).isdisjoint(datasets)
        for each in _in_stores(stores, row, row["places"])
        if each.expired
    ]


def delete(engine: Engine, stores: OpenStores, found: Sequence[Garbage]) -> list[Garbage]:
    """Delete garbage, record which expired versions have no rows any more, and return what was deleted.

    The stores' references to published versions are brought up to date before, so that none leads to an expired version
    any more. A dataset whose references or place cannot be reached is left for the next time, with a warning.
    """
    deleted: list[Garbage] = []
    for dataset, garbage_of in groupby(
        sorted(found, key=lambda each: each.dataset), lambda each: each.dataset
    ):
        try:
            some = list(garbage_of)
            if any(each.expired for each in some):
                for key in some[0].present_keys:
                    update_references(engine, key, lambda: stores.session)
            for each in some:
                stores.named(each.store).delete(each.dataset, each.tag, each.base_uri)
                if each.expired:
                    with transaction(engine) as cursor:
                        cursor.execute(_ROWS_DELETED, [current_context().organisation_id, each.tag])
                deleted.append(each)
        except ResourceError as error:
            _LOG.warning("what %s no longer needs was not deleted: %s", dataset, error)
    return deleted


def record_gone(engine: Engine, stores: OpenStores) -> None:
    """Record that expired versions have no rows any more, where a process that deleted them died before it could."""
    with transaction(engine) as cursor:
        rows = cursor.execute(_ROWS_LEFT, [current_context().organisation_id]).fetchall()
    gone = {row["full_name"]: set(row["tags"]) for row in rows}
    for row in _places(engine) if gone else ():
        of_place = gone.keys() & set(row["datasets"])
        there = set(row["expired_tags"])  # unless all stores can be asked
        if of_place and all(store in STORES for store, _ in row["places"]):
            try:
                there = {each.tag for each in _in_stores(stores, row, row["places"])}
            except ResourceError as error:
                _LOG.warning("%s was not looked at: %s", row["key"], error)
        for dataset in of_place:
            gone[dataset] -= {*there, *row["tags"]}
    with transaction(engine) as cursor:
        for tag in set().union(*gone.values()):
            cursor.execute(_ROWS_DELETED, [current_context().organisation_id, tag])


def _places(engine: Engine) -> list[dict[str, Any]]:
    """Return the keys that datasets have or had, and the tags of the versions that may be in the place of each."""
    context = current_context()
    asked = {
        "organisation": context.organisation_id,
        "namespace": own_namespace(context.organisation),
        "files": FILES_STORE,
    }
    with transaction(engine) as cursor:
        return cursor.execute(_PLACES, asked).fetchall()


def _of_dataset(stores: OpenStores, row: Mapping[str, Any], before: datetime) -> list[Garbage]:
    """Look in the store and place where the dataset is now, and in those where it has versions."""
    places = [[row["store"] or FILES_STORE, row["base_uri"]], *row["places"]]
    return [each for each in _in_stores(stores, row, places) if each.written_at < before]


def _in_stores(
    stores: OpenStores, row: Mapping[str, Any], places: Iterable[Sequence[Any]]
) -> Iterator[Garbage]:
    """Yield rows that no version has, or expired ones only. places: each a store and the base of the versions there."""
    for store, base_uri in dict.fromkeys(map(tuple, places)):
        for tag in stores.named(store).tags(row["key"], base_uri) if store in STORES else ():
            if tag in row["tags"]:
                continue
            stored = stores.named(store).stored(row["key"], tag, base_uri)
            yield Garbage(
                row["key"],
                tuple(row["datasets"]),
                tag,
                store,
                base_uri,
                stored.location,
                begun(tag),
                stored.byte_size,
                tag in row["expired_tags"],
            )
