"""Failure messages of runs over columns with hidden values."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.declarations.loading.project import load
from headrace.execution.masking import without_sensitive_values
from headrace.execution.plan import ExternalPlan
from headrace.landed.observation import observe
from headrace.spark.errors import SchemaMismatch
from tests.platform.projects import failure, load_project, project_of, write_project

PEOPLE = """
type: headrace.Dataset
attributes:
  key: shop/people
  sql: SELECT '{secret}' AS name
  schema: {{columns: {{name: {{type: string, tags: [{tag}]}}}}}}
---
type: headrace.Dataset
attributes:
  key: shop/ages
  {code}
  inputs: [people]
"""
TRANSFORMS = """
from pyspark.sql.functions import udf


def ages(people):
    return people.sparkSession.range(1).selectExpr(f"{int(people.first().name)} AS age")


@udf("int")
def age(name):
    return int(name)


def in_a_function(people):
    return people.select(age("name").alias("age"))
"""
LANDED = """
type: headrace.ExternalDataset
attributes:
  key: shop/people
  location: {location}
  format: csv
  options: {{header: true}}
  schema: {{columns: {{name: {{type: string, tags: [{tag}]}}, born: date}}}}
---
type: headrace.Dataset
attributes:
  key: shop/clean
  sql: SELECT * FROM shop.people
"""


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("tag", ["pii", "shown"])
@pytest.mark.parametrize(
    ("code", "kept"),
    [
        (
            "sql: SELECT CAST(name AS int) AS age FROM shop.people",
            "NumberFormatException: [CAST_INVALID_INPUT]",
        ),
        (
            "sql: SELECT map_from_arrays(array(name, name), array(1, 2)) AS age FROM shop.people",
            "[DUPLICATED_MAP_KEY]",
        ),
        ("sql: SELECT assert_true(false, name) AS age FROM shop.people", "[USER_RAISED_EXCEPTION]"),
        ("python: transforms.py:ages", "ValueError: "),
        ("python: transforms.py:in_a_function", "ValueError"),
    ],
)
def test_a_failure_holds_no_value_of_a_sensitive_column(
    tmp_path: Path, engine: Engine, tag: str, code: str, kept: str
) -> None:
    secret = f"O'Hara {uuid4().hex}"
    declarations = PEOPLE.format(secret=secret.replace("'", "\\'"), tag=tag, code=code)
    project = load_project(write_project(tmp_path, "shop", declarations, transforms_py=TRANSFORMS), engine)
    project.materialize("shop/people")

    (result,) = project.materialize("shop/ages")

    with transaction(engine) as cursor:
        row = cursor.execute(
            "SELECT reason, failure_kind FROM catalog.run_attempt WHERE state = 'FAILED'"
        ).fetchone()
        events = cursor.execute("SELECT payload_json FROM catalog.run_event").fetchall()
    assert row is not None
    reported = [failure(result), row["reason"], *map(repr, result.all_events), *map(str, events)]
    assert kept in failure(result)
    assert kept in row["reason"]
    assert row["failure_kind"] == "CODE"
    hidden = tag == "pii"
    assert any(secret.split()[1] in text for text in reported) is not hidden
    assert ("may contain values of name" in row["reason"]) is hidden


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("tag", ["pii", "shown"])
def test_a_broken_file_of_sensitive_records_is_named_and_not_quoted(
    tmp_path: Path, engine: Engine, tag: str
) -> None:
    landed = tmp_path / "people.csv"
    landed.write_text("name,born\nAnnabel Secretson,1970-13-45\n")
    project = write_project(tmp_path, "shop", LANDED.format(location=landed, tag=tag))
    loaded = load(project)
    observe(engine, [plan for plan in loaded.plans if isinstance(plan, ExternalPlan)])

    (result,) = project_of(loaded, engine).materialize("shop/clean")

    assert "people.csv" in failure(result)
    assert "MALFORMED_RECORD_IN_PARSING" in failure(result) or tag == "shown"
    assert ("Annabel" in failure(result)) is (tag == "shown")
    assert any("Annabel" in repr(event) for event in result.all_events) is (tag == "shown")


def test_errors_that_hold_no_values_are_left_as_they_are() -> None:
    error = SchemaMismatch("shop/people: column 'name' is missing")
    with pytest.raises(SchemaMismatch) as reported, without_sensitive_values({"name"}, (SchemaMismatch,)):
        raise error
    assert reported.value is error


def test_without_sensitive_columns_nothing_is_hidden() -> None:
    with pytest.raises(ValueError, match="Ann"), without_sensitive_values(frozenset(), ()):
        raise ValueError("Ann")
