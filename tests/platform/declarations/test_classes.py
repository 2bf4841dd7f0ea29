"""Classes of retention and of the GDPR: known ones have their effect, others are errors of their line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from headrace.catalog.schema import sensitive
from headrace.settings import RetentionClass, settings
from tests.platform.declarations.conftest import Project

DECLARED = """type: headrace.Dataset
attributes:
  key: shop/ledger
  sql: SELECT 1 AS id, 'x' AS diagnosis, 2 AS n
  tags:
    retention: {retention}
  {more}
  schema:
    columns:
      id: {{type: int, tags: [{subject}]}}
      diagnosis: {{type: string, tags: [{gdpr}]}}
      n: {{type: int, tags: [unit=EUR]}}
"""


@pytest.fixture(autouse=True)
def classes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    classes = '{"ledger": {"min_days": 3653, "max_days": 4018}, "visits": {"max_days": 30}}'
    monkeypatch.setenv("HEADRACE_RETENTION_CLASSES", classes)
    settings.cache_clear()
    yield
    settings.cache_clear()


def written(
    project: Project,
    retention: str = "ledger",
    gdpr: str = "gdpr=special_category",
    subject: str = "subject=customer",
    more: str = "",
) -> Project:
    text = DECLARED.format(retention=retention, gdpr=gdpr, subject=subject, more=more)
    project.write("shop/defs.yaml", text)
    return project


def test_a_retention_class_adds_its_limits_to_the_rule_of_the_dataset(project: Project) -> None:
    [output] = written(project, more="keep: {versions: 5}").plan("shop/ledger").outputs
    assert output.record.metadata["keep"] == {
        "versions": 5, "class": "ledger", "min_days": 3653, "max_days": 4018
    }  # fmt: skip
    [output] = written(project, retention="visits").plan("shop/ledger").outputs
    assert output.record.metadata["keep"] == {"class": "visits", "max_days": 30}


def test_classes_of_the_gdpr_and_identifiers_of_people_are_sensitive(project: Project) -> None:
    [output] = written(project).plan("shop/ledger").outputs
    assert sensitive(output.record.columns) == {"id", "diagnosis"}


@pytest.mark.parametrize(
    ("changed", "line", "field", "message"),
    [
        ({"retention": "financial"}, 6, "tags.retention", "no retention class 'financial'"),
        (
            {"gdpr": "gdpr=secret"},
            11,
            "schema.columns.diagnosis.tags",
            "use gdpr=personal or gdpr=special_category",
        ),
        ({"subject": "'subject=Our Customer'"}, 10, "schema.columns.id.tags", "such as subject=customer"),
    ],
)
def test_an_unknown_class_is_an_error_of_its_line(
    project: Project, changed: dict[str, str], line: int, field: str, message: str
) -> None:
    [problem] = written(project, **changed).load().problems
    assert (problem.line, problem.field) == (line, field)
    assert message in problem.message


@pytest.mark.parametrize("limits", [{}, {"min_days": 40, "max_days": 30}, {"max_days": 0}])
def test_a_class_has_limits_that_can_be_kept(limits: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        RetentionClass(**limits)
