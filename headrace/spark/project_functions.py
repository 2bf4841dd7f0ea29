"""Functions of a project that Headrace calls by name: `module:function`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

from headrace.project import NoProject, add_to_path
from headrace.spark.errors import UnusableFunction


def project_function(reference: str) -> Callable[..., Any]:
    """Import a function of the project. Raises UnusableFunction.

    What it runs in Spark's Python processes may use its module there, which do not have the project on their path.
    """
    from pyspark import cloudpickle

    with suppress(NoProject):
        add_to_path()
    try:
        found = resolve_name(reference)
        module = import_module(reference.partition(":")[0])
    except Exception as error:  # whatever the module does when it is imported
        raise UnusableFunction(
            f"{reference} cannot be imported: {type(error).__name__}: {error}. Correct the module, or run this where "
            "it can be imported: in the project that declares it, or with its package installed."
        ) from error
    if not callable(found):
        raise UnusableFunction(f"{reference} is not a function. Name one as module:function.")
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return found  # type: ignore[no-any-return]
