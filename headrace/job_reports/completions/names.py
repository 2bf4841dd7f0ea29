"""Fields from the name of a completion file, by configurable patterns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from headrace.job_reports.completions.fields import ALIASES

DEFAULT_NAMES = (
    # LOAD_FLIGHTS.done, LOAD_FLIGHTS_20130101.OK, LOAD_FLIGHTS.2013-01-01.failed
    r"(?P<process>[\w.#-]+?)(?:[._-](?P<date>\d{4}-\d{2}-\d{2}|\d{8}))?\.(?P<status>(?i:done|ok|failed))",
)
_FIELDS = {**ALIASES, "date": "business_date"}


class WrongPattern(ValueError):
    """A name pattern that is not a regular expression, or names no process and no dataset."""


def fields_of(name: str, patterns: Sequence[str] = DEFAULT_NAMES) -> Mapping[str, str] | None:
    """Return the fields in the name of a file, by the first pattern that matches all of it.

    A pattern is a regular expression whose named groups are fields: process or dataset, and box, run, attempt, date,
    status and the like. Without a status, it is SUCCESS. None if no pattern matches. Raises WrongPattern.
    """
    for pattern in patterns:
        if found := compiled(pattern).fullmatch(name):
            given = {_FIELDS.get(field, field): value for field, value in found.groupdict().items() if value}
            return {"status": "SUCCESS", **given}
    return None


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile the regular expression. Raises WrongPattern."""
    try:
        result = re.compile(pattern)
    except re.error as error:
        raise WrongPattern(
            f"the name pattern {pattern!r} is not a regular expression: {error} (setting completion_names)"
        ) from error
    if not {"process", "dataset"} & set(result.groupindex):
        raise WrongPattern(
            f"the name pattern {pattern!r} names neither a process nor a dataset: write (?P<process>...) where the "
            "name of the job stands (setting completion_names)"
        )
    return result
