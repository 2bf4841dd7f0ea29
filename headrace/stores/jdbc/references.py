"""The store's reference to the published versions: the view that other programs read.

The first branch of the view has no rows: its condition says for which versions the view was made. It makes the view one
that no program can write through, in every database, and by it Headrace knows its own views. The others are the tables
of the versions, one for each run that wrote some of the published partitions.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.catalog.records import Version
from headrace.connections.database import Database
from headrace.connections.dialects import literal
from headrace.connections.failures import StatementFailed
from headrace.connections.opening import opened
from headrace.queries.rows import PublishedRow
from headrace.spark.errors import StoreUnavailable
from headrace.stores.columns import merged_columns
from headrace.stores.jdbc.place import Place
from headrace.stores.jdbc.tables import NUMBER_OPTION, by_table, published_query
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
    """Let the view show the published versions; without one, it is dropped.

    rows: of all published partitions. In one transaction, or one statement where the database commits each. Raises
    StoreUnavailable, also for a relation of the view's name that is not Headrace's, and for a version whose table is
    gone.
    """
    references = []
    by_place: dict[str | None, list[PublishedRow]] = {}
    for row in rows:
        by_place.setdefault(row.version.metadata.get("warehouse"), []).append(row)
    for uri, published in by_place.items():
        place = Place.of(dataset, uri)
        with opened(place.connection, session) as database:
            changed = _show(database, place, [row.version for row in published])
        view = place.connection.dialect.written((place.schema, place.view))
        references += [
            Reference(
                dataset,
                row.partition,
                row.version.tag,
                f"{place.connection.name}:{view}",
                row.partition in changed,
            )
            for row in published
        ]
    if withdrawn and not rows:
        place = Place.of(dataset, base_uri)
        with opened(place.connection, session) as database:
            if _shown(database, place) is not None:
                database.execute(f"DROP VIEW {_view(place)}")
    return references


def _show(database: Database, place: Place, versions: Sequence[Version]) -> set[str | None]:
    """Let the view show the versions; returns the partitions that it did not show, or otherwise."""
    marks = {version.partition: _mark(place, version) for version in versions}
    shown = _shown(database, place)
    behind = {partition for partition, mark in marks.items() if shown is None or literal(mark) not in shown}
    if shown is not None and not behind and shown.count(_own_mark(place)) == len(marks):
        return set()
    tables = by_table(place.connection, versions)
    known = database.relations(place.schema, place.prefix)
    for table, (version, *_) in tables.items():
        if table.name not in known and table.name not in database.relations(table.schema, table.name):
            raise StoreUnavailable(
                f"The table {place.connection.dialect.written((table.schema, table.name))} of {version.dataset} "
                f"version {version.tag} is gone from the connection {place.connection.name}. Roll back to another "
                "version, or materialize the dataset again."
            )
    query = published_query(place.connection, tables, merged_columns(versions), list(marks.values()))
    ways = place.connection.dialect.replacements((place.schema, place.view), query, exists=shown is not None)
    for way in ways[:-1]:
        try:
            database.execute(*way)
        except StatementFailed as error:
            if error.state != _OTHER_COLUMNS:
                raise
        else:
            return behind
    database.execute(*ways[-1])
    return behind


def _mark(place: Place, version: Version) -> str:
    """Return the text by which the view says that it shows a version: the tag, and the number of its partition."""
    number = (version.metadata.get("options") or {}).get(NUMBER_OPTION)
    return f"{_MARK}{place.dataset} {version.tag}" + (f" {number}" if number is not None else "")


def _own_mark(place: Place) -> str:
    """Return the beginning of the marks of the dataset, as they are in the view's text."""
    return literal(f"{_MARK}{place.dataset} ")[:-1]


def _shown(database: Database, place: Place) -> str | None:
    """Return the text of the dataset's view; None if there is none. Raises StoreUnavailable if it is another's."""
    kind = database.relations(place.schema, place.view).get(place.view)
    if kind is None:
        return None
    text = ""
    if kind == "VIEW":
        text = str(database.value(place.connection.dialect.view_text, [place.schema, place.view]) or "")
    if _own_mark(place) not in text:
        raise StoreUnavailable(
            f"Another program, or another dataset, has made the {kind.lower()} "
            f"{place.connection.dialect.written((place.schema, place.view))} of the connection "
            f"{place.connection.name}, and Headrace does not overwrite it. Drop or rename it, and run "
            f"`headrace manifests {place.dataset}`; or set another `table` of the output."
        )
    return text


def _view(place: Place) -> str:
    return place.connection.dialect.relation((place.schema, place.view))
