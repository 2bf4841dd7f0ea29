"""Exceptions of Python transforms: reported as they are, at their line, and retried only if that may help."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.files.filesystem import local_path
from headrace.queries.pointers import newest
from tests.platform.projects import failure, load_project, write_project

pytestmark = pytest.mark.usefixtures("spark")

PYTHON = """
type: headrace.ExternalDataset
attributes: {key: shop/raw}
---
type: headrace.Dataset
attributes: {key: shop/numbers, sql: SELECT id FROM range(50)}
---
type: headrace.Dataset
attributes:
  key: shop/rated
  python: code.py:rated
  retry: {max_retries: 1}
"""


def failures(engine: Engine) -> list[str]:
    """The reasons of the failed attempts."""
    with transaction(engine) as cursor:
        found = cursor.execute("SELECT reason FROM catalog.run_attempt WHERE state = 'FAILED'").fetchall()
    return [attempt["reason"] for attempt in found]


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (
            "ConnectionError('rates.example.com: Connection refused')",
            "ConnectionError: rates.example.com: Connection refused",
        ),
        (
            "FileNotFoundError(2, 'No such file or directory', 'rates.csv')",
            "FileNotFoundError: [Errno 2] No such file or directory: 'rates.csv'",
        ),
        (
            "PermissionError(13, 'Permission denied', 'rates.csv')",
            "PermissionError: [Errno 13] Permission denied: 'rates.csv'",
        ),
    ],
)
def test_exceptions_of_a_transform_are_reported_unchanged(
    tmp_path: Path, engine: Engine, raised: str, message: str
) -> None:
    code = f"def rated(numbers):\n    numbers.count()\n    raise {raised}\n"
    project = load_project(write_project(tmp_path, "shop", PYTHON, code_py=code), engine)
    project.materialize("shop/numbers")

    (result,) = project.materialize("shop/rated")

    reported = f"{message}\nin the transform rated, {tmp_path}/assets/shop/code.py:3"
    assert failure(result) == reported
    assert failures(engine) == [reported, reported]


def test_code_that_is_wrong_is_not_tried_again(tmp_path: Path, engine: Engine) -> None:
    project = load_project(
        write_project(tmp_path, "shop", PYTHON, code_py="def rated(numbers):\n    return 1\n"), engine
    )
    project.materialize("shop/numbers")
    (result,) = project.materialize("shop/rated")
    assert "rated returned a int, not a DataFrame" in failure(result)
    assert len(failures(engine)) == 1


def test_a_corrupt_input_that_a_transform_meets_is_explained_with_its_line(
    tmp_path: Path, engine: Engine
) -> None:
    code = "def rated(numbers):\n    numbers.where('id > 3').count()\n    return numbers\n"
    project = load_project(write_project(tmp_path, "shop", PYTHON, code_py=code), engine)
    project.materialize("shop/numbers")
    published = newest(engine, "shop/numbers")
    assert published is not None
    for file in local_path(published.location).glob("*.parquet"):
        file.write_bytes(b"\0" * file.stat().st_size)
        file.with_name(f".{file.name}.crc").unlink()

    (result,) = project.materialize("shop/rated")

    assert f"shop/numbers version {published.tag} cannot be read" in failure(result)
    assert "in the transform rated" in failure(result)
    assert "code.py:2" in failure(result)
