"""Completion files on any filesystem that fsspec supports: object stores, SFTP and the like."""

from __future__ import annotations

from datetime import UTC, datetime
from time import monotonic
from typing import Any

import fsspec

from headrace.files.filesystem import reaching
from headrace.files.objects import modified_at, require_bucket
from headrace.object_storage import fsspec_options
from headrace.orchestration.completions.folder import (
    MIN_UNCHANGED_SECONDS,
    REASON,
    ClaimedFile,
    QuarantinedFile,
    another,
    archive_day,
    is_dropped,
)

# Filesystems on which an object appears atomically.
_ATOMIC = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "memory"}


class Bucket:
    """A folder at a URI.

    Files cannot be claimed by renaming: a file is moved away only if it is unchanged after it was read.
    """

    def __init__(self, location: str) -> None:
        self.location = location
        self._files, self._root = fsspec.url_to_fs(location, **fsspec_options(location))
        self._root = self._root.rstrip("/")
        self._atomic = bool(_ATOMIC & {location.partition(":")[0], *_protocols(self._files)})
        self._seen: dict[str, tuple[tuple[object, ...], float]] = {}

    def drop(self, name: str, data: bytes) -> None:
        """Write a file, see `Folder`."""
        target = f"{self._root}/{name}"
        if self._atomic:
            self._files.pipe_file(target, data)
            return
        unfinished = f"{self._root}/.{name}.tmp"
        self._files.pipe_file(unfinished, data)
        self._files.mv(unfinished, target)

    def left(self) -> list[ClaimedFile]:
        """Return nothing, see `Folder`: a dead process leaves files in place."""
        return []

    def claim(self, limit: int) -> list[ClaimedFile]:
        """Claim files, see `Folder`."""
        found: list[ClaimedFile] = []
        for entry in self._listing(self._root):
            claimed = _claimed(entry)
            if len(found) >= limit:
                break
            if is_dropped(claimed.name) and self._is_whole(claimed):
                found.append(claimed)
        return found

    def read(self, file: ClaimedFile) -> bytes:
        """Read a file, see `Folder`."""
        return bytes(self._files.cat_file(file.place))

    def archive(self, file: ClaimedFile) -> bool:
        """Archive a file, see `Folder`."""
        return self._put(file, self._free(f"{self._root}/archive/{archive_day()}/{file.name}"))

    def quarantine(self, file: ClaimedFile, reason: str) -> bool:
        """Quarantine a file, see `Folder`."""
        target = self._free(f"{self._root}/quarantine/{file.name}")
        self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
        self._files.pipe_file(f"{target}{REASON}", reason.encode())
        return self._put(file, target)

    def quarantined(self) -> list[QuarantinedFile]:
        """List quarantined files, see `Folder`."""
        entries = [_claimed(entry) for entry in self._listing(f"{self._root}/quarantine")]
        names = {entry.name for entry in entries}
        return [
            QuarantinedFile(
                entry.name,
                entry.place,
                self._files.cat_file(f"{entry.place}{REASON}").decode().strip()
                if f"{entry.name}{REASON}" in names
                else "without a reason file",
            )
            for entry in sorted(entries, key=lambda entry: entry.name)
            if not entry.name.endswith(REASON)
        ]

    def retry(self, name: str) -> None:
        """Retry a file, see `Folder`."""
        name = name.rpartition("/")[2]
        source, target = f"{self._root}/quarantine/{name}", f"{self._root}/{name}"
        if not self._files.exists(source):
            raise FileNotFoundError(f"{source} is not there")
        if self._files.exists(target):
            raise FileExistsError(f"{target} already exists, and waits to be read")
        self._files.mv(source, target)
        if self._files.exists(f"{source}{REASON}"):
            self._files.rm_file(f"{source}{REASON}")

    def _listing(self, folder: str) -> list[dict[str, Any]]:
        """List the files in a folder. Raises StoreUnavailable if the bucket cannot be read."""
        self._files.invalidate_cache(folder)
        with reaching(self.location):
            try:
                entries = self._files.ls(folder, detail=True)
            except FileNotFoundError:
                require_bucket(self._files, self.location)
                return []
        # A name that ends with a slash marks a folder.
        return [entry for entry in entries if entry["type"] == "file" and not entry["name"].endswith("/")]

    def _is_whole(self, file: ClaimedFile) -> bool:
        if self._atomic:
            return True
        stamp, since = self._seen.get(file.name, ((), 0.0))
        if stamp != file.stamp:
            self._seen[file.name] = (file.stamp, monotonic())
            return False
        return monotonic() - since >= MIN_UNCHANGED_SECONDS

    def _put(self, file: ClaimedFile, target: str) -> bool:
        """Move the file unless it has changed; returns False if it has."""
        self._files.invalidate_cache(self._root)
        if _claimed(self._files.info(file.place)).stamp != file.stamp:
            return False
        self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
        self._files.mv(file.place, target)
        self._seen.pop(file.name, None)
        return True

    def _free(self, target: str) -> str:
        folder, _, name = target.rpartition("/")
        return f"{folder}/{another(name)}" if self._files.exists(target) else target


def _protocols(files: Any) -> tuple[str, ...]:  # noqa: ANN401 - fsspec has no types
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)


def _claimed(entry: dict[str, Any]) -> ClaimedFile:
    changed = modified_at(entry)
    moment = round(changed.timestamp(), 2) if changed is not None else None
    stamp = (entry.get("size"), moment, str(entry.get("ETag") or entry.get("etag") or ""))
    return ClaimedFile(
        entry["name"].rpartition("/")[2],
        entry["name"],
        entry.get("size") or 0,
        changed or datetime.now(UTC),
        stamp,
    )
