"""What a failed run says when it handles columns that nobody may see unasked."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from catalog.database import transaction
from components.discretion import discreet, masked
from resources.errors import CorruptInput
from tests.projects import failure, load_project, write_project

PEOPLE = """
type: components.Dataset
attributes:
  key: shop/people
  sql: SELECT '{secret}' AS name
  schema: {{columns: {{name: {{type: string, tags: [{tag}]}}}}}}
---
type: components.Dataset
attributes:
  key: shop/ages
  {code}
  inputs: [people]
"""
TRANSFORMS = """
def ages(people):
    return people.sparkSession.range(1).selectExpr(f"{int(people.first().name)} AS age")
"""
IN_SPARK = "sql: SELECT CAST(name AS int) AS age FROM shop.people"
IN_PYTHON = "python: transforms.py:ages"


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("tag", ["pii", "shown"])
@pytest.mark.parametrize(
    ("code", "kept"),
    [
        (IN_SPARK, "NumberFormatException: [CAST_INVALID_INPUT] The value"),
        (IN_PYTHON, "ValueError: invalid literal for int() with base 10"),
    ],
)
def test_a_failure_quotes_no_value_of_a_sensitive_column(
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
    told = [failure(result), row["reason"], *map(repr, result.all_events), *map(str, events)]
    assert kept in failure(result)
    assert kept in row["reason"]
    assert row["failure_kind"] == "CODE"
    hidden = tag == "pii"
    assert any(secret in text for text in told) is not hidden
    assert any(secret.split()[1] in text for text in told) is not hidden
    assert ("name may not be shown" in row["reason"]) is hidden


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "The value 'x' of the type \"STRING\" cannot be",
            "The value '•••' of the type \"STRING\" cannot be",
        ),
        ("can't take 'O'Hara' now", "can't take '•••' now"),
        ("over 'two\nlines' and on", "over '•••"),
        ('File "/a/b.py", line 3, said "O\'Hara"', 'File "/a/b.py", line 3, said "•••"'),
        (
            'set "spark.sql.ansi.enabled" to "DECIMAL(10,2)"',
            'set "spark.sql.ansi.enabled" to "DECIMAL(10,2)"',
        ),
    ],
)
def test_what_is_masked_and_what_is_left(text: str, told: str) -> None:
    assert masked(text) == told


@given(st.text(alphabet="abc '\"\n", min_size=1).map(lambda text: f"SECRET{text}SECRET"))
def test_no_part_of_a_quoted_value_is_left(value: str) -> None:
    assert "SECRET" not in masked(f"could not convert {value!r} to a number")


def test_our_own_errors_keep_their_class_and_notes() -> None:
    error = CorruptInput("shop/people cannot be read: 'Ann' is malformed")
    error.add_note("in the transform ages")
    with pytest.raises(CorruptInput, match="'•••' is malformed") as told, discreet({"name"}):
        raise error
    assert told.value.__notes__[0] == "in the transform ages"
    assert told.value.__suppress_context__
