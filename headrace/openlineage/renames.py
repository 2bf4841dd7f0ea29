"""Decisions about names: aliases, merges and renames of datasets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog.locks import lock_events
from headrace.catalog.naming import Name, key_of
from headrace.catalog.records import DatasetRecord
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import CatalogError, UnknownDataset
from headrace.openlineage import facets, runs, versions
from headrace.openlineage import job_events as designs
from headrace.openlineage.ingestion import Owner, owner_of
from headrace.openlineage.limits import InvalidEvent
from headrace.openlineage.naming import names
from headrace.openlineage.naming.names import Mentions
from headrace.openlineage.parsing import refuse_name
from headrace.registration.declarations import require_project_name

_NOTE = """
INSERT INTO catalog.dataset_name_change (
    organisation_id, kind, namespace, name, into_namespace, into_name, former_id, changed_by, reason
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
"""


_FIND = """
SELECT dataset_id FROM catalog.dataset_name
WHERE organisation_id = %(organisation)s AND namespace = %(namespace)s AND name = %(name)s
UNION ALL
SELECT dataset_id FROM catalog.dataset WHERE organisation_id = %(organisation)s AND full_name = %(key)s
LIMIT 1
"""


_FORMER = """
SELECT full_name FROM catalog.dataset
WHERE organisation_id = %s AND full_name = ANY (%s) AND (project IS NULL OR project = %s)
"""
_RENAME_PROCESS = """
UPDATE catalog.process SET process_key = %(new)s, updated_at = now()
WHERE organisation_id = %(organisation)s AND process_key = %(old)s AND external_name IS NULL AND job_name IS NULL
  AND NOT EXISTS (
      SELECT FROM catalog.process other
      WHERE other.organisation_id = %(organisation)s AND other.process_key = %(new)s
  )
"""


class RenameRefused(CatalogError):
    """A name that cannot be given to this dataset."""


def alias(engine: Engine, organisation: UUID, dataset: str, name: str, *, by: str, reason: str) -> None:
    """Make `name` (`namespace#name`, or a key) an alias of the dataset.

    Reports under that name belong to this dataset from now on. Raises UnknownDataset; RenameRefused for a name of
    another existing dataset, which `merge` would merge into this one.
    """
    with transaction(engine) as cursor:
        owner = _begin(cursor, organisation)
        into, other = _known(cursor, owner, dataset), _name(owner, name)
        if _id_of(cursor, owner, other) is not None:
            raise RenameRefused(
                f"{name} is already a dataset; `headrace catalog merge` merges it into {dataset}"
            )
        _note(cursor, owner, "ALIAS", other, into, None, by, reason)
        _decide(cursor, owner, [(other, into)])


def merge(engine: Engine, organisation: UUID, dataset: str, into: str, *, by: str, reason: str) -> None:
    """Merge a dataset into another, with its versions, lineage, checks and names.

    Its names and id resolve to the other. Raises UnknownDataset, RenameRefused for merging a dataset into itself.
    """
    with transaction(engine) as cursor:
        owner = _begin(cursor, organisation)
        old, new = _known(cursor, owner, dataset), _known(cursor, owner, into)
        former = _id_of(cursor, owner, old)
        if former == _id_of(cursor, owner, new):
            raise RenameRefused(f"{dataset} and {into} are one dataset already")
        _note(cursor, owner, "MERGE", old, new, former, by, reason)
        _decide(cursor, owner, [(old, new)])


def rename(engine: Engine, organisation: UUID, dataset: str, name: str, *, by: str, reason: str) -> None:
    """Change the display name of a dataset (`namespace#name`, or a key); the previous name stays an alias.

    Raises UnknownDataset; RenameRefused for a name of another dataset, for a declared dataset (its declaration defines
    its key), and for a dataset with a Headrace key, unless the new name is one too.
    """
    with transaction(engine) as cursor:
        owner = _begin(cursor, organisation)
        old, new = _known(cursor, owner, dataset), _name(owner, name)
        former = _id_of(cursor, owner, old)
        if (taken := _id_of(cursor, owner, new)) is not None and taken != former:
            raise RenameRefused(
                f"{name} is another dataset; `headrace catalog merge` merges {dataset} into it"
            )
        declared = cursor.execute(
            "SELECT declared_at FROM catalog.dataset WHERE dataset_id = %s AND declaration_hash <> ''",
            [former],
        ).fetchone()
        if declared is not None:
            raise RenameRefused(
                f"{dataset} is declared at {declared['declared_at']}: change its key there, and add"
                f" `renamed_from: {dataset}`"
            )
        if old.namespace == owner.namespace != new.namespace:
            raise RenameRefused(
                f"{dataset} is a Headrace key, which takes precedence over {name}; add that as an alias"
            )
        _note(cursor, owner, "RENAME", old, new, former, by, reason)
        _decide(cursor, owner, [(old, new)])


def follow_declarations(engine: Engine, records: Sequence[DatasetRecord]) -> None:
    """Rename the datasets that are declared under a new key, with `renamed_from`, and the processes with their keys.

    If both keys have a dataset already, the former one is merged. A former key that is unknown, declared here too, or
    declared by another project is left alone. Raises ProjectNameTaken.
    """
    declared = {record.key for record in records}
    former = {
        record.renamed_from: record.key
        for record in records
        if record.renamed_from is not None and record.renamed_from not in declared
    }
    if not former:
        return
    organisation, project = current_context().organisation_id, current_context().settings.project_name
    with transaction(engine) as cursor:
        require_project_name(cursor)
        known = cursor.execute(_FORMER, [organisation, sorted(former), project]).fetchall()
        if not known:
            return
        owner = _begin(cursor, organisation)
        for row in known:
            old, new = row["full_name"], former[row["full_name"]]
            one, other = Name(owner.namespace, old), Name(owner.namespace, new)
            kind = "RENAME" if _id_of(cursor, owner, other) is None else "MERGE"
            reason = f"its declaration has `renamed_from: {old}`"
            _note(cursor, owner, kind, one, other, _id_of(cursor, owner, one), f"project:{project}", reason)
            _decide(cursor, owner, [(one, other)])
            cursor.execute(_RENAME_PROCESS, {"organisation": organisation, "old": old, "new": new})


def decide_again(cursor: Cursor[Any], owner: Owner) -> None:
    """Apply all recorded decisions again, in their order."""
    rows = cursor.execute(
        "SELECT namespace, name, into_namespace, into_name FROM catalog.dataset_name_change "
        "WHERE organisation_id = %s ORDER BY change_id",
        [owner.organisation],
    ).fetchall()
    for row in rows:
        pair = Name(row["namespace"], row["name"]), Name(row["into_namespace"], row["into_name"])
        _decide(cursor, owner, [pair])


def _begin(cursor: Cursor[Any], organisation: UUID) -> Owner:
    owner = owner_of(cursor, organisation)
    lock_events(cursor, organisation)
    return owner


def _decide(cursor: Cursor[Any], owner: Owner, decisions: Iterable[tuple[Name, Name]]) -> None:
    for one, other in decisions:
        mentions = Mentions()
        mentions.add(one)
        mentions.add(other, preferred=True)
        mentions.decided.add((one, other))
        cursor.execute(
            "UPDATE catalog.dataset_name SET preferred = false WHERE preferred AND dataset_id = ANY (%s)",
            [[each for name in (one, other) if (each := _id_of(cursor, owner, name)) is not None]],
        )
        found = names.resolve(cursor, owner.organisation, owner.namespace, mentions)
        facets.show(cursor, [], list(set(found.dataset_ids.values())))
        merged_into = {*found.merged.values()}
        designs.settle(cursor, owner.organisation, (), merged_into)
        versions.store(cursor, owner.organisation, runs.NOTHING, merged_into)


def _note(
    cursor: Cursor[Any],
    owner: Owner,
    kind: str,
    one: Name,
    other: Name,
    former: UUID | None,
    by: str,
    reason: str,
) -> None:
    cursor.execute(
        _NOTE,
        [owner.organisation, kind, one.namespace, one.name, other.namespace, other.name, former, by, reason],
    )


def _known(cursor: Cursor[Any], owner: Owner, key: str) -> Name:
    """Return the display name of the dataset with this key or name. Raises UnknownDataset."""
    name = _name(owner, key)
    if _id_of(cursor, owner, name) is None:
        raise UnknownDataset(f"there is no dataset {key}; `headrace datasets` lists them")
    return name


def _id_of(cursor: Cursor[Any], owner: Owner, name: Name) -> UUID | None:
    row = cursor.execute(
        _FIND,
        {
            "organisation": owner.organisation,
            "namespace": name.namespace,
            "name": name.name,
            "key": key_of(name, owner.namespace),
        },
    ).fetchone()
    return row["dataset_id"] if row is not None else None


def _name(owner: Owner, text: str) -> Name:
    """Parse a name as typed: `namespace#name`, or a Headrace key."""
    namespace, separator, name = text.partition("#")
    found = Name(namespace.replace("%23", "#"), name) if separator else Name(owner.namespace, text)
    try:
        refuse_name(found, ())
    except InvalidEvent as error:
        raise RenameRefused(f"{text!r} is not a dataset name: {error}") from error
    return found
