"""Where an external dataset is: check that files can be listed, partitioned and read as declared; or a database."""

from __future__ import annotations

import re

from headrace.connections.relations import ParallelRead, Source
from headrace.declarations.attributes import External
from headrace.declarations.sources.origin import Origin
from headrace.declarations.steps import sql_source
from headrace.execution.plan import PARTITION
from headrace.files.formats import FORMATS

_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/]*")


def check_location(external: External, origin: Origin) -> None:
    """Raise DeclarationError for a location that is inconsistent with the rest of the declaration.

    Locations of other formats are interpreted by the program that registers the versions.
    """
    location = external.location
    if location is None:
        if external.marker is not None:
            raise origin.error(("marker",), "`location` is missing", "Give the directory.")
        return
    if external.format not in FORMATS:
        return
    host = _HOST.match(location)
    if host and PARTITION in host[0]:
        raise origin.error(
            ("location",), f"{PARTITION} is in the host or bucket", "Write it in the path, behind that."
        )
    if external.partitions is None and PARTITION in location:
        raise origin.error(
            ("location",),
            f"it contains {PARTITION}, but the dataset has no partitions",
            "Declare `partitions`, or name one file or directory.",
        )
    if external.partitions is not None and PARTITION not in location:
        raise origin.error(
            ("location",),
            f"the dataset has partitions, and {PARTITION} is not in it",
            f"Write {PARTITION} where the names of files or directories have the partition's key.",
        )
    if FORMATS[external.format].needs_columns and external.table_schema is None:
        raise origin.error(
            ("schema",), f"{external.format.upper()} files do not have column types", "Declare the columns."
        )


def database_source(external: External, origin: Origin) -> Source | None:
    """Return the table or query of an external dataset in a database. Raises DeclarationError."""
    declared = external.database
    if declared is None:
        return None
    for name in ("format", "location", "marker", "options", "partitions"):
        if name in external.model_fields_set:
            raise origin.error(
                (name,),
                f"`{name}` and `database` cannot be combined",
                "A table or query of a database has none.",
            )
    query = None
    if declared.query is not None:
        query = sql_source(origin, ("database", "query"), declared.query).text
    read = declared.read
    return Source(
        declared.connection,
        declared.table,
        query,
        declared.watermark,
        ParallelRead(read.column, read.lower, read.upper, read.partitions) if read is not None else None,
        declared.fetch_size,
    )
