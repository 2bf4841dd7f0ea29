"""A project in a temporary folder, loaded without running anything."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from headrace.declarations.loading.project import LoadedProject, check, load
from headrace.execution.plan import ProcessPlan
from headrace.execution.problems import DeclarationError


@dataclass
class Project:
    """Files below a temporary root, loaded as a project."""

    root: Path

    def write(self, path: str, text: str) -> Path:
        file = self.root / "assets" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip("\n"))
        return file

    def load(self) -> LoadedProject:
        return load(self.root)

    def repository(self) -> dg.RepositoryDefinition:
        resources = {"spark": dg.ResourceDefinition.none_resource()}
        return dg.Definitions.merge(
            self.load().definitions, dg.Definitions(resources=resources)
        ).get_repository_def()

    def check(self) -> list[DeclarationError]:
        return check(self.root)

    def plan(self, key: str) -> ProcessPlan:
        loaded = self.load()
        assert not loaded.problems, loaded.problems
        return next(plan for plan in loaded.plans if isinstance(plan, ProcessPlan) and plan.record.key == key)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "assets").mkdir()
    (tmp_path / "pyproject.toml").touch()
    return Project(tmp_path)
