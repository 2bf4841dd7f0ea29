"""Remove values from the failure messages of runs over sensitive data.

Python and Spark put the value that they cannot use into the message, in quotation marks or without. The message goes to
the catalog, to Dagster and to terminals, where it must not appear.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from headrace.catalog.runs import failure_kind

_CLASS = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception))(?::|$)", re.M)


@contextmanager
def without_sensitive_values(hidden: Collection[str], spoken: tuple[type[Exception], ...]) -> Iterator[None]:
    """Replace exceptions within by their kind alone, if there are columns hidden by default.

    hidden: these columns. spoken: exceptions whose messages hold no values, which are left as they are. Of others stay
    the class's name, Spark's error condition, the notes, which say where, and how the catalog files it; the exception
    itself is not in the chain of causes.
    """
    try:
        yield
    except spoken as error:
        if not hidden:
            raise
        raise error from None  # what caused it may quote a value
    except Exception as error:
        if not hidden:
            raise
        raise _without_values(error, hidden) from None


def _without_values(error: Exception, hidden: Collection[str]) -> Exception:
    kind = type(type(error).__name__, (Exception,), {"failure_kind": failure_kind(error)})
    words = [*([f"[{condition}]"] if (condition := _condition(error)) else []), *_raised_in_python(error)]
    told: Exception = kind(
        f"{' '.join(words) + '. ' if words else ''}The rest of the message is hidden, since it may hold values of "
        f"{', '.join(sorted(hidden))}."
    )
    for note in getattr(error, "__notes__", ()):
        told.add_note(note)
    return told


def _condition(error: Exception) -> str | None:
    """Spark's name for what went wrong, such as CAST_INVALID_INPUT."""
    from pyspark.errors import PySparkException

    return error.getCondition() if isinstance(error, PySparkException) else None


def _raised_in_python(error: Exception) -> list[str]:
    """The class of what a Python function raised that Spark called."""
    from pyspark.errors import PythonException

    names = _CLASS.findall(str(error)) if isinstance(error, PythonException) else []
    return [f"({names[-1]})"] if names else []
