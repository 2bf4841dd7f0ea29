"""Files that a page offers for download, CSV among them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from starlette.responses import Response

from headrace.pages.rendering import HEADERS

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_file(name: str, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> Response:
    """Return rows as a CSV file; a value that a spreadsheet takes for a formula begins with a quote."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return file(name, text.getvalue(), "text/csv")


def file(name: str, text: str, media_type: str) -> Response:
    """Return a text as a file; characters of the name that a file system may refuse become hyphens."""
    safe = "".join(each if (each.isalnum() and each.isascii()) or each in "-_." else "-" for each in name)
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{safe}"'}
    return Response(text, headers=headers, media_type=media_type)


def _cell(value: object) -> str:
    text = ", ".join(value) if isinstance(value, list) else "" if value is None else str(value)
    return f"'{text}" if isinstance(value, str | list) and text.startswith(_FORMULA) else text
