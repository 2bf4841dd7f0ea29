"""Read the files of a project: YAML documents, and Python modules that declare datasets.

Dagster's own component loader takes 17.1 s of CPU for 1,000 datasets, this one 3.9 s (`benchmarks/loading.py`).
"""

from __future__ import annotations

import difflib
import os
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import ValidationError

from headrace.dagster_internals.components import load_module_object
from headrace.declarations.dataset import Dataset, DeclaredComponent, ExternalDataset, Process
from headrace.declarations.definition import plan_of
from headrace.declarations.loading.broken import Division, in_document, in_module, in_text
from headrace.declarations.loading.graph import LocatedPlan
from headrace.execution.problems import DeclarationError, TransformError
from headrace.execution.python_code import load_module, read_python
from headrace.sources.documents import Document, NoDocument, documents
from headrace.sources.origin import Origin, in_python
from headrace.sources.validation import declaration_errors

_YAML = ("defs.yaml", "defs.yml")
_TYPES: Mapping[str, type[DeclaredComponent]] = {
    "headrace.Dataset": Dataset,
    "headrace.Process": Process,
    "headrace.ExternalDataset": ExternalDataset,
}
_DOCUMENT_FIELDS = {"type", "attributes", "template_vars_module", "requirements", "post_processing"}


@dataclass(slots=True)
class LoadedFiles:
    """Contents of the files: plans with their places, other Dagster definitions, problems.

    broken: datasets with an invalid declaration, by key.
    """

    placed: list[LocatedPlan] = field(default_factory=list)
    others: list[dg.Definitions] = field(default_factory=list)
    problems: list[DeclarationError] = field(default_factory=list)
    broken: dict[str, Division] = field(default_factory=dict)


def find(root: Path, folder: Path) -> LoadedFiles:
    """Find everything that is declared below `folder`, in the project at `root`."""
    found = LoadedFiles()
    for file in _files(folder):
        if file.suffix == ".py":
            _read_module(file, root, found)
        else:
            for document in documents(file):
                _read_document(document, root, found)
    return found


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        for name in sorted(names):
            if name in _YAML or (name.endswith(".py") and not name.startswith(".")):
                yield Path(place, name)


def _read_document(document: Document | NoDocument, root: Path, found: LoadedFiles) -> None:
    if isinstance(document, NoDocument):
        found.problems.append(document.problem)
        found.broken |= in_text(document.text)
        return
    try:
        _declare(document, root, found)
    except DeclarationError as error:
        found.problems.append(error)
        found.broken |= in_document(document)


def _declare(document: Document, root: Path, found: LoadedFiles) -> None:
    written = document.value
    origin = Origin(
        document.file,
        root,
        lambda path: document.line_of(("attributes", *path)) if path else document.line_of(("type",)),
        lambda path: document.text_at(("attributes", *path)),
    )
    component = _component(document, written)
    if not issubclass(component, DeclaredComponent):
        found.others.append(_foreign(document, root))
        return
    for name in ("template_vars_module", "post_processing"):
        if name in written:
            raise DeclarationError(
                document.file,
                document.line_of((name,)),
                name,
                f"`{name}` does not work here",
                "Write the value itself.",
            )
    attributes = written.get("attributes") or {}
    if "{{" in document.text:
        attributes = _rendered(attributes, document, root)
    try:
        declared = component.declared(attributes, origin)
    except ValidationError as error:
        found.problems += declaration_errors(error, component, attributes, origin)
        found.broken |= in_document(document)
        return
    found.placed.append(LocatedPlan(declared.plan(origin), origin))


def _component(document: Document, written: Any) -> type[dg.Component]:  # noqa: ANN401
    def wrong(field: str, message: str, hint: str) -> DeclarationError:
        return DeclarationError(document.file, document.line_of((field,)), field, message, hint)

    known = ", ".join(_TYPES)
    if not isinstance(written, Mapping) or "type" not in written:
        raise wrong("type", "the document has no `type`", f"Add `type:` at its beginning, one of {known}.")
    for name in written:
        if name not in _DOCUMENT_FIELDS:
            raise wrong(
                str(name),
                f"unknown field {name!r} next to `type`",
                "Fields of the dataset belong in `attributes`.",
            )
    name = str(written["type"])
    if name in _TYPES:
        return _TYPES[name]
    try:
        component = load_module_object(*name.rsplit(".", 1)) if "." in name else None
    except Exception as error:
        close = difflib.get_close_matches(name, _TYPES, 1)
        hint = f"Did you mean {close[0]}?" if close else f"Headrace's are {known}."
        raise wrong("type", f"unknown component {name}", hint) from error
    if not isinstance(component, type) or not issubclass(component, dg.Component):
        raise wrong("type", f"{name} is not a component", f"Headrace's are {known}.")
    return component


def _rendered(attributes: Any, document: Document, root: Path) -> Any:  # noqa: ANN401
    from headrace.declarations.loading.foreign import render

    try:
        return render(attributes, root)
    except Exception as error:
        raise DeclarationError(
            document.file, document.line_of(("attributes",)), None, f"a template cannot be rendered: {error}"
        ) from error


def _foreign(document: Document, root: Path) -> dg.Definitions:
    from headrace.declarations.loading.foreign import build

    try:
        return build(document, root)
    except Exception as error:
        raise DeclarationError(
            document.file,
            document.line_of(("type",)),
            None,
            f"{document.value['type']} cannot be loaded: {type(error).__name__}: {error}",
        ) from error


def _read_module(file: Path, root: Path, found: LoadedFiles) -> None:
    try:
        if not read_python(file).packages & {"dagster", "headrace"}:
            return  # it contains no declarations; a transform's module is imported when it first runs
        module = load_module(file, root)
    except TransformError as error:
        found.problems.append(DeclarationError(error.file, error.line, None, error.detail))
    except Exception as error:
        problem = error if isinstance(error, DeclarationError) else import_failure(file, error)
        found.problems.append(problem)
        found.broken |= in_module(file)
    else:
        _collect(dg.load_definitions_from_module(module), file, root, found)


def _collect(definitions: dg.Definitions, file: Path, root: Path, found: LoadedFiles) -> None:
    """Convert Headrace's own assets back to plans, so that they are checked against all others; keep the rest
    unchanged."""
    rest: list[Any] = []
    for asset in definitions.assets or ():
        plan = plan_of(asset) if isinstance(asset, dg.AssetsDefinition) else None
        if plan is None:
            rest.append(asset)
        else:
            line = plan.references[0][1]
            found.placed.append(LocatedPlan(plan, in_python(file, root, line)))
    others = dg.Definitions(
        assets=rest,
        schedules=definitions.schedules,
        sensors=definitions.sensors,
        jobs=definitions.jobs,
        asset_checks=definitions.asset_checks,
        resources=definitions.resources,
    )
    if any((rest, others.schedules, others.sensors, others.jobs, others.asset_checks, others.resources)):
        found.others.append(others)


def import_failure(file: Path, error: Exception) -> DeclarationError:
    """Return the problem of a file that cannot be imported, at the line that failed."""
    frames = traceback.extract_tb(error.__traceback__)
    line = next(
        (frame.lineno for frame in reversed(frames) if frame.filename == str(file) and frame.lineno), 1
    )
    return DeclarationError(
        file,
        line,
        None,
        f"the file cannot be imported: {type(error).__name__}: {error}",
        "Its declarations are skipped.",
    )
