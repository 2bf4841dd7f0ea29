"""SQL statements in files, one statement per file, with named parameters: %(name)s."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from psycopg import Connection, Cursor, RawCursor
from psycopg.rows import dict_row

_PARAMETER = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement in the server's notation ($1, $2, ...) and the names of its parameters in that order.

    psycopg would parse a long text at every execution, which costs as much as executing it.
    """

    text: bytes
    names: tuple[str, ...]

    def execute(
        self, on: Cursor[Any] | Connection[Any], parameters: Mapping[str, Any]
    ) -> RawCursor[dict[str, Any]]:
        """Execute it in the transaction of this connection or cursor. Raises KeyError for a missing parameter."""
        connection = on.connection if isinstance(on, Cursor) else on
        cursor = RawCursor(connection, row_factory=dict_row)
        return cursor.execute(self.text, [parameters[name] for name in self.names])


class Statements:
    """The statements of one package, read from its `.sql` files on first use."""

    def __init__(self, package: str) -> None:
        self._folder = resources.files(package)
        self._known: dict[str, Statement] = {}

    def __call__(self, name: str) -> Statement:
        """Return the statement in `<name>.sql`; a name may have folders. Raises FileNotFoundError if there is none."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = _numbered(self._folder.joinpath(f"{name}.sql").read_text("utf-8"))
        return known


def _numbered(text: str) -> Statement:
    names = tuple(dict.fromkeys(_PARAMETER.findall(text)))
    numbered = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", text)
    return Statement(numbered.encode(), names)
