"""Read a pandera model as columns and checks, and run its custom checks on a written version."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.catalog.records import Check, Column
from headrace.checks.predicates import KINDS
from headrace.severity import Severity
from headrace.spark.errors import InvalidModel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# pandera has no usable type annotations.
Model: TypeAlias = Any


def load_model(reference: str) -> Model:
    """Import the model `package.module:Class`.

    Raises InvalidModel if there is no such module or class, or it is not a pandera.pyspark DataFrameModel.
    """
    from pandera.pyspark import DataFrameModel

    module, _, name = reference.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidModel(
            f"No pandera model {reference!r} ({error}). Write it as package.module:Class."
        ) from error
    if not (isinstance(found, type) and issubclass(found, DataFrameModel)):
        raise InvalidModel(f"{reference} is not a class derived from pandera.pyspark.DataFrameModel.")
    return found


def checks_of(model: Model) -> tuple[tuple[Column, ...], tuple[Check, ...]]:
    """Return the model's columns and checks.

    A field's description is the column's; its metadata may have `tags`, a list of names. A field that is not
    nullable has a `not_null` check, Config.unique is a `unique` check, and checks with raise_warning have
    severity WARN. Built-in checks keep their pandera name as kind; all others become checks of kind
    `pandera`.
    """
    schema = model.to_schema()
    columns = tuple(
        Column(
            field.name,
            field.dataType.simpleString(),
            schema.columns[field.name].nullable,
            schema.columns[field.name].description,
            tuple((schema.columns[field.name].metadata or {}).get("tags", ())),
        )
        for field in schema.to_structtype().fields
    )
    return columns, tuple(_distinct(_checks(model, schema)))


def passes(check: Check, frame: DataFrame) -> tuple[bool, Exception | None]:
    """Run a check of kind `pandera` on the frame with pandera's backend; returns whether it passes, and its exception.

    A check that raises has failed, as in pandera. Raises InvalidModel if the model has no such check.
    """
    schema = load_model(check.parameters["model"]).to_schema()
    owner = schema if check.column is None else schema.columns.get(check.column)
    name = check.parameters["check"]
    custom = next((c for c in owner.checks if c.name == name), None) if owner is not None else None
    if custom is None:
        raise InvalidModel(
            f"Check {check.name}: {check.parameters['model']} has no check {name!r} on {check.column}."
        )
    schema.register_default_backends(type(frame))  # pandera does so only when it validates
    accessor: Any = frame.pandera
    frame = accessor.add_schema(schema)  # where pandera's checks look up the columns' types
    try:
        answer = custom(frame, check.column) if check.column is not None else custom(frame)
    except Exception as error:  # the check is user code, and any exception is its verdict
        return False, error
    return bool(answer.check_passed), None


def _checks(model: Model, schema: Any) -> Iterator[Check]:  # noqa: ANN401 - pandera has no types
    for name, column in schema.columns.items():
        if not column.nullable:
            yield Check(f"{name}_not_null", "not_null", name)
        for check in column.checks:
            yield _check(model, check, name)
    if schema.unique:
        named = [schema.unique] if isinstance(schema.unique, str) else list(schema.unique)
        yield Check("_".join([*named, "unique"]), "unique", parameters={"columns": named})
    for check in schema.checks:
        yield _check(model, check, None)


def _check(model: Model, check: Any, column: str | None) -> Check:  # noqa: ANN401
    from pandera.api.function_dispatch import Dispatcher

    severity = Severity.WARNING if check.raise_warning else Severity.ERROR
    name = check.name if column is None else f"{column}_{check.name}"
    known = check.name in KINDS or check.name == "unique_values_eq"
    if column is not None and known and isinstance(check._check_fn, Dispatcher):
        given = {key: value for key, value in check.statistics.items() if value is not None}
        return Check(name, check.name, column, given, severity, description=check.description)
    parameters = {"model": f"{model.__module__}:{model.__qualname__}", "check": check.name}
    return Check(name, "pandera", column, parameters, severity, description=check.description)


def _distinct(checks: Iterator[Check]) -> Iterator[Check]:
    """Yield the checks, with a number appended to repeated names."""
    from dataclasses import replace

    seen: dict[str, int] = {}
    for check in checks:
        seen[check.name] = seen.get(check.name, 0) + 1
        yield check if seen[check.name] == 1 else replace(check, name=f"{check.name}_{seen[check.name]}")
