"""The project as a whole: what a wrong declaration would break."""

from pathlib import Path

from headrace.declarations.loading.project import check

PROJECT = Path(__file__).parents[1]


def test_every_declaration_is_valid() -> None:
    assert [str(problem) for problem in check(PROJECT)] == []


def test_dagster_can_resolve_every_job_schedule_and_sensor() -> None:
    from definitions import defs

    defs.get_repository_def()
