"""The store's reference to the published version: the view that other programs read.

The view is of two branches, and the first has no rows: its condition says for what the view was made. It makes the view
one that no program can write through, in every database, and by it Headrace knows its own views.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.catalog.records import Version
from headrace.connections.database import Database, opened
from headrace.connections.dialects import literal
from headrace.connections.failures import StatementFailed
from headrace.queries.rows import PublishedRow
from headrace.spark.errors import StoreUnavailable
from headrace.stores.jdbc.place import Place
from headrace.stores.jdbc.tables import of_version, published_query
from headrace.stores.protocol import LazySession, Reference

_MARK = "headrace "
_OTHER_COLUMNS = (
    "42P16"  # PostgreSQL's SQLSTATE for a view that cannot be replaced by one without its columns
)


def update_view(
    dataset: str,
    rows: Sequence[PublishedRow],
    withdrawn: Sequence[str | None],
    base_uri: str,
    session: LazySession,
) -> list[Reference]:
    """Let the view show the published version; without one, it is dropped.

    In one transaction, or one statement where the database commits each. Raises StoreUnavailable, also for a relation
    of the view's name that is not Headrace's, and for a version whose table is gone.
    """
    references = []
    for row in rows:
        place = Place.of(dataset, row.version.metadata.get("warehouse"))
        with opened(place.connection, session()) as database:
            changed = _show(database, place, row.version)
        view = place.connection.dialect.written((place.schema, place.view))
        references.append(
            Reference(dataset, None, row.version.tag, f"{place.connection.name}:{view}", changed)
        )
    if withdrawn and not rows:
        place = Place.of(dataset, base_uri)
        with opened(place.connection, session()) as database:
            if _shown(database, place) is not None:
                database.execute(f"DROP VIEW {_view(place)}")
    return references


def _show(database: Database, place: Place, version: Version) -> bool:
    """Let the view show a version; returns False if it does already."""
    mark = f"{_MARK}{place.dataset} {version.tag}"
    shown = _shown(database, place)
    if shown is not None and literal(mark) in shown:
        return False
    table = of_version(place.connection, version)
    if table.name not in database.relations(table.schema, table.name):
        raise StoreUnavailable(
            f"The table {place.connection.dialect.written((table.schema, table.name))} of {version.dataset} version "
            f"{version.tag} is gone from the connection {place.connection.name}. Roll back to another version, or "
            "materialize the dataset again."
        )
    query = published_query(place.connection, table, version.columns, mark)
    ways = place.connection.dialect.replacements((place.schema, place.view), query, exists=shown is not None)
    for way in ways[:-1]:
        try:
            database.execute(*way)
        except StatementFailed as error:
            if error.state != _OTHER_COLUMNS:
                raise
        else:
            return True
    database.execute(*ways[-1])
    return True


def _shown(database: Database, place: Place) -> str | None:
    """Return the text of the dataset's view; None if there is none. Raises StoreUnavailable if it is another's."""
    kind = database.relations(place.schema, place.view).get(place.view)
    if kind is None:
        return None
    text = ""
    if kind == "VIEW":
        text = str(database.value(place.connection.dialect.view_text, [place.schema, place.view]) or "")
    if literal(f"{_MARK}{place.dataset} ")[:-1] not in text:
        raise StoreUnavailable(
            f"Another program, or another dataset, has made the {kind.lower()} "
            f"{place.connection.dialect.written((place.schema, place.view))} of the connection "
            f"{place.connection.name}, and Headrace does not overwrite it. Drop or rename it, and run "
            f"`headrace manifests {place.dataset}`; or set another `table` of the output."
        )
    return text


def _view(place: Place) -> str:
    return place.connection.dialect.relation((place.schema, place.view))
