"""A project's `definitions.py`: the Dagster definitions and the declarations behind them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import dagster as dg

from headrace.declarations.loading.project import Loaded
from headrace.project import add_to_path, project_root


class IncompleteDefinitions(Exception):
    """A project's definitions.py lacks a name that commands need; the message names it."""


@dataclass(frozen=True, slots=True)
class ProjectCode:
    """The contents of a project's `definitions.py`. loaded: its declarations; defs: all of its Dagster definitions."""

    loaded: Loaded
    defs: dg.Definitions


def project_code() -> ProjectCode:
    """Import the project's `definitions.py`. Raises IncompleteDefinitions; NoProject outside a project."""
    add_to_path()
    module = importlib.import_module("definitions")
    try:
        return ProjectCode(module.loaded, module.defs)
    except AttributeError as error:
        raise IncompleteDefinitions(
            f"{project_root() / 'definitions.py'} does not define `{error.name}`: it needs `loaded`, the result of "
            "headrace.declarations.loading.project.load, and `defs`, the Dagster definitions"
        ) from error
