"""The archive's Parquet files, in a folder or at any fsspec URI: written atomically, read on demand."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from headrace.errors import CatalogError
from headrace.object_storage import fsspec_options

_COMPRESSION = "zstd"


class ArchiveUnavailable(CatalogError):
    """The archive cannot be reached, read or written."""

    failure_kind = "INFRASTRUCTURE"


class ArchiveFileGone(ArchiveUnavailable):
    """A file registered in the catalog is not in the archive."""


@dataclass(frozen=True)
class Archive:
    """The files below `root`, a local folder or a URI; each is named by its relative path.

    Every method raises ArchiveUnavailable on storage errors.
    """

    root: str

    def write(self, location: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
        """Write the batches to a new file and return its size in bytes.

        On return, the file is complete, synced, and contains all rows. Until then its name begins with an underscore,
        which Spark and others ignore.
        """
        final = PurePosixPath(location)
        hidden = str(final.with_name(f"_{final.name}.unfinished"))
        with self._translated(location, "written") as files:
            files.makedirs(self._path(str(final.parent)), exist_ok=True)
            rows = 0
            with files.open(self._path(hidden), "wb") as opened:
                with pq.ParquetWriter(opened, schema, compression=_COMPRESSION) as writer:
                    for batch in batches:
                        writer.write_batch(batch)
                        rows += batch.num_rows
                if isinstance(files, LocalFileSystem):
                    opened.flush()
                    os.fsync(opened.fileno())
            files.mv(self._path(hidden), self._path(location))
            if isinstance(files, LocalFileSystem):
                _sync_folder(Path(self._path(location)).parent)
            found = self.count(location)
            if found != rows:
                raise ArchiveUnavailable(
                    f"{self.place(location)} has {found:,} rows where {rows:,} were written. Nothing was removed from "
                    "the catalog; check the storage."
                )
            return int(files.size(self._path(location)))

    def count(self, location: str) -> int:
        """Return the number of rows in the footer of a file."""
        with self._translated(location, "read") as files, files.open(self._path(location), "rb") as opened:
            return int(pq.read_metadata(opened).num_rows)

    def read(
        self, location: str, *, columns: Sequence[str] | None = None, where: pc.Expression | None = None
    ) -> pa.Table:
        """Return the matching rows of a file; missing `columns` are omitted."""
        with self._translated(location, "read") as files, files.open(self._path(location), "rb") as opened:
            there = pq.read_schema(opened).names
            opened.seek(0)
            wanted = None if columns is None else [name for name in columns if name in there]
            return pq.read_table(opened, columns=wanted, filters=where)

    def batches(self, location: str, rows: int = 10_000) -> Iterator[pa.RecordBatch]:
        """Yield all rows of a file in batches."""
        with self._translated(location, "read") as files, files.open(self._path(location), "rb") as opened:
            yield from pq.ParquetFile(opened).iter_batches(rows)

    def schema(self, location: str) -> pa.Schema:
        """Return the columns of a file."""
        with self._translated(location, "read") as files, files.open(self._path(location), "rb") as opened:
            return pq.read_schema(opened)

    def delete(self, location: str) -> None:
        """Delete a file, or the beginning of one; harmless if there is none."""
        path = PurePosixPath(location)
        with self._translated(location, "deleted") as files:
            for each in (str(path), str(path.with_name(f"_{path.name}.unfinished"))):
                if files.exists(self._path(each)):
                    files.rm_file(self._path(each))

    def place(self, location: str) -> str:
        """Return the file's path or URI for people."""
        return f"{self.root}/{location}"

    @cached_property
    def _storage(self) -> tuple[Any, str]:
        files, root = fsspec.url_to_fs(self.root, **fsspec_options(self.root))
        return files, str(root).rstrip("/")

    def _path(self, location: str) -> str:
        return f"{self._storage[1]}/{location}"

    @contextmanager
    def _translated(self, location: str, done: str) -> Iterator[Any]:
        try:
            yield self._storage[0]
        except FileNotFoundError as error:
            raise ArchiveFileGone(
                f"{self.place(location)} is missing, and the catalog needs it: restore it from a copy, or set "
                "HEADRACE_ARCHIVE to where the archive is now."
            ) from error
        except (OSError, ImportError, ValueError, pa.ArrowInvalid) as error:
            raise ArchiveUnavailable(f"{self.place(location)} cannot be {done}: {error}") from error


def _sync_folder(folder: Path) -> None:
    """Sync the folder: a new name is only durable once its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
