"""Compare landed files with the control totals that their sender states."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from headrace.catalog.records import CheckResult, CheckStatus, Column
from headrace.catalog.schema import sensitive
from headrace.execution.control_totals import ControlTotals
from headrace.files.filesystem import StoredFile
from headrace.files.formats import foreign_reader_options
from headrace.landed.files import LandedFiles
from headrace.landed.text import DeclarationMismatch
from headrace.spark.errors import ResourceError
from headrace.spark.failures import explained
from headrace.spark.jvm import without_log
from headrace.spark.quoting import quoted
from headrace.spark.readers import message_of

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

CHECK = "control_totals"

_DIGESTS: Mapping[int, str] = {32: "md5", 40: "sha1", 64: "sha256", 96: "sha384", 128: "sha512"}
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_MAX_DIGITS = 38
_LAST_LINE = 64 * 1024  # bytes read from the end of a file
_LINE_ENDS = re.compile("[\r\n\x85]+")  # the last one is EBCDIC's
_BLOCK = 1 << 20
_MAX_CONTROL_FILE = 1 << 24  # bytes; the rest of a larger one is not read


@dataclass(frozen=True, slots=True)
class Counts:
    """Number of rows, and the exact sums of columns; None for a sum of more than 38 digits."""

    rows: int
    totals: Mapping[str, Decimal | None] = field(default_factory=dict)


def counted(frame: DataFrame, columns: Sequence[Column], totals: Sequence[str]) -> Counts:
    """Compute the whole frame once, every column of it, so that whatever cannot be read is found."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    types = {column.name: column.type for column in columns}
    observation = Observation()
    measures = [F.count(F.lit(1)).alias("rows")]
    for index, name in enumerate(totals):
        value = F.col(quoted(name))
        measures += [
            F.count(value).alias(f"values_{index}"),
            F.try_sum(_widest(value, types[name])).alias(f"total_{index}"),
        ]
    frame.observe(observation, *measures).write.format("noop").mode("overwrite").save()
    found = observation.get
    sums = {
        name: found[f"total_{index}"] if found[f"values_{index}"] else Decimal(0)
        for index, name in enumerate(totals)
    }
    return Counts(found["rows"], sums)


def control_totals(
    landed: LandedFiles, stored: Sequence[StoredFile], columns: Sequence[Column], found: Sequence[Counts]
) -> CheckResult:
    """Compare what was found with what is stated: for each data file if its last line states it, otherwise for all.

    Totals of sensitive columns are not shown.
    """
    control = landed.plan.control
    if control is None:
        raise ValueError(f"{landed.plan.record.key} has no control totals")
    wrong: dict[str, str] = {}
    if landed.control is None:
        for file, counts in zip(stored, found, strict=True):
            text = _last_line(landed, file, control.encoding)
            differences = _differences(control, text, counts, columns)
            wrong |= {f"{file.name}: {name}": difference for name, difference in differences.items()}
    else:
        (counts,) = found
        with landed.control.filesystem.open(landed.control.location) as source:
            text = source.read(_MAX_CONTROL_FILE).decode(control.encoding, "replace")
        wrong |= _differences(control, text, counts, columns)
        if control.checksum is not None:
            difference = _wrong_checksum(landed, stored, control.checksum, text)
            wrong |= {"checksum": difference} if difference else {}
    return CheckResult(CHECK, CheckStatus.FAIL if wrong else CheckStatus.PASS, detail=wrong)


def is_exact(type: str) -> bool:
    """Return True for integers and decimals, whose sums are exact."""
    return type in _INTEGERS or type.startswith("decimal(")


def unsummable(columns: Sequence[Column], totals: Sequence[str]) -> str | None:
    """Name the columns without exact sums; None if there is none."""
    types = {column.name: column.type for column in columns}
    wrong = [
        f"{name} is {types[name]}, and only integers and decimals have exact totals"
        if name in types
        else f"there is no column {name}"
        for name in totals
        if not is_exact(types.get(name, ""))
    ]
    return "; ".join(wrong) or None


def sums_of_files(landed: LandedFiles, columns: Sequence[Column], rows: int) -> Counts:
    """Return the counts of files in a format that Spark reads. rows: their number, which is known already.

    Raises DeclarationMismatch for a value that is not of its column's type.
    """
    totals = list(landed.plan.control.totals) if landed.plan.control else []
    if not totals:
        return Counts(rows)
    from headrace.spark.session import reader_session
    from headrace.stores.data_files.reading import scan

    format = landed.plan.record.format
    options = foreign_reader_options(format, landed.plan.options)
    try:
        with explained(landed.location), without_log():
            frame = scan(reader_session(), format, columns, options, [landed.location])
            return Counts(rows, counted(frame, columns, totals).totals)
    except ResourceError:
        raise
    except Exception as error:  # Spark's, which has classes for some
        raise DeclarationMismatch(message_of(error, shown=not sensitive(columns))) from error


def _widest(value: SparkColumn, type: str) -> SparkColumn:
    scale = type.rstrip(")").partition(",")[2] or "0"
    return value.cast(f"decimal({_MAX_DIGITS},{scale})")


def _differences(
    control: ControlTotals, text: str, found: Counts, columns: Sequence[Column]
) -> dict[str, str]:
    """Return what differs, with what is stated and what was found."""
    wrong: dict[str, str] = {}
    hidden = sensitive(columns)
    expected: dict[str, tuple[str, Decimal | None]] = {
        name: (pattern, found.totals[name]) for name, pattern in control.totals.items()
    }
    if control.rows is not None:
        expected = {"number of rows": (control.rows, Decimal(found.rows)), **expected}
    for name, (pattern, value) in expected.items():
        stated = _stated(pattern, text)
        if stated is None:
            wrong[name] = f"nothing matches {pattern}"
        elif value is None:
            wrong[name] = f"its total has more than {_MAX_DIGITS} digits"
        elif _number(stated) != value:
            shown = name not in hidden
            wrong[name] = (
                f"stated {stated}, found {value}"
                if shown
                else "another total is stated than found (not shown)"
            )
    return wrong


def _wrong_checksum(landed: LandedFiles, stored: Sequence[StoredFile], pattern: str, text: str) -> str | None:
    """Return how the checksum differs. Its kind follows from the number of digits."""
    stated = _stated(pattern, text)
    if stated is None:
        return f"nothing matches {pattern}"
    if len(stored) != 1:
        return f"one is stated, and there are {len(stored)} data files"
    if len(stated) not in _DIGESTS:
        return f"stated {stated}, which has the length of none of {', '.join(_DIGESTS.values())}"
    digest = hashlib.new(_DIGESTS[len(stated)], usedforsecurity=False)
    with landed.filesystem.open(stored[0].path) as source:
        while block := source.read(_BLOCK):
            digest.update(block)
    found = digest.hexdigest()
    return None if stated.lower() == found else f"stated {stated}, found {found}"


def _stated(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text)
    return match[1].strip() if match and match[1] is not None else None


def _number(text: str) -> Decimal | None:
    """Return a number, whose sign may be behind it. None for other text."""
    digits = text.rstrip("+-")
    try:
        return Decimal(text[len(digits) :] + digits)
    except InvalidOperation:
        return None


def _last_line(landed: LandedFiles, file: StoredFile, encoding: str) -> str:
    """Return the last line with text; of a file without line ends, its end."""
    with landed.filesystem.open(file.path) as source:
        source.seek(max(0, file.byte_size - _LAST_LINE))
        lines = _LINE_ENDS.split(source.read().decode(encoding, "replace"))
    return next((line for line in reversed(lines) if line.strip()), "")
