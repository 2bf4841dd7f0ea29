"""Links to pages that users have saved for themselves, by name."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine

from headrace.access.callers import Caller
from headrace.context import act_as
from headrace.database.connection import transaction

MAX_LINKS = 50  # of one user

_LINKS = """
SELECT name, address FROM catalog.saved_link WHERE organisation_id = %s AND subject = %s ORDER BY name
"""
_SAVE = """
INSERT INTO catalog.saved_link (organisation_id, subject, name, address) VALUES (%s, %s, %s, %s)
ON CONFLICT (organisation_id, subject, name) DO UPDATE SET address = excluded.address, saved_at = now()
"""
_FORGET = "DELETE FROM catalog.saved_link WHERE organisation_id = %s AND subject = %s AND name = %s"
_FORGET_OLDEST = """
DELETE FROM catalog.saved_link WHERE organisation_id = %s AND subject = %s AND name NOT IN (
    SELECT name FROM catalog.saved_link WHERE organisation_id = %s AND subject = %s
    ORDER BY saved_at DESC, name LIMIT %s
)
"""


@dataclass(frozen=True, slots=True)
class SavedLink:
    """A link of a user. address: path and query of a page."""

    name: str
    address: str


def saved_links(engine: Engine, caller: Caller) -> list[SavedLink]:
    """Return the caller's links in their organisation, by name."""
    with act_as(None), transaction(engine) as cursor:
        return [SavedLink(**row) for row in cursor.execute(_LINKS, [*_owner(caller)]).fetchall()]


def save_link(engine: Engine, caller: Caller, link: SavedLink) -> None:
    """Save a link, in place of one with its name; of more than MAX_LINKS the oldest are forgotten."""
    owner = _owner(caller)
    with act_as(None), transaction(engine) as cursor:
        cursor.execute(_SAVE, [*owner, link.name, link.address])
        cursor.execute(_FORGET_OLDEST, [*owner, *owner, MAX_LINKS])


def forget_link(engine: Engine, caller: Caller, name: str) -> None:
    """Delete a link of the caller."""
    with act_as(None), transaction(engine) as cursor:
        cursor.execute(_FORGET, [*_owner(caller), name])


def _owner(caller: Caller) -> tuple[object, str]:
    return caller.organisation_id, caller.subject
