"""Inspect landed files: row count, columns, and whether they read as declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from headrace.catalog.records import CheckResult, CheckStatus, Column
from headrace.catalog.schema import decimal_widens, sensitive
from headrace.files.filesystem import StoredFile
from headrace.files.formats import reads_as
from headrace.landed.control import Counts
from headrace.landed.files import LandedFiles
from headrace.landed.text import DeclarationMismatch, csv_rows, json_rows
from headrace.spark.types import spark_type

CHECK = "reads_as_declared"


@dataclass(frozen=True, slots=True)
class Reading:
    """Combined content of files. columns: the declared ones or, if none are declared, those of the first file.

    The check warns about undeclared columns in the files, which are ignored. counted: what is compared with control
    totals, if it was counted together with the rows.
    """

    row_count: int
    columns: tuple[Column, ...]
    check: CheckResult
    counted: tuple[Counts, ...] = ()


def read(landed: LandedFiles, stored: Sequence[StoredFile]) -> Reading:
    """Read rows and columns: of Parquet and ORC from the footers, of text completely, up to the first invalid file."""
    columns, rows = landed.plan.record.columns, 0
    unknown: set[str] = set()
    for file in stored:
        if not file.byte_size and len(stored) > 1:
            continue  # Spark reads an empty file among others as having no rows
        with landed.filesystem.open(file.path) as source:
            try:
                keys = _folder_keys(file.name, landed.plan.options)
                count, columns, others = _read(landed, source, file.name, columns, keys)
            except DeclarationMismatch as wrong:
                detail = {"file": file.name, "error": str(wrong)}
                return Reading(rows, columns, CheckResult(CHECK, CheckStatus.FAIL, detail=detail))
        rows += count
        unknown |= others
    if unknown:
        warning = CheckResult(CHECK, CheckStatus.WARN, detail={"not declared": sorted(unknown)})
        return Reading(rows, columns, warning)
    return Reading(rows, columns, CheckResult(CHECK, CheckStatus.PASS))


def _header_words(found: Sequence[str], declared: Sequence[Column]) -> str:
    """Check the header of a CSV file. It may be a row of values, which are not shown if any column is sensitive."""
    names = [column.name for column in declared]
    shown = f"{len(found)} other names" if sensitive(declared) else str(list(found))
    return f"the header is {shown}, declared are {names}"


def _read(
    landed: LandedFiles, source: BinaryIO, name: str, columns: tuple[Column, ...], keys: Sequence[str]
) -> tuple[int, tuple[Column, ...], set[str]]:
    """Return rows, columns, and the undeclared columns of one file. Raises DeclarationMismatch."""
    options, format = landed.plan.options, landed.plan.record.format
    if format == "json":
        count, unknown = json_rows(source, name, columns, options)
        return count, columns, unknown
    if format == "csv":
        own = [column for column in columns if column.name not in keys]
        count, found = csv_rows(source, name, own, options)
        if columns and found != [column.name for column in own]:
            raise DeclarationMismatch(_header_words(found, own))
        return count, columns or tuple(Column(each, "string") for each in [*found, *keys]), set()
    # Imported here, because loading must not import Arrow.
    from headrace.files.columnar import CONTENTS

    try:
        contents = CONTENTS[format](source)
    except (ValueError, OSError) as error:
        raise DeclarationMismatch(f"not a valid {format} file: {error}") from error
    if not columns:
        return contents.row_count, _own_columns(contents.types, keys), set()
    types = _by_position(contents.types, columns) if format == "orc" else contents.types
    return contents.row_count, columns, compared(format, types, columns, keys)


def _folder_keys(name: str, options: Mapping[str, str]) -> list[str]:
    """Return the columns encoded in the folders between a file and the directory: `day` in `day=2026-01-01/1.csv`.

    Raises DeclarationMismatch for a folder without a column, whose files Spark would silently ignore.
    """
    folders = name.split("/")[:-1]
    if options.get("recursiveFileLookup") == "true":
        return []
    odd = [folder for folder in folders if "=" not in folder]
    if odd:
        raise DeclarationMismatch(
            f"Spark does not read files in the folder {odd[0]!r}, unless the option recursiveFileLookup is true"
        )
    return [folder.partition("=")[0] for folder in folders]


def _own_columns(types: Mapping[str, str], keys: Sequence[str]) -> tuple[Column, ...]:
    try:
        found = [Column(name, spark_type(type_)) for name, type_ in types.items()]
    except ValueError as error:
        raise DeclarationMismatch(str(error)) from error
    return (*found, *(Column(key, "string") for key in keys))


def _by_position(types: Mapping[str, str], columns: Sequence[Column]) -> Mapping[str, str]:
    """Return the types under the declared names, if the file has none: old versions of Hive wrote `_col0`, `_col1`."""
    if len(types) > len(columns) or not all(name.startswith("_col") for name in types):
        return types
    return {column.name: type_ for column, type_ in zip(columns, types.values(), strict=False)}


def compared(
    format: str, types: Mapping[str, str], columns: Sequence[Column], keys: Sequence[str]
) -> set[str]:
    """Return the undeclared names. Like in Spark, names are case-insensitive. Raises DeclarationMismatch."""
    found = {name.lower(): type_ for name, type_ in types.items()}
    declared = {column.name.lower(): column for column in columns if column.name not in keys}
    missing = [f"{column.name} is missing" for name, column in declared.items() if name not in found]
    others = [
        f"{column.name} is {found[name]}, declared as {column.type}"
        for name, column in declared.items()
        if name in found and not _reads_as(format, found[name], column.type)
    ]
    if missing or others:
        raise DeclarationMismatch("; ".join([*missing, *others]))
    return {name for name in types if name.lower() not in declared}


def _reads_as(format: str, found: str, declared: str) -> bool:
    """Return True if Spark reads the file's type as the declared one: the same, or a narrower one."""
    if format == "parquet":
        if (found, declared) == ("binary", "string"):
            return True
        found, declared = (type_.replace("timestamp_ntz", "timestamp") for type_ in (found, declared))
    return found == declared or reads_as(found, declared) or decimal_widens(found, declared)
