"""Schemas from pandera models; the only part of loading that imports pandera and Spark."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.catalog.records import Check, Column
from headrace.execution.python_code import load_module
from headrace.sources.origin import FieldPath, Origin


def pandera_schema(
    reference: str, origin: Origin, field: FieldPath
) -> tuple[tuple[Column, ...], Sequence[Check]]:
    """Return the columns and checks of the model `file.py:Model`. Raises DeclarationError."""
    from headrace.checks.models import checks_of

    file_name, _, name = reference.partition(":")
    if not file_name.endswith(".py") or not name.isidentifier():
        raise origin.error(
            field, f"{reference!r} is not a reference to a model", "Write it as file.py:Model."
        )
    try:
        module = load_module(origin.folder / file_name, origin.root)
    except OSError as error:
        raise origin.error(field, f"no file {file_name} next to {origin.file.name}", str(error)) from error
    except Exception as error:
        raise origin.error(
            field, f"{file_name} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    model = getattr(module, name, None)
    if model is None:
        raise origin.error(
            field, f"{file_name} has no model {name}", "It is a class below pandera.pyspark.DataFrameModel."
        )
    try:
        return checks_of(model)
    except Exception as error:
        raise origin.error(field, f"{name} is not a usable pandera.pyspark model: {error}") from error
