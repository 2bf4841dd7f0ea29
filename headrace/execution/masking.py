"""Remove values from the failure messages of runs over sensitive data.

Python and Spark include the offending value in the message, with or without quotation marks. Messages are sent to the
catalog, to Dagster and to terminals, where it must not appear.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from headrace.publishing.runs import failure_kind

_CLASS = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception))(?::|$)", re.M)


@contextmanager
def without_sensitive_values(hidden: Collection[str], spoken: tuple[type[Exception], ...]) -> Iterator[None]:
    """Replace exceptions by their category, if there are columns hidden by default.

    hidden: these columns. spoken: exceptions whose messages contain no values, which are unchanged. For others, the
    class name, Spark's error condition, the notes with the place, and the failure kind are kept; the exception itself
    is removed from the chain of causes.
    """
    try:
        yield
    except spoken as error:
        if not hidden:
            raise
        raise error from None  # its cause may quote a value
    except Exception as error:
        if not hidden:
            raise
        raise _without_values(error, hidden) from None


def _without_values(error: Exception, hidden: Collection[str]) -> Exception:
    kind = type(type(error).__name__, (Exception,), {"failure_kind": failure_kind(error)})
    words = [*([f"[{condition}]"] if (condition := _condition(error)) else []), *_raised_in_python(error)]
    masked: Exception = kind(
        f"{' '.join(words) + '. ' if words else ''}The rest of the message is hidden because it may contain values of "
        f"{', '.join(sorted(hidden))}."
    )
    for note in getattr(error, "__notes__", ()):
        masked.add_note(note)
    return masked


def _condition(error: Exception) -> str | None:
    """Return Spark's error condition, such as CAST_INVALID_INPUT."""
    from pyspark.errors import PySparkException

    return error.getCondition() if isinstance(error, PySparkException) else None


def _raised_in_python(error: Exception) -> list[str]:
    """Return the class of an exception raised by a Python function that Spark called."""
    from pyspark.errors import PythonException

    names = _CLASS.findall(str(error)) if isinstance(error, PythonException) else []
    return [f"({names[-1]})"] if names else []
