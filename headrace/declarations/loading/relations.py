"""The view of a database that an output names, however it is spelt."""

from __future__ import annotations

from headrace.connections.dialects import DIALECTS, engine_of
from headrace.context import current_context

Relation = tuple[str, tuple[str, ...]]  # the database, and the names as its catalog has them


def relation_of(base_uri: str | None) -> Relation | None:
    """Return the view that an output's base (`crm:shop.orders`) names; None outside databases.

    A view of a connection that is not known here is compared without case.
    """
    connection, is_named, name = (base_uri or "").partition(":")
    if not is_named or name.startswith("/"):
        return None
    settings = current_context().settings.connections.get(connection)
    dialect = DIALECTS.get(engine_of(settings.url)) if settings is not None else None
    if settings is None or dialect is None:
        return connection, (name.casefold(),)
    return settings.url, dialect.parts(name)
