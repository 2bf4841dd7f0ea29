"""The record that S3A's committer leaves of a write, with which a listing of the bucket is compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from headrace.files.filesystem import Files, StoredFile
from headrace.object_storage import is_s3
from headrace.spark.errors import StoreUnavailable

_RECORD = "_SUCCESS"
_FILES, _BYTES = "committer_commits_completed", "committer_bytes_committed"


def require_committed(files: Files, location: str, listed: Sequence[StoredFile]) -> None:
    """Raise StoreUnavailable if the files that are listed at a location are not as many, or as large, as committed.

    Only S3A's committers leave a record; the catalog has number and bytes from then on.
    """
    record = files.read_text(f"{location}/{_RECORD}") if is_s3(location) else None
    if record is None or not record.text:
        return
    counters: dict[str, Any] = json.loads(record.text).get("iostatistics", {}).get("counters", {})
    committed = counters.get(_FILES, 0), counters.get(_BYTES, 0)
    found = len(listed), sum(file.byte_size for file in listed)
    if committed != found:
        raise StoreUnavailable(
            f"{location} was committed with {committed[0]} files of {committed[1]} bytes, and {found[0]} files of "
            f"{found[1]} bytes are listed there: the service's listings are not consistent, or another program writes "
            "there. Nothing was published; run again."
        )
