"""A project's `definitions.py`: the Dagster definitions and the declarations behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.machinery import PathFinder
from pathlib import Path

import dagster as dg
import yaml

from headrace.declarations.loading.files import import_failure
from headrace.declarations.loading.project import LoadedProject, check, check_files
from headrace.execution.problems import DeclarationError, relative_to
from headrace.execution.python_code import load_module
from headrace.project import add_to_path, project_root


class IncompleteDefinitions(Exception):
    """A project's definitions.py lacks a name that commands need; the message names it."""


@dataclass(frozen=True, slots=True)
class ProjectCode:
    """The contents of a project's `definitions.py`. loaded: its declarations; defs: all of its Dagster definitions."""

    loaded: LoadedProject
    defs: dg.Definitions


def project_code() -> ProjectCode:
    """Import the project's `definitions.py`. Raises IncompleteDefinitions; NoProject outside a project."""
    add_to_path()
    file = _definitions_file()
    if not file.is_file():
        raise IncompleteDefinitions(
            f"the project has no {file.name}, from which Dagster loads it: create it as `headrace init` does"
        )
    module = load_module(file, project_root())
    try:
        return ProjectCode(module.loaded, module.defs)
    except AttributeError as error:
        raise IncompleteDefinitions(
            f"{file.name} does not define `{error.name}`: it needs `loaded`, the result of "
            "headrace.declarations.loading.project.load_project, and `defs`, the Dagster definitions"
        ) from error


def check_project() -> list[DeclarationError]:
    """Return all problems of the project: of its declarations, and whatever else prevents Dagster from loading it."""
    return [*_workspace_problems(project_root() / "workspace.yaml"), *_code_problems()]


def _workspace_problems(file: Path) -> Iterator[DeclarationError]:
    """Yield the modules of a workspace.yaml that do not exist: `headrace up` would serve nothing."""
    if not file.is_file():
        return
    text = file.read_text(encoding="utf-8")
    try:
        entries = yaml.safe_load(text)["load_from"]
        modules = [entry["python_module"] for entry in entries if "python_module" in entry]
        places = [(each["module_name"], each.get("working_directory", ".")) for each in modules]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        yield DeclarationError(file, 1, None, f"Dagster cannot read it: {error}")
        return
    for name, folder in places:
        if PathFinder.find_spec(name.partition(".")[0], [str((file.parent / folder).resolve())]) is None:
            line = next(number for number, each in enumerate(text.splitlines(), 1) if name in each)
            message = f"there is no module {name} in {(file.parent / folder).resolve()}"
            yield DeclarationError(file, line, "python_module.module_name", message)


def _code_problems() -> list[DeclarationError]:
    try:
        code = project_code()
        code.defs.get_repository_def().load_all_definitions()
    except Exception as error:  # the project's own code may raise anything
        return [*check(project_root()), _unloadable(error)]
    with relative_to(project_root()):
        return [*code.loaded.problems, *check_files(project_root(), code.loaded.plans)]


def _unloadable(error: Exception) -> DeclarationError:
    file = _definitions_file()
    if isinstance(error, IncompleteDefinitions):
        return DeclarationError(file, 1, None, str(error))
    message = f"Dagster cannot load it: {type(error).__name__}: {error}"
    if error.__cause__ is not None:
        message += f": {error.__cause__}"
    return replace(import_failure(file, error), message=message, hint=None)


def _definitions_file() -> Path:
    return project_root() / "definitions.py"
