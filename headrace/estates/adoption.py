"""Adopt a process that is known from events only, because no scanned file defines it."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog.locks import lock_registrations
from headrace.catalog.records import Technology
from headrace.catalog.scans import ExternalKey
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb
from headrace.errors import DecisionRefused, UnknownProcess
from headrace.estates.sql import statement
from headrace.registration.declarations import link

_NAMED = """
SELECT process_id, technology, lifecycle, process_key, owners, metadata_json ->> 'box' AS box,
       metadata_json ? 'adopted_by' AND NOT EXISTS (
           SELECT FROM catalog.process_text place WHERE place.process_id = process.process_id
       ) AS is_adopted
FROM catalog.process
WHERE organisation_id = %s AND instance = %s AND external_name = %s
ORDER BY lifecycle = 'UNSCANNED' DESC, technology
"""
_UNSCANNED = """
SELECT external_name, instance FROM catalog.process
WHERE organisation_id = %s AND lifecycle = 'UNSCANNED' AND external_name IS NOT NULL
ORDER BY external_name, instance
"""
_BOXES = """
SELECT external_name, coalesce(metadata_json ->> 'type', 'BOX') AS type FROM catalog.process
WHERE organisation_id = %s AND technology = %s AND instance = %s AND lifecycle <> 'RETIRED' AND process_id <> %s
ORDER BY external_name
"""


def adopt(
    engine: Engine, name: str, instance: str = "", *, box: str | None, owners: Sequence[str] | None, by: str
) -> str:
    """Adopt an unscanned process, or change an adopted one; returns its new key.

    box, owners: None keeps the previous value; an empty one removes it. A scan that contains the process takes it over;
    one that does not leaves it. Raises UnknownProcess for an unknown process or box; DecisionRefused for a scanned
    process.
    """
    with transaction(engine) as cursor:
        lock_registrations(cursor)
        found = cursor.execute(_NAMED, [current_context().organisation_id, instance, name]).fetchall()
        open_ = [row for row in found if row["lifecycle"] == "UNSCANNED" or row["is_adopted"]]
        if not found:
            raise _unknown(cursor, name, instance)
        if not open_:
            raise DecisionRefused(
                f"{found[0]['process_key']} is {found[0]['lifecycle'].lower()}: a scan knows it"
            )
        row = open_[0]
        if row["lifecycle"] == "UNSCANNED":
            _refuse_second_name(name, row, found)
        box = row["box"] if box is None else box or None
        if box is not None:
            _require_box(cursor, row, box, instance)
        key = ExternalKey.of(row["technology"], name, instance, box)
        parameters = {
            "organisation": current_context().organisation_id,
            "process": row["process_id"],
            "short_key": key.short,
            "whole_key": key.whole,
            "owners": row["owners"] if owners is None else [owner for owner in owners if owner],
            "metadata": jsonb({"adopted_by": by, **({"box": box} if box else {})}),
        }
        adopted = statement("adopt").execute(cursor, parameters).fetchone()
        link(cursor)
    return str(adopted and adopted["process_key"])


def _refuse_second_name(name: str, row: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> None:
    """Raise DecisionRefused if the unscanned process has the name of an active one: its reports may mean that one."""
    for other in found:
        if other["lifecycle"] == "ACTIVE" and other["technology"] != row["technology"]:
            raise DecisionRefused(
                f"{other['process_key']} has the name of {row['process_key']}, and reports about {name} are its runs"
                " now; to add a second process of that name, describe it in a scan"
            )


def _unknown(cursor: Cursor[Any], name: str, instance: str) -> UnknownProcess:
    unscanned = cursor.execute(_UNSCANNED, [current_context().organisation_id]).fetchall()
    elsewhere = [row["instance"] for row in unscanned if row["external_name"] == name]
    near = get_close_matches(
        name, [row["external_name"] for row in unscanned if row["instance"] == instance], 3
    )
    if elsewhere:
        others = " or ".join(f"`--instance {each}`" if each else "no `--instance`" for each in elsewhere)
        hint = f"it is known with {others}"
    elif near:
        hint = f"did you mean {' or '.join(near)}?"
    else:
        hint = "`headrace legacy unscanned` lists unscanned jobs"
    return UnknownProcess(f"unknown process {name}{_in(instance)}; {hint}")


def _require_box(cursor: Cursor[Any], row: dict[str, Any], box: str, instance: str) -> None:
    """Raise UnknownProcess unless the name is that of a box, or of an unscanned job that may be one."""
    if row["technology"] != Technology.AUTOSYS:
        raise UnknownProcess(f"{row['process_key']} can be in no box; only jobs of Autosys are")
    parameters = [current_context().organisation_id, row["technology"], instance, row["process_id"]]
    types = {each["external_name"]: each["type"] for each in cursor.execute(_BOXES, parameters)}
    if types.get(box) == "BOX":
        return
    what = f"{box} is not a box but a {types[box]} job" if box in types else f"no box {box}{_in(instance)}"
    near = get_close_matches(box, [name for name, type_ in types.items() if type_ == "BOX"], 3)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else "`headrace legacy processes` lists known processes"
    )
    raise UnknownProcess(f"{what}; {hint}")


def _in(instance: str) -> str:
    return f" in {instance}" if instance else ""
