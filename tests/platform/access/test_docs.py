"""docs/access.md agrees with the code."""

import re
from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.access.callers import ROLES, Permission, Role
from headrace.cli import app
from tests.paths import REPOSITORY

TEXT = (REPOSITORY / "docs" / "access.md").read_text(encoding="utf-8")


def test_the_table_of_roles_is_that_of_the_code() -> None:
    header = next(line for line in TEXT.splitlines() if line.startswith("| | "))
    assert [cell.strip() for cell in header.strip("| ").split("|")] == list(Role)
    rows = re.findall(r"^\| `([\w-]+)`:[^|]*\|(.*)\|$", TEXT, re.MULTILINE)
    assert [name for name, _ in rows] == list(Permission)
    for name, cells in rows:
        permitted = {role for role, cell in zip(Role, cells.split("|"), strict=True) if cell.strip() == "yes"}
        assert permitted == {role for role in Role if Permission(name) in ROLES[role]}, name


@pytest.mark.parametrize("command", re.findall(r"^    headrace (access .*)$", TEXT, re.MULTILINE))
def test_commands_of_the_page_are_there(engine: Engine, command: Any) -> None:
    import shlex

    from typer.testing import CliRunner

    words = shlex.split(command)
    result = CliRunner().invoke(app, words)
    assert result.exit_code in {0, 1}, result.output  # 2: called wrongly
