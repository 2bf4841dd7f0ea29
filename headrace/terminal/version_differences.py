"""The differences between two versions, as `headrace diff` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from headrace.terminal.output import facts, row_count_text, show, table, total

if TYPE_CHECKING:
    from headrace.catalog.records import Version
    from headrace.catalog.schema import SchemaChange
    from headrace.stores.comparison import Comparison


def print_schema(
    dataset: str, tags: Sequence[str], sides: Sequence[Sequence[Version]], schema: SchemaChange
) -> None:
    """Print the two versions, and how their columns differ."""
    before, after = (
        f"{tag}, {row_count_text(total(version.row_count for version in versions))}{_partitions(versions)}"
        for tag, versions in zip(tags, sides, strict=True)
    )
    show(
        facts(
            [
                ("dataset", dataset),
                ("from", before),
                ("to", after),
                ("schema", "\n".join(_schema_lines(schema))),
            ]
        )
    )


def print_comparison(found: Comparison) -> None:
    """Print how many keys or rows differ, in which columns, and some of them."""
    what = "keys" if found.key else "rows"
    repeated = f"{found.repeated:,} occur more than once and are not compared" if found.repeated else None
    changed = None if found.changed is None else f"{found.changed:,}"
    show(
        facts(
            [
                ("key", found.key or "none, whole rows are compared"),
                (f"{what} added", f"{found.added:,}"),
                (f"{what} removed", f"{found.removed:,}"),
                (f"{what} changed", changed),
                ("keys repeated", repeated),
                ("not compared", "\n".join(f"{name}: {reason}" for name, reason in found.apart.items())),
            ]
        )
    )
    if found.columns:
        counted = sorted(found.columns.items(), key=lambda item: -item[1])
        show(table(["column", "#changed in keys"], counted))
    for kind, rows in found.samples.items():
        show(table(list(rows[0]), [list(row.values()) for row in rows], title=f"{kind}, for example"))


def _partitions(versions: Sequence[Version]) -> str:
    return f", {len(versions):,} partitions" if len(versions) > 1 else ""


def _schema_lines(schema: SchemaChange) -> Iterator[str]:
    if not schema.breaking and not schema.compatible:
        yield "the same"
    yield from (f"breaking: {line}" for line in schema.breaking)
    yield from (f"compatible: {line}" for line in schema.compatible)
