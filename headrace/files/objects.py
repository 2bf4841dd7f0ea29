"""Objects in a bucket, through fsspec: without Spark, and with conditional writes."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from typing_extensions import override

from headrace.files.filesystem import Entry, Files, StoredFile, TextFile, by_name, hidden, reaching
from headrace.object_storage import fsspec_options, is_s3
from headrace.spark.errors import StoreUnavailable

_BLOCK = 1 << 20
_DRIVERS = {"gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "abfss": "adlfs"}
_MODIFIED = ("mtime", "LastModified", "last_modified", "updated", "created")
_NOT_AN_ETAG = '"0"'  # of no object
_REFUSED = frozenset({"PreconditionFailed", "ConditionalRequestConflict"})
_conditional: set[str] = set()  # buckets that were found to honour conditions
_asking = threading.Lock()


def object_files(uri: str) -> ObjectFiles | None:
    """Return the files at a location in object storage; None for other filesystems.

    Without their fsspec drivers, Google's and Azure's storage is left to Hadoop. Raises StoreUnavailable without S3's.
    """
    if is_s3(uri):
        if find_spec("s3fs") is None:
            raise StoreUnavailable(f"{uri} needs s3fs, which is not installed: pip install 'headrace[s3]'")
        return ObjectFiles(uri)
    driver = _DRIVERS.get(uri.partition(":/")[0])
    return ObjectFiles(uri) if driver is not None and find_spec(driver) is not None else None


def modified_at(entry: Mapping[str, Any]) -> datetime | None:
    """Return the modification time in an entry of fsspec, in UTC; None without one."""
    changed = next((entry[name] for name in _MODIFIED if entry.get(name) is not None), None)
    if isinstance(changed, str):
        changed = datetime.fromisoformat(changed)
    if isinstance(changed, int | float):
        changed = datetime.fromtimestamp(changed, UTC)
    if not isinstance(changed, datetime):
        return None
    return changed.replace(tzinfo=UTC) if changed.tzinfo is None else changed.astimezone(UTC)


def require_bucket(files: Any, uri: str) -> None:  # noqa: ANN401 - fsspec has no types
    """Raise FileNotFoundError with S3's message if it is the bucket of a location that does not exist."""
    if is_s3(uri):
        files.call_s3("list_objects_v2", Bucket=urlsplit(uri).netloc, MaxKeys=1)


