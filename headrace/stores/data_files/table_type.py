"""The stores of table formats as declarations see them; Arrow and Spark are imported when rows are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.files.formats import FORMATS, PARQUET
from headrace.stores.writes import VersionFormat

if TYPE_CHECKING:
    from headrace.catalog.records import Version
    from headrace.stores.protocol import JsonRow


class TableStoreType:
    """Base of the store types of table formats: Parquet files, of which local ones are read without Spark."""

    formats = {PARQUET: VersionFormat(FORMATS[PARQUET].compressions)}

    def local_rows(
        self,
        versions: Sequence[Version],
        names: Sequence[str],
        hidden: frozenset[str],
        count: int,
        warehouse_uri: str,
    ) -> list[JsonRow] | None:
        """Return the first rows of local files; None for others, and for other programs' snapshots. Raises
        CorruptInput."""
        from headrace.stores.data_files.local_rows import local_rows
        from headrace.stores.data_files.tables import is_foreign

        return None if any(map(is_foreign, versions)) else local_rows(versions, names, hidden, count)
