"""Taking in a process that was only heard of, because no file that can be scanned has it."""

from collections.abc import Sequence
from difflib import get_close_matches

from sqlalchemy import Engine

from catalog.database import transaction
from catalog.errors import DecisionRefused, UnknownProcess
from catalog.identity import organisation_id
from catalog.links import link
from catalog.payload import jsonb
from catalog.records import Technology
from catalog.registry import REGISTRATION_LOCK
from catalog.scans import external_key

_NAMED = """
SELECT process_id, technology, standing, process_key FROM catalog.process
WHERE organisation_id = %s AND instance = %s AND external_name = %s
"""
_UNSCANNED = """
SELECT external_name FROM catalog.process WHERE organisation_id = %s AND standing = 'UNSCANNED' ORDER BY 1
"""
_ADOPT = """
UPDATE catalog.process
SET standing = 'ACTIVE', process_key = %s, owners = %s, metadata_json = metadata_json || %s, updated_at = now()
WHERE process_id = %s
"""


def adopt(
    engine: Engine, name: str, instance: str = "", *, box: str | None, owners: Sequence[str], by: str
) -> str:
    """Make a process that was only heard of an active one; its new key.

    A scan that finds it takes it over; one that does not leaves it. Raises UnknownProcess, and DecisionRefused for a
    process that is active already, or retired.
    """
    with transaction(engine) as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [REGISTRATION_LOCK])
        found = cursor.execute(_NAMED, [organisation_id(), instance, name]).fetchall()
        unscanned = [row for row in found if row["standing"] == "UNSCANNED"]
        if not found:
            names = [row["external_name"] for row in cursor.execute(_UNSCANNED, [organisation_id()])]
            near = get_close_matches(name, names, 3)
            hint = f"did you mean {' or '.join(near)}?" if near else "`headrace legacy unscanned` lists them"
            raise UnknownProcess(f"nobody has heard of {name}{f' in {instance}' if instance else ''}; {hint}")
        if not unscanned:
            raise DecisionRefused(
                f"{found[0]['process_key']} is {found[0]['standing'].lower()}: a scan knows it"
            )
        row = unscanned[0]
        key = external_key(Technology(row["technology"]), name, instance, box)
        metadata = {"adopted_by": by, **({"box": box} if box else {})}
        cursor.execute(_ADOPT, [key, list(owners), jsonb(metadata), row["process_id"]])
        link(cursor)
    return key
