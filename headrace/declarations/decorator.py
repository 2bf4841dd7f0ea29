"""Declare datasets in Python: `@dataset(...)` above a function that returns a DataFrame."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import ValidationError

from headrace.declarations.dataset import Dataset
from headrace.declarations.definition import process_assets
from headrace.declarations.planning import dataset_plan
from headrace.declarations.steps import Piece, Use
from headrace.sources.imports import code_digest
from headrace.sources.origin import Origin, in_python
from headrace.sources.validation import declaration_errors


def dataset(key: str | None = None, **attributes: Any) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:  # noqa: ANN401
    """Declare the dataset that the decorated function returns; the attributes are those of `headrace.Dataset`.

    The function's parameters name its inputs, except an optional `context` (a `TransformContext`). key: by default the
    names of the file's folder and of the function. Raises DeclarationError.
    """

    def declare(function: Callable[..., Any]) -> dg.AssetsDefinition:
        file = Path(inspect.getfile(function)).resolve()
        line = function.__code__.co_firstlineno
        origin = in_python(file, _root_of(file), line)
        written = {"key": key or f"{file.parent.name}/{function.__name__}", **attributes}
        if function.__doc__ and "description" not in written:
            written["description"] = inspect.getdoc(function)
        try:
            declared = Dataset.model_validate(written)
        except ValidationError as error:
            raise declaration_errors(error, Dataset, written, origin)[0] from error
        for code in ("sql", "python"):
            if getattr(declared, code) is not None:
                raise origin.error((code,), "the decorated function is the code", f"Remove `{code}`.")
        return process_assets(
            dataset_plan(declared, declared, origin, _piece(function, declared.name, origin, line))
        )

    return declare


def _piece(function: Callable[..., Any], name: str, origin: Origin, line: int) -> Piece:
    parameters = inspect.signature(function).parameters.values()
    named = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    return Piece(
        step=name,
        field=None,
        uses=tuple(Use(used, origin.file, line) for used in named if used != "context"),
        parameters={},
        digest=code_digest(origin.file, origin.root),
        source=inspect.getsource(function),
        file=origin.file,
        line=line,
        function=function,
        takes_any=any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters),
    )


def _root_of(file: Path) -> Path:
    """Return the project of a file: the closest parent folder with a pyproject.toml, otherwise the file's own
    folder."""
    return next((folder for folder in file.parents if (folder / "pyproject.toml").exists()), file.parent)
