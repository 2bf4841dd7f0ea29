"""Where the rules are: the folder `policies/` of the project that this process belongs to."""

from __future__ import annotations

from pathlib import Path

from headrace.context import current_context
from headrace.project import NoProject, project_root

FOLDER = "policies"


def project_with_policies() -> Path | None:
    """Return this process's project, if it has policies, and the caller is of its organisation.

    A command without a project reads a catalog somewhere else.
    """
    here = current_context()
    if here.organisation != here.settings.organisation:
        return None
    try:
        root = project_root()
    except NoProject:
        return None
    return root if (root / FOLDER).is_dir() else None
