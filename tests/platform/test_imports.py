"""The structure of the platform: no cycles, and no overly large package or folder."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

from tests.paths import REPOSITORY

MAX_LINES = 6_000  # of a package, Python and SQL
MAX_MODULES = 25  # of one folder
MAX_STATEMENTS = 25  # .sql files of one folder
PLATFORM = REPOSITORY / "headrace"
DAGSTER_ATTRIBUTES = {"_load_component"}
DAGSTER_INTERNALS = re.compile(
    r"\bdagster(_\w+)?\._|\bdagster_shared\b|\bdagster\.components\.(core|resolved)\b"
)
SPARK_INTERNALS = {"_jvm", "_jdf", "_jsparkSession", "_jsc", "_sc", "_gateway"}


def modules() -> dict[str, Path]:
    """The modules of the platform by name, without the templates of projects."""
    files = (file for file in PLATFORM.rglob("*.py") if not {"templates", "node_modules"} & set(file.parts))
    return {
        ".".join(file.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__"): file
        for file in files
    }


def imports(name: str, file: Path, known: dict[str, Path]) -> Iterator[str]:
    """The platform's modules that a module imports, within functions and for type checkers as well.

    With a module, the packages that it is in are imported, unless the importing module is in them, too.
    """
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found = whole if whole in known else node.module
                parts = found.split(".")
                packages = {".".join(parts[:length]) for length in range(1, len(parts))}
                yield from {
                    found,
                    *(each for each in packages if not name.startswith(f"{each}.")),
                } & known.keys()


def test_no_module_imports_itself_through_others() -> None:
    known = modules()
    graph = nx.DiGraph(
        (name, other) for name, file in known.items() for other in imports(name, file, known) if other != name
    )
    assert [sorted(cycle) for cycle in nx.strongly_connected_components(graph) if len(cycle) > 1] == []


def test_no_package_has_too_many_lines() -> None:
    counts = Counter[str]()
    for file in (*modules().values(), *PLATFORM.rglob("*.sql")):
        counts[file.relative_to(PLATFORM).parts[0]] += file.read_text(encoding="utf-8").count("\n")
    over = {name: count for name, count in counts.items() if count > MAX_LINES}
    assert over == {}


def test_no_folder_has_too_many_modules() -> None:
    counts = {
        folder.relative_to(REPOSITORY): sum(file.stem != "__init__" for file in folder.glob("*.py"))
        for folder in {file.parent for file in modules().values()}
    }
    assert {folder: count for folder, count in counts.items() if count > MAX_MODULES} == {}


def test_only_the_package_for_spark_uses_its_internals() -> None:
    users = {
        f"{name}: {found}"
        for name, file in modules().items()
        if not name.startswith("headrace.spark.")
        for found in spark_internals(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert users == set()


def spark_internals(tree: ast.Module) -> Iterator[str]:
    """The names of PySpark's internals that a module uses, as attributes or texts, and its imports of py4j."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)) if name in SPARK_INTERNALS:
                yield name
            case ast.ImportFrom(module=str(name)) if name.partition(".")[0] == "py4j":
                yield name
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name.partition(".")[0] == "py4j")


def test_only_one_package_uses_the_private_names_of_dagster() -> None:
    users = {
        f"{name}: {found}"
        for name, file in modules().items()
        if not name.startswith("headrace.dagster_internals")
        for found in dagster_internals(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert users == set()


def dagster_internals(tree: ast.Module) -> Iterator[str]:
    """The private modules of Dagster that a module imports or names, and the private attributes that it uses."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if name in DAGSTER_ATTRIBUTES:
                yield name
            case ast.Constant(value=str(name)) | ast.ImportFrom(module=str(name)) if DAGSTER_INTERNALS.search(
                name
            ):
                yield name
            case ast.Import(names=names):
                yield from (each.name for each in names if DAGSTER_INTERNALS.search(each.name))


def test_private_names_of_dagster_are_found() -> None:
    code = """
import dagster._utils
from dagster._core import errors
start("dagster._daemon", "dagster", "dagster_pyspark")
declaration._load_component()
"""
    assert len(list(dagster_internals(ast.parse(code)))) == 4


def test_no_folder_has_too_many_statements() -> None:
    counts = Counter(file.parent.relative_to(REPOSITORY) for file in PLATFORM.rglob("*.sql"))
    assert {folder: count for folder, count in counts.items() if count > MAX_STATEMENTS} == {}
