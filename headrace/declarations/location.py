"""Where an external dataset is: check that files can be listed, partitioned and read as declared; or a database."""

from __future__ import annotations

import re

from headrace.connections.relations import ParallelRead, Source
from headrace.declarations.attributes import External
from headrace.declarations.steps import sql_source
from headrace.execution.control_totals import ControlTotals
from headrace.execution.plan import PARTITION
from headrace.files.filesystem import hidden
from headrace.files.formats import FORMATS
from headrace.sources.origin import Origin

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/]*")


def check_location(external: External, origin: Origin) -> None:
    """Raise DeclarationError for a location that is inconsistent with the rest of the declaration.

    Locations of other formats are interpreted by the program that registers the versions.
    """
    location = external.location
    if location is None:
        for name in ("marker", "reader", "control"):
            if getattr(external, name) is not None:
                raise origin.error((name,), "`location` is missing", "Give the directory or file.")
        return
    if external.reader is not None and external.format in FORMATS:
        raise origin.error(
            ("reader",),
            f"Spark reads {external.format} by itself",
            "Remove `reader`, or give `format` the name of what it reads, such as `fixed`.",
        )
    if external.reader is None and external.format not in FORMATS:
        if external.control is not None:
            raise origin.error(
                ("control",), f"files of format {external.format!r} are not read", "Give a `reader`."
            )
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
    if external.control is not None:
        _check_control(external.control, location, external, origin)
    if external.reader is None and FORMATS[external.format].needs_columns and external.table_schema is None:
        raise origin.error(
            ("schema",), f"{external.format.upper()} files do not have column types", "Declare the columns."
        )


def _check_control(control: ControlTotals, location: str, external: External, origin: Origin) -> None:
    if control.location is None and external.reader is None:
        raise origin.error(
            ("control", "location"),
            f"the last line of {external.format} files is a row to Spark",
            "Give the location of the control file, or a `reader` that skips the line.",
        )
    if control.location is not None:
        if (PARTITION in control.location) != (external.partitions is not None):
            raise origin.error(
                ("control", "location"),
                f"{PARTITION} belongs in it if, and only if, the dataset has partitions",
                "Give the control file of one partition.",
            )
        folder, _, name = control.location.rpartition("/")
        if f"{folder}/".startswith(f"{location.rstrip('/')}/") and not hidden(name):
            raise origin.error(
                ("control", "location"),
                "the control file is among the data files, and would be read as one",
                "Let `location` name the data file, or the control file's name begin with _.",
            )
    known = {} if external.table_schema is None else external.table_schema.columns
    for name in control.totals:
        type = known[name].type if name in known else None
        if known and not (type in _INTEGERS or str(type).startswith("decimal")):
            raise origin.error(
                ("control", "totals", name),
                f"it is {type}" if type else "it is not a column",
                "Totals are of integers and decimals.",
            )


def database_source(external: External, origin: Origin) -> Source | None:
    """Return the table or query of an external dataset in a database. Raises DeclarationError."""
    declared = external.database
    if declared is None:
        return None
    for name in ("format", "location", "marker", "reader", "control", "options", "partitions"):
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
