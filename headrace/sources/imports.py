"""The project files a Python file depends on, found statically."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from headrace.execution.python_code import Import, read_python

# Folders of a project's modules, relative to its root.
_BASES = ("", "src")
# A new version of Headrace itself makes no data stale.
_HEADRACE = frozenset({"headrace", "definitions"})


def code_digest(file: Path, root: Path) -> str:
    """Digest the text of `file` and of each module of the project at `root` that it imports, directly or indirectly.

    Imports by a name only known at run time, and external packages, are excluded. Raises TransformError if one of the
    files is not Python, OSError if `file` does not exist.
    """
    own = read_python(file).digest
    modules = sorted(_reachable(Path(os.path.normpath(file)), root))
    if not modules:
        return own
    texts = [f"{module.relative_to(root).as_posix()} {read_python(module).digest}" for module in modules]
    return hashlib.sha256("\n".join([own, *texts]).encode()).hexdigest()


def _reachable(file: Path, root: Path) -> set[Path]:
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        importing = waiting.pop()
        for statement in read_python(importing).imports:
            new = set(_imported(statement, importing, root)) - found - {file}
            found |= new
            waiting += new
    return found


def _imported(statement: Import, importing: Path, root: Path) -> Iterator[Path]:
    """Yield the project files that one import statement runs or names."""
    parts = statement.module.split(".") if statement.module else []
    if statement.level:
        for package in importing.parents[statement.level - 1 : statement.level]:
            if package.is_relative_to(root):
                yield from _files(root, [*package.relative_to(root).parts, *parts], statement.names)
    elif parts[0] not in _HEADRACE:
        for base in _BASES:
            yield from _files(root / base, parts, statement.names)


def _files(folder: Path, parts: Sequence[str], names: Sequence[str]) -> Iterator[Path]:
    """Yield the packages along `parts`, the module at their end, and those of `names` that are modules within."""
    for part in parts:
        file, within = _found(folder, part)
        if file is not None:
            yield file
        if within is None:
            return
        folder = within
    for name in names:
        file, _ = _found(folder, name)
        if file is not None:
            yield file


def _found(folder: Path, name: str) -> tuple[Path | None, Path | None]:
    """Return the file of the module `name` within `folder`, and the folder of its submodules, like Python's import."""
    package, module = folder / name, folder / f"{name}.py"
    if (package / "__init__.py").is_file():
        return package / "__init__.py", package
    if module.is_file():
        return module, None
    return None, package if package.is_dir() else None
