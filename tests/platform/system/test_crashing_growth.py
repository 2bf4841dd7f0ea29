"""A run of a dataset that grows is killed, before or after its version is published: rows are taken in once."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headrace.publishing.unreported import UnreportedPage, unreported_versions
from headrace.queries.versions import versions
from tests.platform.children import exit_code
from tests.platform.execution.growing import Feed, stored
from tests.platform.projects import load_project, write_project
from tests.platform.system.test_crashes import DATASET, child, retry

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("spark")]

LEDGER = """
type: headrace.ExternalDataset
attributes: {key: shop/feed, partitions: {type: static, keys: [a, b]}}
---
type: headrace.Dataset
attributes:
  key: shop/numbers
  sql: SELECT part, id FROM feed
  incremental: {mode: append, partition: part}
"""


@pytest.mark.parametrize(("place", "again"), [("before:publish", "run"), ("after:publish", "retry")])
def test_rows_are_taken_in_once_whatever_the_run_came_to(
    place: str, again: str, engine: Engine, tmp_path: Path
) -> None:
    root = write_project(tmp_path / "project", "shop", LEDGER)
    project = load_project(root, engine)
    feed = Feed(engine, tmp_path, "shop/feed", {"part": "string", "id": "bigint"})
    feed.publish([{"part": "a", "id": 1}], "a")
    project.materialize(DATASET)
    feed.publish([{"part": "a", "id": 2}], "a")
    feed.publish([{"part": "b", "id": 3}], "b")
    run_id = str(uuid4())
    assert exit_code(child(root, run_id, place)) == -9
    assert len(versions(engine, DATASET)) == (2 if place == "after:publish" else 1)

    assert retry(project, run_id).success if again == "retry" else project.materialize(DATASET)[0].success

    assert stored(engine, DATASET) == [{"part": "a", "id": 2}, {"part": "b", "id": 3}]
    assert len(versions(engine, DATASET)) == 2
    assert unreported_versions(engine) == UnreportedPage()
