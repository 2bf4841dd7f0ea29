"""Size and checksum of a location.

What the checksum promises: it is equal for equal files (names apart from the random part that Spark puts into
them), and it changes when a file comes, goes, changes its length or, where the filesystem keeps a checksum of
its own (HDFS, local files written through Hadoop, object stores with ETags), any byte. A local file without
Hadoop's checksum is read whole. Writing the same rows again gives the same checksum only if Spark splits and
orders them the same way.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.stores.files.filesystem import StoredFile

_RANDOM = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes and number of the data files at a location, and their checksum (sha256 hex)."""

    byte_size: int
    file_count: int
    checksum: str


def size_of(files: Sequence[StoredFile]) -> Size:
    """The size of these files together."""
    lines = sorted(f"{_RANDOM.sub('', file.name)}\t{file.byte_size}\t{file.digest}\n" for file in files)
    digest = hashlib.sha256("".join(lines).encode())
    return Size(sum(file.byte_size for file in files), len(files), digest.hexdigest())
