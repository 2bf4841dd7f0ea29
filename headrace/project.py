"""The Headrace project of a process: the folder with a headrace.toml."""

import os
import sys
from pathlib import Path

PROJECT_FILE = "headrace.toml"
VARIABLE = "HEADRACE_PROJECT"


class NoProject(Exception):
    """No Headrace project was found; the message says what to do."""


def project_root() -> Path:
    """Return the folder named by HEADRACE_PROJECT, otherwise the nearest one with a headrace.toml, from here upwards.

    Raises NoProject.
    """
    named = os.environ.get(VARIABLE)
    if named:
        root = Path(named).expanduser().resolve()
        if not (root / PROJECT_FILE).is_file():
            raise NoProject(
                f"{root} is not a Headrace project: it has no {PROJECT_FILE}. Correct {VARIABLE} or --project."
            )
        return root
    found = _project_of_folder(Path.cwd())
    if found is None:
        raise NoProject(
            f"no {PROJECT_FILE} in {Path.cwd()} or above it. Change to a Headrace project, name one as in "
            "`headrace --project FOLDER COMMAND`, or create one with `headrace init NAME`."
        )
    return found


def unused_project() -> Path | None:
    """Return the project of the current folder if HEADRACE_PROJECT names another one, which is used."""
    named, found = os.environ.get(VARIABLE), _project_of_folder(Path.cwd())
    return found if named and found != Path(named).expanduser().resolve() else None


def _project_of_folder(here: Path) -> Path | None:
    return next((folder for folder in (here, *here.parents) if (folder / PROJECT_FILE).is_file()), None)


def add_to_path() -> None:
    """Make the project's own modules importable, before any installed ones of the same name."""
    root = str(project_root())
    if root not in sys.path:
        sys.path.insert(0, root)
