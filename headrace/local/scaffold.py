"""Create a project: the files of a template, with its name filled in."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from importlib import resources
from importlib.metadata import packages_distributions, version
from pathlib import Path
from string import Template
from uuid import uuid4

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_HIDDEN = {"gitignore": ".gitignore", "gitkeep": ".gitkeep"}  # packaging omits files that begin with a dot
# The demo is this repository's own project: at its top level, and in the wheel as a template.
DEMO_FILES = ("alerts.yaml", "assets", "jobs", "legacy", "policies", "resources", "sensors")


DEMO_STEP = "python -m jobs.demo     # load a year of real flights, materialize the datasets and show them\n"


class ProjectRefused(Exception):
    """A project cannot be created as requested; the message gives the reason and a solution."""


def create_project(folder: Path, *, demo: bool = False) -> list[Path]:
    """Create a project in `folder`, named after it; the demo has datasets, jobs and an Autosys estate.

    Returns the files, relative to the folder. Raises ProjectRefused for an invalid name, that of an installed
    package, and for a non-empty folder.
    """
    name = folder.resolve().name
    if not _NAME.fullmatch(name):
        raise ProjectRefused(
            f"{name!r} is not a valid project name: use lower-case letters, digits, - and _, beginning with a letter"
        )
    if name in sys.stdlib_module_names or name.replace("-", "_") in _installed():
        raise ProjectRefused(
            f"{name!r} is the name of a Python package that projects import. Choose another name."
        )
    if file := next((each for each in (folder, *folder.parents) if each.is_file()), None):
        raise ProjectRefused(f"{file} is a file. Choose a new folder.")
    if folder.exists() and any(folder.iterdir()):
        raise ProjectRefused(f"{folder} is not empty. Choose a new folder, or empty this one.")
    release = ".".join(version("headrace").split(".")[:2]) + ".0"
    words = {
        "name": name,
        "release": release,
        "project_id": str(uuid4()),
        "extra": "[demo]" if demo else "",
        "demo_step": DEMO_STEP if demo else "",
    }
    template = Path(str(resources.files("headrace.local"))) / "templates" / "empty"
    for source in _files(template):
        target = folder / source.relative_to(template).with_name(_HIDDEN.get(source.name, source.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(Template(source.read_text(encoding="utf-8")).substitute(words), encoding="utf-8")
    if demo:
        _copy_demo(folder)
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def _installed() -> set[str]:
    """Return the import names and the distribution names of installed packages, in the form of import names."""
    names = packages_distributions()
    return {each.replace("-", "_").lower() for name, owners in names.items() for each in (name, *owners)}


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def _copy_demo(folder: Path) -> None:
    source = Path(str(resources.files("headrace.local"))) / "templates" / "demo"
    if not source.is_dir():  # in a checkout
        source = Path(str(resources.files("headrace"))).parent
    for name in DEMO_FILES:
        if (source / name).is_dir():
            shutil.copytree(
                source / name, folder / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copyfile(source / name, folder / name)
