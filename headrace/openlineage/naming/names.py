"""Group names into datasets, by what events report, independent of their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.naming import Name, key_of, name_id
from headrace.database.jsonb import jsonb
from headrace.openlineage.naming.merges import merge
from headrace.openlineage.naming.sql import statement


@dataclass(slots=True)
class Mention:
    """Attributes of a name. kind: its type according to a symlink (TABLE, LOCATION, ...)."""

    reported: bool = False
    renamed: bool = False
    preferred: bool = False
    kind: str | None = None

    def add(self, other: Mention) -> None:
        """Merge two mentions; of two kinds the alphabetically first counts."""
        self.reported |= other.reported
        self.renamed |= other.renamed
        self.preferred |= other.preferred
        if other.kind:
            self.kind = min(self.kind or other.kind, other.kind)


@dataclass(slots=True)
class Mentions:
    """The names in some events, and which of them belong to one dataset. decided: by a person."""

    names: dict[Name, Mention] = field(default_factory=dict)
    same: set[tuple[Name, Name]] = field(default_factory=set)
    decided: set[tuple[Name, Name]] = field(default_factory=set)

    def add(
        self,
        name: Name,
        *,
        reported: bool = False,
        renamed: bool = False,
        preferred: bool = False,
        kind: str | None = None,
    ) -> None:
        """Add a name."""
        self.names.setdefault(name, Mention()).add(Mention(reported, renamed, preferred, kind))

    def unite(self, one: Name, other: Name) -> None:
        """Record that both names belong to one dataset."""
        if one != other:
            self.same.add((min(one, other), max(one, other)))


@dataclass(frozen=True, slots=True)
class Naming:
    """The datasets of names. merged: each merged dataset with the one it is now part of."""

    name_ids: Mapping[Name, UUID]
    dataset_ids: Mapping[Name, UUID]
    merged: Mapping[UUID, UUID]


def resolve(cursor: Cursor[Any], organisation: UUID, own: str, mentions: Mentions) -> Naming:
    """Resolve every name to its dataset; unknown names create datasets, and datasets found to be the same are merged.

    Datasets whose names are reported to be the same become one, except that an event never merges two datasets with
    Headrace keys. The id and key of an undeclared dataset are those of its best name: one chosen by a person, then one
    that was read or written, then the alphabetically first. They therefore do not depend on the order in which names
    became known.
    """
    rows = _stored(cursor, organisation, mentions.names)
    if _is_known(rows, mentions):
        return _answer(organisation, rows, mentions, {})
    rows |= _names_of(cursor, {row["dataset_id"] for row in rows.values()})
    before = {name: row["dataset_id"] for name, row in rows.items()}
    flags = {name: _flags(row) for name, row in rows.items()}
    for name, mention in mentions.names.items():
        flags.setdefault(name, Mention()).add(mention)
    there = _by_key(cursor, organisation, [key_of(name, own) for name in flags])
    for name in flags.keys() - before.keys():
        if key_of(name, own) in there:
            before[name] = there[key_of(name, own)]
    groups = _groups(flags, before, mentions, own)
    new: dict[UUID, Name] = {}
    merged: dict[UUID, UUID] = {}
    wanted: dict[Name, UUID] = {}
    for group in groups:
        best = min(group, key=lambda name: _rank(name, flags[name], own))
        target = there.get(key_of(best, own))
        if target is None:
            target = name_id(organisation, best)
            new[target] = best
        wanted |= dict.fromkeys(group, target)
        former = {before[name] for name in group if name in before}
        merged |= {old: target for old in former if old != target}
    if new:
        _make(cursor, organisation, new, own)
    statement("names").execute(
        cursor,
        {
            "organisation": organisation,
            "names": jsonb([_row(organisation, name, flags[name], wanted[name]) for name in sorted(flags)]),
        },
    )
    for old, into in sorted(merged.items()):
        merge(cursor, old, into)
    rows = {name: {"dataset_id": dataset} for name, dataset in wanted.items()}
    return _answer(organisation, rows, mentions, merged)


def _answer(
    organisation: UUID,
    rows: Mapping[Name, Mapping[str, Any]],
    mentions: Mentions,
    merged: Mapping[UUID, UUID],
) -> Naming:
    return Naming(
        name_ids={name: name_id(organisation, name) for name in mentions.names},
        dataset_ids={name: rows[name]["dataset_id"] for name in mentions.names},
        merged=merged,
    )


def _is_known(rows: Mapping[Name, Mapping[str, Any]], mentions: Mentions) -> bool:
    """Return True if all of it is stored already: by far the most frequent case."""
    for name, mention in mentions.names.items():
        row = rows.get(name)
        if row is None:
            return False
        flags = _flags(row)
        flags.add(mention)
        if flags != _flags(row):
            return False
    pairs = mentions.same | mentions.decided
    return all(rows[one]["dataset_id"] == rows[other]["dataset_id"] for one, other in pairs)


def _groups(
    flags: Mapping[Name, Mention], before: Mapping[Name, UUID], mentions: Mentions, own: str
) -> list[list[Name]]:
    """Return the names of each dataset."""
    leader: dict[Name, Name] = {name: name for name in flags}
    ours = {name for name in flags if name.namespace == own}  # leaders of groups that have a Headrace key

    def of(name: Name) -> Name:
        while leader[name] != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    def unite(one: Name, other: Name, *, decided: bool) -> None:
        first, second = sorted((of(one), of(other)))
        if first == second or (not decided and first in ours and second in ours):
            return
        leader[second] = first
        if second in ours:
            ours.add(first)

    first_of: dict[UUID, Name] = {}
    for name in sorted(before):
        unite(first_of.setdefault(before[name], name), name, decided=True)
    for one, other in sorted(mentions.decided):
        unite(one, other, decided=True)
    for one, other in sorted(mentions.same):
        unite(one, other, decided=False)
    grouped: dict[Name, list[Name]] = {}
    for name in sorted(flags):
        grouped.setdefault(of(name), []).append(name)
    return list(grouped.values())


def _rank(name: Name, mention: Mention, own: str) -> tuple[bool, bool, bool, bool, Name]:
    """Return the rank of a name; the minimum is the display name. A person's choice also decides between two
    Headrace keys."""
    return name.namespace != own, not mention.preferred, mention.renamed, not mention.reported, name


def _stored(cursor: Cursor[Any], organisation: UUID, names: Iterable[Name]) -> dict[Name, dict[str, Any]]:
    wanted = sorted(set(names))
    if not wanted:
        return {}
    rows = cursor.execute(
        "SELECT stored.* FROM unnest(%s::text[], %s::text[]) AS wanted (namespace, name) "
        "JOIN catalog.dataset_name stored USING (namespace, name) WHERE organisation_id = %s",
        [[name.namespace for name in wanted], [name.name for name in wanted], organisation],
    )
    return {Name(row["namespace"], row["name"]): row for row in rows}


def _names_of(cursor: Cursor[Any], datasets: Iterable[UUID]) -> dict[Name, dict[str, Any]]:
    rows = cursor.execute("SELECT * FROM catalog.dataset_name WHERE dataset_id = ANY (%s)", [list(datasets)])
    return {Name(row["namespace"], row["name"]): row for row in rows}


def _by_key(cursor: Cursor[Any], organisation: UUID, keys: Iterable[str]) -> dict[str, UUID]:
    rows = cursor.execute(
        "SELECT full_name, dataset_id FROM catalog.dataset WHERE organisation_id = %s AND full_name = ANY (%s)",
        [organisation, list(keys)],
    )
    return {row["full_name"]: row["dataset_id"] for row in rows}


def _flags(row: Mapping[str, Any]) -> Mention:
    return Mention(row["reported"], row["renamed"], row["preferred"], row["kind"])


def _row(organisation: UUID, name: Name, mention: Mention, dataset: UUID) -> dict[str, Any]:
    return {
        "namespace": name.namespace,
        "name": name.name,
        "name_id": name_id(organisation, name),
        "dataset_id": dataset,
        "reported": mention.reported,
        "renamed": mention.renamed,
        "preferred": mention.preferred,
        "kind": mention.kind,
    }


def _make(cursor: Cursor[Any], organisation: UUID, named: Mapping[UUID, Name], own: str) -> None:
    """Create a draft dataset for each name."""
    rows = []
    for dataset_id, name in sorted(named.items()):
        namespace, _, rest = (
            name.name.rpartition("/") if name.namespace == own else (name.namespace, "", name.name)
        )
        rows.append(
            {
                "dataset_id": dataset_id,
                "namespace": namespace,
                "name": rest,
                "full_name": key_of(name, own),
            }
        )
    statement("datasets").execute(cursor, {"organisation": organisation, "datasets": jsonb(rows)})
