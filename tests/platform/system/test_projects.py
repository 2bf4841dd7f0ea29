"""Projects as in practice: created by `init`, in separate folders, two of them on one catalog."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.paths import REPOSITORY, WAIT_SECONDS

TOOLS = Path(sys.executable).parent
ORDERS = "type: headrace.Dataset\nattributes: {key: shop/orders, owner: team:shop, sql: SELECT id FROM range(10)}\n"
TURNOVER = (
    "type: headrace.Dataset\n"
    "attributes: {key: finance/turnover, owner: team:finance, sql: SELECT count(*) AS orders FROM shop.orders}\n"
)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Not in pytest's folder, which is closed to the other user that PostgreSQL runs as when root runs this."""
    with TemporaryDirectory(prefix="headrace-tests-") as folder:
        yield Path(folder).resolve()


def run(folder: Path, *command: str, code: int = 0) -> str:
    """Return a command's output in `folder`; it has to end with this exit code."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}
    environment = {**inherited, "PYTHONPATH": str(REPOSITORY), "HEADRACE_SPARK__MASTER": "local[2]"}
    done = subprocess.run(
        [TOOLS / command[0], *command[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def declare(project: Path, domain: str, text: str) -> None:
    (project / "assets" / domain).mkdir(parents=True)
    (project / "assets" / domain / "defs.yaml").write_text(text)


@pytest.mark.slow
def test_two_projects_share_a_catalog(folder: Path) -> None:
    run(folder, "headrace", "init", "shop")
    run(folder, "headrace", "init", "finance")
    shop, finance = folder / "shop", folder / "finance"
    declare(shop, "shop", ORDERS)
    declare(finance, "finance", TURNOVER)
    with (finance / "headrace.toml").open("a") as settings:
        settings.write(f'home = "{shop / ".headrace"}"\n')
    # Modules of the names that the platform's own packages have do not get in its way.
    (shop / "settings.py").write_text("raise RuntimeError('not imported')\n")
    (shop / "catalog").mkdir()
    (shop / "catalog" / "__init__.py").write_text("raise RuntimeError('not imported')\n")
    try:
        assert "All declarations of project shop are valid." in run(shop, "headrace", "check")
        run(shop, "headrace", "materialize", "shop/orders")
        run(shop / "assets", "pytest", "-q", "--rootdir", str(shop), str(shop / "tests"))
        run(finance, "headrace", "materialize", "finance/turnover")
        impact = json.loads(run(shop, "headrace", "impact", "shop/orders", "--json"))
        assert {each["key"] for each in impact["items"]} == {"finance/turnover"}
        lineage = run(finance, "headrace", "lineage", "finance/turnover")
        assert "shop/orders" in lineage
        declare(finance, "shop", ORDERS)
        refused = run(finance, "headrace", "check", code=1)
        assert "shop/orders is declared by the project shop" in refused
    finally:
        run(shop, "headrace", "down")


@pytest.mark.slow
def test_a_project_with_the_demo_is_valid(folder: Path) -> None:
    files = run(folder, "headrace", "init", "flights", "--demo")
    assert "python -m jobs.demo" in files
    assert "All declarations of project flights are valid." in run(folder / "flights", "headrace", "check")
    run(folder / "flights", "pytest", "-q")


def test_a_project_is_not_created_over_files(folder: Path) -> None:
    (folder / "taken").mkdir()
    (folder / "taken" / "file").touch()
    assert "is not empty" in run(folder, "headrace", "init", "taken", code=1)
    assert "is not a valid project name" in run(folder, "headrace", "init", "Shop!", code=1)
    assert "taken/file is a file" in run(folder, "headrace", "init", "taken/file/shop", code=1)


@pytest.mark.parametrize("name", ["dagster", "headrace", "json"])
def test_a_project_does_not_take_the_name_of_a_package_that_it_imports(folder: Path, name: str) -> None:
    assert "is the name of a Python package" in run(folder, "headrace", "init", name, code=1)
