"""Repeatable scripts: the functions, triggers and views, each defined in one file.

An upgrade applies them after the revisions. A changed file is applied again, so that it needs no revision. A script can
therefore run on any catalog of this revision: it replaces what it defines, and deletes nothing. What a script no longer
defines, or cannot replace (a function with other parameters, a view without one of its columns), a revision drops.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.metadata import version

import sqlalchemy as sa
from packaging.version import Version
from sqlalchemy import Connection

from headrace.database.migrations import run_statements

# A script comes after those whose functions and views it uses.
ORDER = (
    "functions/access",
    "functions/audit",
    "functions/partitions",
    "functions/estates",
    "functions/lineage",
    "functions/retention",
    "functions/search",
    "functions/openlineage",
    "functions/graph",
    "functions/row_security",
    "views/estates",
    "views/retention",
    "views/openlineage",
    "views/graph",
)


@dataclass(frozen=True, slots=True)
class Script:
    """A script of this platform. name: folder and file name without `.sql`. digest: of the text."""

    name: str
    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class ScriptChanges:
    """How the scripts of this platform differ from those that a catalog has.

    platform_version: the newest platform that applied scripts to the catalog; None before the first.
    """

    changed: tuple[str, ...]
    platform_version: str | None

    @property
    def is_newer_catalog(self) -> bool:
        """Return True if the catalog's scripts come from a newer platform, which this one must not overwrite."""
        return self.platform_version is not None and Version(self.platform_version) > Version(
            version("headrace")
        )

    @property
    def is_upgrade(self) -> bool:
        """Return True if this platform has scripts to apply."""
        return bool(self.changed) and not self.is_newer_catalog


@cache
def scripts() -> tuple[Script, ...]:
    """Return the scripts of this platform in the order in which they are applied."""
    folder = resources.files("headrace.database")
    texts = [(name, folder.joinpath(f"{name}.sql").read_text("utf-8")) for name in ORDER]
    return tuple(Script(name, text, hashlib.sha256(text.encode()).hexdigest()) for name, text in texts)


def pending(connection: Connection) -> ScriptChanges:
    """Compare the scripts of this platform with those of the catalog, which is at this platform's revision."""
    rows = connection.execute(
        sa.text("SELECT name, digest, platform_version FROM catalog.repeatable_script")
    ).all()
    known = {row.name: row.digest for row in rows}
    changed = tuple(script.name for script in scripts() if known.get(script.name) != script.digest)
    return ScriptChanges(changed, rows[0].platform_version if rows else None)


def apply(connection: Connection, *, all_scripts: bool) -> tuple[str, ...]:
    """Apply the scripts that differ from the catalog's and return their names; commit nothing.

    all_scripts: after a revision, which may have dropped and altered what scripts define. Otherwise a catalog with the
    scripts of a newer platform stays as it is.
    """
    found = pending(connection)
    if not all_scripts and not found.is_upgrade:
        return ()
    wanted = [script for script in scripts() if all_scripts or script.name in found.changed]
    for script in wanted:
        run_statements(connection, script.text)
    connection.execute(
        sa.text(
            "INSERT INTO catalog.repeatable_script (name, digest, platform_version) VALUES (:name, :digest, :version) "
            "ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, applied_at = now()"
        ),
        [{"name": script.name, "digest": script.digest, "version": version("headrace")} for script in wanted],
    )
    connection.execute(
        sa.text("DELETE FROM catalog.repeatable_script WHERE NOT name = ANY (:names)"), {"names": list(ORDER)}
    )
    connection.execute(
        sa.text("UPDATE catalog.repeatable_script SET platform_version = :version"),
        {"version": version("headrace")},
    )
    return tuple(script.name for script in wanted)
