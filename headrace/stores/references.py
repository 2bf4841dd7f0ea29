"""Update the stores' own references to published versions after pointers have moved."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Engine

from headrace.context import current_context
from headrace.queries.pointers import in_turn
from headrace.stores.capabilities import Capability
from headrace.stores.protocol import LazySession, Reference
from headrace.stores.registry import STORES


def update_references(
    engine: Engine, dataset: str, session: LazySession, partitions: Collection[str | None] | None = None
) -> list[Reference]:
    """Update the references to the dataset's published versions (of these partitions, or all), each in its store.

    A crash between a publish and this leaves a reference out of date; the next update of that pointer, or of all,
    corrects it. External datasets have no references, as other systems write them; nor have versions in stores that are
    not installed here. `session` is only called if a store needs Spark. Raises UnknownDataset, CatalogUnavailable, and
    ResourceError for a reference that cannot be updated, after all others of its store are.
    """
    with in_turn(engine, dataset, partitions) as published:
        if published.metadata.get("external"):
            return []
        configured = current_context().settings.warehouse_uri
        place = published.metadata.get("warehouse")
        places = {(row.version.store, place) for row in published.rows} | published.withdrawn.keys()
        shared = any(
            name in STORES and Capability.SHARED_REFERENCE in STORES.get(name).capabilities
            for name, _ in places
        )
        rows = published.all_rows() if shared else published.rows
        return [
            reference
            for name, base_uri in sorted(places, key=str)
            if name in STORES
            for reference in STORES.get(name).update_references(
                dataset,
                [row for row in rows if (row.version.store, place) == (name, base_uri)],
                published.withdrawn.get((name, base_uri), ()),
                base_uri or configured,
                session,
            )
        ]
