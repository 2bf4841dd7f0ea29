"""Convert traced values to the catalog's column lineage."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.catalog.column_lineage import DIRECT, ColumnLineage, ColumnSource, How
from headrace.spark.column_lineage.values import Key, Path, Sources, Value, field_of


def column_lineage(path: Path, value: Value) -> ColumnLineage:
    """Convert the lineage of one column."""
    return ColumnLineage(
        dotted(path),
        tuple(sources(value.sources, dotted(path[-1:]))),
        value.doubt.reason if value.doubt else None,
        value.doubt.confidence if value.doubt else 1.0,
    )


def fields(path: Path, value: Value) -> Iterator[ColumnLineage]:
    """Yield the fields of a struct created by the query, including nested ones."""
    for name in value.fields or ():
        found = field_of(value, name)
        yield column_lineage((*path, name), found)
        yield from fields((*path, name), found)


def sources(found: Sources, plain: str) -> list[ColumnSource]:
    """Convert sources to the catalog's form. plain: the expression of a value that is passed on unchanged."""
    return [_source(key, masked, plain) for key, masked in found.items()]


def _source(key: Key, masked: bool, plain: str) -> ColumnSource:
    input, path, subtype, expression = key
    how = How.DIRECT if subtype in DIRECT else How.INDIRECT
    return ColumnSource(input, dotted(path), how, subtype, masked, expression or plain)


def dotted(path: Path) -> str:
    """Format a path as Spark does: a name with a dot is quoted."""
    return ".".join(f"`{name.replace('`', '``')}`" if "." in name or "`" in name else name for name in path)
