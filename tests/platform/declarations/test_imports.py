"""The code version of Python: the file and its project imports, and nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from headrace.execution.problems import TransformError
from headrace.execution.python_code import read_python
from headrace.sources.imports import code_digest
from tests.platform.declarations.conftest import Project

FILES = {
    "shop/code.py": "from assets.shop.text import clean\n\ndef f(): return clean\n",
    "shop/__init__.py": "",
    "shop/text.py": "def clean(): ...\n",
    "shop/deep.py": "def inner(): ...\n",
    "shop/other.py": "def unrelated(): ...\n",
    "shop/parts/__init__.py": "",
    "shop/parts/one.py": "def one(): ...\n",
    "shop/parts/two.py": "def two(): ...\n",
}
# The content of code.py, of another file, and the file whose change changes the code version.
IMPORTS = {
    "from a module": ("from assets.shop.text import clean", {}, "shop/text.py"),
    "a module by its whole name": ("import assets.shop.text", {}, "shop/text.py"),
    "a module from a package": ("from assets.shop import text", {}, "shop/text.py"),
    "beside": ("from .text import clean", {}, "shop/text.py"),
    "a module beside": ("from . import text", {}, "shop/text.py"),
    "within a function": ("def g():\n    from .text import clean", {}, "shop/text.py"),
    "everything": ("from .text import *", {}, "shop/text.py"),
    "from above": (
        "from .parts.one import one",
        {"shop/parts/one.py": "from ..deep import inner"},
        "shop/deep.py",
    ),
    "through another module": (
        "from .text import inner",
        {"shop/text.py": "from .deep import inner"},
        "shop/deep.py",
    ),
    "through a package": (
        "from .parts import one",
        {"shop/parts/__init__.py": "from .one import one"},
        "shop/parts/one.py",
    ),
    "the package itself": ("from .parts import one", {}, "shop/parts/__init__.py"),
    "in a circle": (
        "from .text import clean",
        {"shop/text.py": "from . import deep", "shop/deep.py": "from . import text, code"},
        "shop/deep.py",
    ),
}


@pytest.fixture
def shop(project: Project) -> Project:
    for path, text in FILES.items():
        project.write(path, text)
    return project


def digest(project: Project) -> str:
    return code_digest(project.root / "assets/shop/code.py", project.root)


@pytest.mark.parametrize(("statement", "others", "file"), IMPORTS.values(), ids=IMPORTS.keys())
def test_a_change_in_what_is_imported_is_a_change_of_the_code(
    shop: Project, statement: str, others: dict[str, str], file: str
) -> None:
    for path, text in {"shop/code.py": f"{statement}\n", **others}.items():
        shop.write(path, text + "\n")
    first = digest(shop)
    changed = shop.root / "assets" / file
    changed.write_text(changed.read_text() + "x = 1\n")
    assert digest(shop) != first
    second = digest(shop)
    for unrelated in ("shop/other.py", "shop/parts/two.py"):
        shop.write(unrelated, "x = 1\n")
    assert digest(shop) == second


def test_a_project_may_keep_its_modules_in_src(shop: Project) -> None:
    module = shop.root / "src/library/tools.py"
    module.parent.mkdir(parents=True)
    module.write_text("x = 1\n")
    shop.write("shop/code.py", "from library import tools\n")
    first = digest(shop)
    module.write_text("x = 2\n")
    assert digest(shop) != first


def test_what_is_not_the_projects_has_no_part_in_it(shop: Project) -> None:
    file = shop.write(
        "shop/code.py", "import json, pyspark.sql, nothing.there\nfrom headrace import dataset\n"
    )
    (shop.root / "headrace").mkdir()
    (shop.root / "headrace/__init__.py").touch()
    assert digest(shop) == read_python(file).digest


def test_an_invalid_imported_file_is_reported_at_its_line(shop: Project) -> None:
    shop.write("shop/text.py", "def clean(\n")
    with pytest.raises(TransformError, match=r"text\.py:1"):
        digest(shop)


def test_a_file_may_lie_above_its_declaration_or_outside(shop: Project, tmp_path: Path) -> None:
    shop.write("shop/code.py", "from .parts import one\n")
    above = shop.root / "assets/shop/parts/../code.py"
    assert code_digest(above, shop.root) == digest(shop)
    outside = tmp_path.parent / "outside.py"
    outside.write_text("from . import text\n")
    assert code_digest(outside, shop.root) == read_python(outside).digest


DECLARED = """
type: headrace.Dataset
attributes: {key: shop/one, python: code.py:f}
"""
DECORATED = """
from headrace.declarations import dataset


@dataset()
def one():
    from .text import clean
"""


@pytest.mark.parametrize("decorated", [False, True])
def test_the_code_version_follows_imports(shop: Project, decorated: bool) -> None:
    if decorated:
        shop.write("shop/code.py", DECORATED)
    else:
        shop.write("shop/defs.yaml", DECLARED)
    first = shop.plan("shop/one").record.code_version
    shop.write("shop/other.py", "x = 1\n")
    assert shop.plan("shop/one").record.code_version == first
    shop.write("shop/text.py", "def clean(): return 1\n")
    assert shop.plan("shop/one").record.code_version != first


def test_a_thousand_files_that_share_their_imports_are_read_in_a_moment(tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    for index in range(5):
        (library / f"part{index}.py").write_text(f"from .part{(index + 1) % 5} import f\n")
    files = [tmp_path / f"code{index}.py" for index in range(1000)]
    for file in files:
        file.write_text("import math, pyspark\nfrom library import part0\n")
    started = time.process_time()
    for file in files:
        code_digest(file, tmp_path)
    assert time.process_time() - started < 3
