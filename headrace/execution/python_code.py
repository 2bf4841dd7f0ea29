"""Python files of a project: their definitions, read statically, and imported on demand."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from headrace.execution.problems import TransformError


@dataclass(frozen=True, slots=True)
class Function:
    """A function's parameters (those without a default separately), and its place."""

    line: int
    required: tuple[str, ...]
    optional: tuple[str, ...]
    takes_any: bool


@dataclass(frozen=True, slots=True)
class Import:
    """An import statement: `from ..module import a, b` has level 2 and two names, `import module` has none of
    either."""

    module: str
    names: tuple[str, ...] = ()
    level: int = 0


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A file's functions, imported and assigned names, and import statements."""

    functions: Mapping[str, Function]
    names: frozenset[str]
    imports: tuple[Import, ...]
    digest: str

    @property
    def packages(self) -> frozenset[str]:
        """The packages that it imports, except relative imports."""
        return frozenset(one.module.split(".")[0] for one in self.imports if not one.level)


def read_python(path: Path) -> PythonFile:
    """Parse `path` without executing it.

    Raises TransformError if it is not Python, OSError if it does not exist.
    """
    return _read(path, path.stat().st_mtime_ns, path.stat().st_size)


@lru_cache(maxsize=4096)
def _read(path: Path, modified_ns: int, size: int) -> PythonFile:
    source = path.read_bytes()
    try:
        tree = ast.parse(source, str(path))
    except SyntaxError as error:
        raise TransformError(path, error.lineno or 1, f"invalid Python: {error.msg}") from error
    functions: dict[str, Function] = {}
    names: set[str] = set()
    imports: list[Import] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions[node.name] = _function(node)
        elif isinstance(node, ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Import):
            imports += [Import(alias.name) for alias in inner.names]
            names.update((alias.asname or alias.name).split(".")[0] for alias in inner.names)
        elif isinstance(inner, ast.ImportFrom):
            found = tuple(alias.name for alias in inner.names)
            imports.append(Import(inner.module or "", found, inner.level))
            names.update(alias.asname or alias.name for alias in inner.names)
    return PythonFile(functions, frozenset(names), tuple(imports), hashlib.sha256(source).hexdigest())


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    split = len(positional) - len(arguments.defaults)
    required = [argument.arg for argument in positional[:split]]
    optional = [argument.arg for argument in positional[split:]]
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        (required if default is None else optional).append(argument.arg)
    return Function(node.lineno, tuple(required), tuple(optional), arguments.kwarg is not None)


def load_module(path: Path, root: Path) -> ModuleType:
    """Import the module in `path` under its name within the project at `root` (`assets.flights.clean`).

    An imported module is reused if it came from the same text of the same file; otherwise it is imported again.
    Exceptions of the file are passed on.
    """
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    relative = path.relative_to(root).with_suffix("")
    parts = relative.parts[:-1] if relative.name == "__init__" else relative.parts
    name = ".".join(parts)
    known = sys.modules.get(name)
    if (
        known is not None
        and _file_of(known) == path
        and getattr(known, "__headrace_digest__", digest) == digest
    ):
        known.__headrace_digest__ = digest  # type: ignore[attr-defined]
        return known
    sys.modules.pop(name, None)
    importlib.invalidate_caches()
    module = _import_as_named(name, path) or _import_alone(name, path, root)
    module.__headrace_digest__ = digest  # type: ignore[attr-defined]
    return module


def _import_as_named(name: str, path: Path) -> ModuleType | None:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
    if spec is None or spec.origin is None or Path(spec.origin).resolve() != path.resolve():
        return None
    return importlib.import_module(name)


def _import_alone(name: str, path: Path, root: Path) -> ModuleType:
    """Import a project file that is not on Python's path, under a unique name."""
    alone = f"_headrace_{hashlib.sha256(str(root).encode()).hexdigest()[:8]}.{name}".replace(".", "__")
    spec = importlib.util.spec_from_file_location(alone, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[alone] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(alone, None)
        raise
    return module


def _file_of(module: ModuleType) -> Path | None:
    return Path(module.__file__) if module.__file__ else None
