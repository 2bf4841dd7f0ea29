"""Inputs that change from version to version, without Spark: for tests of datasets that grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Engine

from headrace.catalog.records import Column, Publication, VersionDraft
from headrace.publishing.publication import generations, publish
from headrace.publishing.rollback import rollback
from headrace.queries.pointers import newest

Row = Mapping[str, Any]
TYPES = {"bigint": pa.int64(), "string": pa.string(), "date": pa.date32(), "int": pa.int32()}


@dataclass
class Feed:
    """An external dataset whose versions a test publishes. columns: Spark's types by name."""

    engine: Engine
    folder: Path
    dataset: str
    columns: Mapping[str, str]
    tags: Any = field(default_factory=lambda: count(1))

    def publish(
        self, rows: Sequence[Row], partition: str | None = None, place: Path | None = None
    ) -> Publication:
        """Publish these rows as the version of a partition, in a folder of its own unless `place` is given."""
        tag = f"f{next(self.tags)}"
        place = place or self.folder / self.dataset / tag
        place.mkdir(parents=True, exist_ok=True)
        schema = pa.schema([(name, TYPES[type_]) for name, type_ in self.columns.items()])
        pq.write_table(pa.Table.from_pylist(list(map(dict, rows)), schema), place / "rows.parquet")
        at = (self.dataset, partition)
        draft = VersionDraft(
            dataset=self.dataset,
            partition=partition,
            tag=tag,
            location=place.as_uri(),
            format="parquet",
            columns=tuple(Column(name, type_) for name, type_ in self.columns.items()),
            row_count=len(rows),
            byte_size=(place / "rows.parquet").stat().st_size,
            file_count=1,
            checksum=tag,
            idempotency_key=f"{self.dataset}/{tag}",
            expected_generation=generations(self.engine, [at])[at],
        )
        (published,) = publish(self.engine, None, [draft])
        return published

    def roll_back(self, tag: str, partition: str | None = None) -> None:
        """Publish an earlier version again."""
        rollback(self.engine, self.dataset, partition, tag, by="test", reason="test")


def stored(engine: Engine, dataset: str) -> list[dict[str, Any]]:
    """Return the rows of the published version, in order."""
    version = newest(engine, dataset)
    assert version is not None
    rows = [
        row
        for each in version.segments
        for row in pq.read_table(each.location.removeprefix("file:")).to_pylist()
    ]
    return sorted(rows, key=lambda row: str(list(row.items())))