class ObjectFiles(Files):
    """The objects of one bucket. An object appears as a whole, when its upload has ended."""

    def __init__(self, uri: str) -> None:
        with reaching(uri):
            options = json.dumps(fsspec_options(uri), sort_keys=True)
            self._files = _opened(uri.partition(":/")[0], options, os.getpid())
        self._is_s3 = is_s3(uri)

    @override
    def data_files(self, location: str) -> list[StoredFile]:
        root, folder = self._path(location), location.rstrip("/")
        return [
            StoredFile(
                name,
                folder if entry["name"] == root else f"{folder}/{name}",
                entry["size"],
                _etag(entry).strip('"'),
            )
            for name, entry in self._found(location)
        ]

    @override
    def sizes(self, location: str) -> list[int]:
        return [entry["size"] for _, entry in self._found(location)]

    @override
    def listing(self, location: str) -> list[Entry]:
        return [_entry(name, entry) for name, entry in self._found(location)]

    @override
    def entries(self, location: str) -> list[Entry]:
        root = self._path(location)
        with reaching(location):
            try:
                found = self._files.ls(root, detail=True)
            except FileNotFoundError:
                require_bucket(self._files, location)
                return []
        named = [(entry["name"].rpartition("/")[2], entry) for entry in found]
        return sorted(
            (_entry(name, entry) for name, entry in named if name and not hidden(name)), key=by_name
        )

    @override
    def open(self, path: str) -> BinaryIO:
        with reaching(path):
            return cast(BinaryIO, self._files.open(self._path(path), "rb", block_size=_BLOCK))

    @override
    def make_directory(self, location: str) -> None:
        """Write the empty object by which Spark recognises a directory without files."""
        with reaching(location):
            if self._is_s3:
                bucket, _, key = self._path(location).partition("/")
                self._files.call_s3("put_object", Bucket=bucket, Key=f"{key}/", Body=b"")
            else:
                self._files.makedirs(self._path(location), exist_ok=True)

    @override
    def sync(self, location: str) -> None:
        """Do nothing: an object that exists is stored durably."""

    @override
    def exists(self, location: str) -> bool:
        with reaching(location):
            return bool(self._files.exists(self._path(location)))

    @override
    def delete(self, location: str) -> None:
        with reaching(location):
            self._files.rm(self._path(location), recursive=True)

    @override
    def require_writable(self, location: str) -> None:
        if self._is_s3:
            bucket = self._path(location).partition("/")[0]
            with _asking, reaching(location):
                if bucket not in _conditional:
                    self._require_conditions(location)
                    _conditional.add(bucket)

    @override
    def read_text(self, path: str) -> TextFile | None:
        with reaching(path):
            key = self._path(path)
            try:
                etag = _etag(
                    self._files.info(key)
                )  # read first: if the object changes now, the write is refused
                return TextFile(self._files.cat_file(key).decode(errors="replace"), etag)
            except FileNotFoundError:
                require_bucket(self._files, path)
                return None

    @override
    def replace_text(self, path: str, text: str, earlier: TextFile | None) -> None:
        condition = {"IfNoneMatch": "*"} if earlier is None else {"IfMatch": earlier.etag}
        with reaching(path):
            try:
                self._files.pipe_file(self._path(path), text.encode(), **(condition if self._is_s3 else {}))
            except OSError as error:
                if not _is_refused(error):
                    raise
                # A write whose answer was lost is repeated by the client, and finds its own object.
                now = self.read_text(path)
                if now is None or now.text != text:
                    raise StoreUnavailable(
                        f"Another process changed {path} at the same time, and it was not overwritten. Run "
                        "`headrace manifests`, which writes what is published now."
                    ) from error

    def _path(self, location: str) -> str:
        return str(self._files._strip_protocol(location)).rstrip("/")

    def _found(self, location: str) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the data files at a location, each with its path relative to it, sorted by that."""
        root = self._path(location)
        with reaching(location):
            entries = self._files.find(root, detail=True)
        named = [
            (path[len(root) + 1 :] or path.rpartition("/")[2], entry)
            for path, entry in entries.items()
            if not path.endswith("/")  # an empty object, by which Spark recognises a directory
        ]
        found = [
            (name, entry)
            for name, entry in named
            if entry["name"] == root or not any(map(hidden, name.split("/")))
        ]
        return sorted(found, key=lambda each: each[0])

    def _require_conditions(self, location: str) -> None:
        """Raise StoreUnavailable if the service ignores conditions: a write that never meets its condition succeeds."""
        path = f"{self._path(location)}/.conditional-writes"
        try:
            self._files.pipe_file(path, b"", IfMatch=_NOT_AN_ETAG)
        except OSError as error:
            if _is_refused(error) or _code(error) == "NoSuchKey":
                return
            if _code(error) != "NotImplemented":
                raise
            cause: OSError | None = error
        else:
            self._files.rm_file(path)
            cause = None
        raise StoreUnavailable(
            f"The service of {location} does not have conditional writes (If-Match, If-None-Match), without which one "
            "run could overwrite what another has published. Use a service or a version of it that has them, or set "
            "HEADRACE_WAREHOUSE to another place."
        ) from cause


@cache
def _opened(protocol: str, options: str, _process: int) -> Any:  # noqa: ANN401 - fsspec has no types
    """Open a filesystem once in each process: fsspec would open one, with its own connections, in each thread."""
    import fsspec  # not loaded with the declarations

    return fsspec.filesystem(protocol, **json.loads(options))


def _code(error: OSError) -> str:
    response: Mapping[str, Any] = getattr(error.__cause__, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))


def _is_refused(error: OSError) -> bool:
    return _code(error) in _REFUSED


def _etag(entry: Mapping[str, Any]) -> str:
    return str(entry.get("ETag") or entry.get("etag") or "")


def _entry(name: str, entry: Mapping[str, Any]) -> Entry:
    changed = modified_at(entry)
    modified_ns = 0 if changed is None else round(changed.timestamp() * 1_000_000) * 1000
    return Entry(name, entry.get("size") or 0, modified_ns, entry["type"] == "directory")
