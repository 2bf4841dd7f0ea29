"""Exchange with the catalog while a project loads: it learns of the scanned estate and the datasets of other projects,
and stores its invalid declarations for `headrace status`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.estates.rows import NO_ESTATE, EstateRows

if TYPE_CHECKING:
    from headrace.execution.problems import DeclarationError
    from headrace.queries.projects import ProjectDataset, Subjects

_LOG = logging.getLogger("headrace")


@dataclass(frozen=True, slots=True)
class CatalogContents:
    """estate: external processes. datasets: those declared by other projects."""

    estate: EstateRows = NO_ESTATE
    datasets: tuple[ProjectDataset, ...] = ()


NOTHING_KNOWN = CatalogContents()


def known() -> CatalogContents:
    """Return what the catalog knows; empty, with one log line, if it is unavailable. Starts no server."""
    from headrace.context import current_context
    from headrace.database.connection import connect_if_running
    from headrace.errors import CatalogError
    from headrace.estates.queries import estate
    from headrace.queries.projects import datasets_of_other_projects

    try:
        engine = connect_if_running()
        if engine is None:
            return NOTHING_KNOWN
        return CatalogContents(
            estate(engine), datasets_of_other_projects(engine, current_context().settings.project_name)
        )
    except CatalogError as error:
        _LOG.warning("Processes of other systems and datasets of other projects are not shown: %s", error)
        return NOTHING_KNOWN


def known_subjects() -> Subjects:
    """Return the owners and domains in the catalog; none, and not all, if it is unavailable."""
    from headrace.database.connection import connect_if_running
    from headrace.errors import CatalogError
    from headrace.queries.projects import NO_SUBJECTS, subjects

    try:
        engine = connect_if_running()
        return NO_SUBJECTS if engine is None else subjects(engine)
    except CatalogError as error:
        _LOG.warning("Owners and domains of alerts.yaml are compared with the declarations only: %s", error)
        return NO_SUBJECTS


def record_problems(root: Path, problems: Sequence[DeclarationError]) -> None:
    """Store the project's invalid declarations in the catalog; without a catalog, the log has them."""
    from headrace.database.connection import connect_if_running
    from headrace.errors import CatalogError
    from headrace.registration.declarations import record_load

    try:
        engine = connect_if_running()
        if engine is not None:
            record_load(engine, [problem_facts(problem, root) for problem in problems])
    except CatalogError as error:
        _LOG.warning("`headrace status` does not show the invalid declarations: %s", error)


def problem_facts(problem: DeclarationError, root: Path) -> dict[str, object]:
    """Return the problem as JSON values, with the file's path relative to the project's `root`."""
    file = problem.file
    return {
        "file": str(file.relative_to(root) if file.is_relative_to(root) else file),
        "line": problem.line,
        "field": problem.field,
        "message": problem.message,
        "hint": problem.hint,
    }
