"""Distinct values of text columns from Parquet dictionaries, where that is cheap.

A writer stores the distinct values of a column before its pages as long as they are few, as for states, codes and
kinds. They prove more than bounds do. Small columns are read completely.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow.parquet as pq

from headrace.files.filesystem import Files, StoredFile
from headrace.stores.data_files.footers import top_level

_MAX_VALUES = 100_000  # distinct values per column; beyond that Spark is faster
_MAX_CHUNK_BYTES = 1 << 20  # bytes of a column chunk that is read completely
_PAGE = 1 << 16  # bytes per read, so that the pages after the dictionary are not read


def known_values(files: Files, stored: Iterable[StoredFile], columns: Iterable[str]) -> dict[str, set[str]]:
    """Return the distinct non-null values of top-level text columns that are small or all in dictionaries."""
    values: dict[str, set[str]] = {name: set() for name in columns}
    for file in stored:
        if not values:
            break
        with files.open(file.path) as source:
            parquet = pq.ParquetFile(source, read_dictionary=sorted(values), buffer_size=_PAGE)
            places = top_level(parquet.metadata)
            for name in sorted(values):
                found = _values(parquet, name, places[name]) if name in places else None
                values[name] |= found or set()
                if found is None or len(values[name]) > _MAX_VALUES:
                    del values[name]
    return values


def _values(parquet: pq.ParquetFile, name: str, place: int) -> set[str] | None:
    values: set[str] = set()
    for group in range(parquet.num_row_groups):
        chunk = parquet.metadata.row_group(group).column(place)
        if chunk.is_stats_set and chunk.statistics.null_count == chunk.num_values:
            continue
        if _all_in_dictionary(chunk.encodings):
            rows = next(parquet.iter_batches(batch_size=1, row_groups=[group], columns=[name]))
            found = rows.column(0).dictionary
        elif chunk.total_uncompressed_size <= _MAX_CHUNK_BYTES:
            found = parquet.read_row_group(group, columns=[name]).column(0).unique()
        else:
            return None
        try:
            values.update(value for value in found.to_pylist() if value is not None)
        except UnicodeDecodeError:  # Spark writes any bytes as text; how it interprets them is up to Spark
            return None
    return values


def _all_in_dictionary(encodings: Sequence[str]) -> bool:
    """Return True if no page has values of its own, by parquet-java's rule for files of format version 1.

    Files of version 2 list the dictionary page as a page with values, so nothing is known.
    Source: org.apache.parquet.filter2.dictionarylevel.DictionaryFilter.hasNonDictionaryPages.
    """
    return set(encodings) - {"RLE", "BIT_PACKED"} == {"PLAIN_DICTIONARY"}
