"""The place of completion files: a folder of this machine, or a bucket."""

from __future__ import annotations

from headrace.orchestration.completions.bucket import Bucket
from headrace.orchestration.completions.folder import Folder, LocalFolder
from headrace.stores.files.filesystem import is_local, local_path


def folder_at(location: str) -> Folder:
    """The folder at a path of this machine, or at a URI that fsspec knows. A local one is made if need be."""
    if is_local(location):
        return LocalFolder(local_path(location))
    return Bucket(location)
