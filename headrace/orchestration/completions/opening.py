"""The location of completion files: a local folder, or a bucket."""

from __future__ import annotations

from headrace.files.filesystem import is_local, local_path
from headrace.orchestration.completions.bucket import Bucket
from headrace.orchestration.completions.folder import Folder, LocalFolder


def folder_at(location: str) -> Folder:
    """Return the folder at a local path, created if needed, or at a URI that fsspec supports."""
    if is_local(location):
        return LocalFolder(local_path(location))
    return Bucket(location)
