"""`headrace contract` in a project."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from headrace.cli import app
from tests.platform.contracts.conftest import ORDERS, loaded
from tests.platform.projects import forget_definitions, in_a_project


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with in_a_project(tmp_path, monkeypatch):
        declare(tmp_path)
        yield tmp_path


def declare(root: Path, **changes: object) -> None:
    forget_definitions()
    declared = {name: value for name, value in (ORDERS | changes).items() if value is not None}
    loaded(root, yaml.safe_dump({"type": "headrace.Dataset", "attributes": declared}))


def run(*words: str) -> Result:
    return CliRunner().invoke(app, words, env={"COLUMNS": "200"})


def test_a_declaration_is_exported_and_imported(project: Path) -> None:
    file = project / "orders.odcs.yaml"
    assert run("contract", "export", "shop/orders", "--output", str(file)).exit_code == 0
    assert yaml.safe_load(file.read_text())["id"] == "shop/orders"
    imported = run("contract", "import", str(file))
    assert imported.exit_code == 0, imported.output
    assert yaml.safe_load(imported.stdout)["attributes"]["keep"] == {"days": 90}
    assert imported.stderr == ""


def test_a_breaking_change_is_listed_by_diff_and_refused_by_check(project: Path) -> None:
    pinned = run("contract", "pin", "shop/orders", "--consumer", "pricing")
    assert pinned.stdout == "Wrote contracts/shop.orders.pricing.odcs.yaml.\n"
    assert (
        run("contract", "diff", "shop/orders").stdout == "shop/orders differs from none of its contracts.\n"
    )
    assert run("check").exit_code == 0
    declare(project, owners=["team:sales"], sla=None)
    shown = run("contract", "diff", "shop/orders")
    assert shown.exit_code == 1
    assert "shop/orders breaks 1 of 1 contracts" in shown.stderr
    listed = json.loads(run("contract", "diff", "shop/orders", "--json").stdout)["contracts"][0]
    assert {
        "field": "owners",
        "message": "team:shop, ann@example.com became team:sales",
        "breaking": False,
    } in (listed["changes"])
    (problem,) = json.loads(run("check", "--json").stdout)["problems"]
    assert problem["file"] == "contracts/shop.orders.pricing.odcs.yaml"
    assert "Its owners (team:sales) agree with pricing" in problem["hint"]
    assert run("contract", "pin", "shop/orders", "--consumer", "pricing").exit_code == 0
    assert run("check").exit_code == 0


def test_what_an_import_leaves_out_is_listed(project: Path) -> None:
    file = project / "theirs.odcs.yaml"
    run("contract", "export", "shop/orders", "--output", str(file))
    file.write_text(f"{file.read_text()}price: {{priceAmount: 1}}\n")
    assert "price: {'priceAmount': 1} left out" in run("contract", "import", str(file)).stderr


def test_an_import_that_fails_writes_nothing(project: Path) -> None:
    file = project / "bad.odcs.yaml"
    file.write_text("kind: DataContract\napiVersion: v3.1.0\n")
    result = run("contract", "import", str(file), "--output", str(project / "defs.yaml"))
    assert result.exit_code == 1
    assert "version: required field is missing" in result.stderr
    assert not (project / "defs.yaml").exists()
