"""A small project for tests: declarations in a folder, loaded like a deployment's, and run in this process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest
from sqlalchemy import Engine

from headrace.declarations.loading.project import LoadedProject, load, records
from headrace.execution.plan import ProcessPlan
from headrace.orchestration.materialization import execute, plan_runs, select
from headrace.registration.declarations import register
from headrace.settings import settings
from headrace.spark.session import SparkResource

PYPROJECT = """
[tool.dg]
directory_type = "project"

[tool.dg.project]
root_module = "assets"
defs_module = "assets"
"""

_DEFINITIONS = """
import dagster as dg

from headrace.declarations.loading.project import load_project

loaded = load_project()
spark = dg.Definitions(resources={"spark": dg.ResourceDefinition.none_resource()})
defs = dg.Definitions.merge(loaded.definitions, spark)
"""


@dataclass
class Project:
    """A loaded project and the Dagster instance for its runs."""

    definitions: dg.Definitions
    plans: list[ProcessPlan]
    instance: dg.DagsterInstance = field(default_factory=dg.DagsterInstance.ephemeral)

    def materialize(
        self,
        *selection: str,
        partitions: tuple[str, str] | None = None,
        stale_in: Engine | None = None,
        full_refresh: bool = False,
    ) -> list[dg.ExecuteInProcessResult]:
        """Run a selection; one result for each Dagster run."""
        chosen = select(self.definitions, self.plans, selection or ("*",))
        graph = self.definitions.resolve_asset_graph()
        return [
            execute(self.definitions, run, self.instance)
            for run in plan_runs(
                graph, self.instance, chosen, partitions, stale_in, full_refresh=full_refresh
            )
        ]


@contextmanager
def in_a_project(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let commands run in a project named shop, whose definitions.py loads what is declared in it."""
    (root / "headrace.toml").write_text('name = "shop"\n')
    (root / "definitions.py").write_text(_DEFINITIONS)
    monkeypatch.setenv("HEADRACE_PROJECT", str(root))
    monkeypatch.chdir(root)
    settings.cache_clear()
    before = sys.modules.pop("definitions", None)
    yield root
    settings.cache_clear()
    forget_definitions()
    if before is not None:
        sys.modules["definitions"] = before


def forget_definitions() -> None:
    """Let the next command load the project again."""
    sys.modules.pop("definitions", None)


def write_project(root: Path, domain: str, declarations: str, **files: str) -> Path:
    """Write a domain's defs.yaml and other files (`numbers_sql="..."` is numbers.sql) into a new project."""
    folder = root / "assets" / domain
    folder.mkdir(parents=True, exist_ok=True)
    (root / "pyproject.toml").write_text(PYPROJECT)
    (folder / "defs.yaml").write_text(declarations)
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text)
    return root


def load_project(root: Path, engine: Engine) -> Project:
    """Load and register a project. Fails the test if a declaration is wrong."""
    loaded = load(root)
    assert not loaded.problems, "\n".join(str(problem) for problem in loaded.problems)
    return project_of(loaded, engine)


def project_of(loaded: LoadedProject, engine: Engine) -> Project:
    """Register what was loaded, whatever may be wrong with the rest."""
    register(engine, *records(loaded.plans))
    definitions = dg.Definitions.merge(
        loaded.definitions,
        dg.Definitions(resources={"spark": SparkResource()}, executor=dg.in_process_executor),
    )
    return Project(definitions, [plan for plan in loaded.plans if isinstance(plan, ProcessPlan)])


def failure(result: dg.ExecuteInProcessResult) -> str:
    """Return the failure message of a run's step."""
    assert not result.success
    data = [event.step_failure_data for event in result.all_events if event.is_step_failure]
    error = data[0].user_failure_data
    return error.description if error and error.description else str(data[0].error)


def checks(results: Sequence[dg.ExecuteInProcessResult]) -> dict[str, bool]:
    """Return whether each check of these runs passed, by name."""
    return {
        evaluation.check_name: evaluation.passed
        for result in results
        for evaluation in result.get_asset_check_evaluations()
    }
