"""Where a dataset is in a database: the view that readers use, and beside it a table for each version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

from headrace.catalog.locators import RelationLocator
from headrace.connections.connection import CATALOG, Connection, connection
from headrace.connections.database import Database
from headrace.context import current_context
from headrace.spark.errors import SchemaMismatch, StoreUnavailable

_TAG = re.compile(r"(\d{8})T(\d{6})Z-([0-9a-f]{8})")
_NAME = re.compile(r"(\d{8})(\d{6})_([0-9a-f]{8})")
_OWN_SCHEMAS = frozenset(
    {"catalog", "iceberg", "openlineage", "openlineage_core"}
)  # of the catalog's database
_OWN = 30  # bytes of a table's name that are not the view's


@dataclass(frozen=True, slots=True)
class Place:
    """The schema and view of a dataset, as the database's catalog names them.

    The tables' names end with a digest of organisation and dataset, so that two datasets that are declared at one place
    do not delete each other's versions.
    """

    connection: Connection
    schema: str
    view: str
    dataset: str

    @classmethod
    def of(cls, dataset: str, base_uri: str | None) -> Place:
        """Return the place that a declaration gives as the base of its versions, `connection:schema.table`.

        Raises StoreUnavailable.
        """
        name, found, relation = (base_uri or "").partition(":")
        if not found or relation.startswith("/"):
            raise StoreUnavailable(
                f"{dataset} names no connection. Declare `output: {{store: jdbc, connection: NAME}}`."
            )
        database = connection(name)
        schema, view = database.dialect.parts(relation)
        if name == CATALOG and schema in _OWN_SCHEMAS:
            raise StoreUnavailable(
                f"{dataset} cannot be in the schema {schema} of the connection {name}, which is Headrace's own. Set "
                "another `table` of the output."
            )
        return cls(database, schema, view, dataset)

    @property
    def prefix(self) -> str:
        """The beginning of the names of all versions' tables."""
        return f"{self.view}{self.connection.dialect.folded('__')}"

    def table(self, tag: str) -> str:
        """Return the name of a version's table. Raises ValueError for a name that is not a generated tag."""
        match = _TAG.fullmatch(tag)
        if match is None:
            raise ValueError(f"{tag!r} is not a version tag")
        return self.prefix + self.connection.dialect.folded(f"{match[1]}{match[2]}_{match[3]}_{self._digest}")

    def locator(self, tag: str) -> RelationLocator:
        """Return the locator of a version."""
        relation = self.connection.dialect.written((self.schema, self.table(tag)))
        return RelationLocator(self.connection.name, relation)

    def tags(self, database: Database) -> list[str]:
        """Return the tags of the versions' tables, oldest first."""
        found = []
        for name in database.relations(self.schema, self.prefix):
            middle, _, digest = name.removeprefix(self.prefix).lower().rpartition("_")
            match = _NAME.fullmatch(middle)
            if match is not None and digest == self._digest:
                found.append(f"{match[1]}T{match[2]}Z-{match[3]}")
        return sorted(found)

    def require_names(self) -> None:
        """Raise SchemaMismatch if the names of the tables would be too long."""
        longest = self.connection.dialect.max_name - _OWN
        if len(self.view.encode()) > longest:
            raise SchemaMismatch(
                f"{self.dataset}: the name {self.view} has {len(self.view.encode())} bytes, and in "
                f"{self.connection.dialect.name} it can have {longest}, as those of its versions' tables are longer. "
                "Set a shorter `table` of the output."
            )

    @property
    def _digest(self) -> str:
        return sha256(f"{current_context().organisation}/{self.dataset}".encode()).hexdigest()[:4]
