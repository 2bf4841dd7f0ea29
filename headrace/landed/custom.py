"""Count and check landed files by the reader that their dataset declares."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.catalog.records import CheckResult, CheckStatus, Column
from headrace.catalog.schema import sensitive
from headrace.files.filesystem import StoredFile
from headrace.landed.contents import CHECK, Reading, compared
from headrace.landed.control import Counts, counted, unsummable
from headrace.landed.files import LandedFiles
from headrace.landed.text import DeclarationMismatch
from headrace.spark.errors import ReaderFailed, ResourceError
from headrace.spark.failures import explained
from headrace.spark.jvm import without_log
from headrace.spark.readers import columns_of, frame_of, message_of, with_columns


def read_by_reader(landed: LandedFiles, stored: Sequence[StoredFile]) -> Reading:
    """Read the files completely, by one Spark job: one for each file, if each states its own control totals.

    An exception of the reader is the result of the check. Raises UnusableFunction, SparkUnavailable.
    """
    control, columns = landed.plan.control, landed.plan.record.columns
    together = control is None or control.location is not None
    groups = [list(stored)] if together else [[file] for file in stored]
    found: list[Counts] = []
    unknown: set[str] = set()
    for files in groups:
        try:
            columns, counts, others = _read(landed, [file.path for file in files], columns)
        except DeclarationMismatch as wrong:
            detail = {"file": ", ".join(file.name for file in files), "error": str(wrong)}
            failed = CheckResult(CHECK, CheckStatus.FAIL, detail=detail)
            return Reading(sum(each.rows for each in found), columns, failed)
        found.append(counts)
        unknown |= others
    status = CheckStatus.WARN if unknown else CheckStatus.PASS
    check = CheckResult(CHECK, status, detail={"not declared": sorted(unknown)} if unknown else {})
    return Reading(sum(each.rows for each in found), columns, check, tuple(found))


def _read(
    landed: LandedFiles, files: Sequence[str], declared: tuple[Column, ...]
) -> tuple[tuple[Column, ...], Counts, set[str]]:
    """Return the columns, counts, and undeclared columns of some files. Raises DeclarationMismatch."""
    from headrace.spark.session import reader_session

    plan = landed.plan
    totals = list(plan.control.totals) if plan.control else []
    try:
        frame = frame_of(reader_session(), str(plan.reader), files, plan.options)
        columns = declared or columns_of(frame)
        others = compared(
            plan.record.format, {each.name: each.type for each in columns_of(frame)}, columns, ()
        )
        if unsummable(columns, totals):
            totals = []
        with explained(landed.location), without_log():
            return columns, counted(with_columns(frame, columns), columns, totals), others
    except ReaderFailed as error:
        raise DeclarationMismatch(message_of(error, shown=not sensitive(declared))) from error
    except (DeclarationMismatch, ResourceError):
        raise
    except Exception as error:  # of the reader, in Spark's Python process
        raise DeclarationMismatch(message_of(error, shown=not sensitive(declared))) from error
