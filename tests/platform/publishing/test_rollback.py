"""Rollbacks, and refused ones."""

from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import CheckResult, CheckStatus
from headrace.errors import RollbackRefused, UnknownVersion
from headrace.publishing.publication import publish
from headrace.publishing.rollback import rollback


def test_back_and_back_again_goes_on_to_older_versions(catalog: Engine, draft: Any) -> None:
    for generation, tag in enumerate(["t1", "t2", "t3"]):
        publish(catalog, None, [draft(tag=tag, generation=generation)])
    steps = [rollback(catalog, "mart/delays", None, None, by="ada", reason="x") for _ in range(2)]
    assert [(step.version.tag, step.generation) for step in steps] == [("t2", 4), ("t1", 5)]
    with pytest.raises(RollbackRefused, match="no version published before"):
        rollback(catalog, "mart/delays", None, None, by="ada", reason="x")
    assert rollback(catalog, "mart/delays", None, "t3", by="ada", reason="forward").generation == 6


def test_what_cannot_be_rolled_back_to(catalog: Engine, draft: Any) -> None:
    with pytest.raises(RollbackRefused, match="nothing published"):
        rollback(catalog, "mart/delays", None, None, by="ada", reason="x")
    publish(catalog, None, [draft(tag="good")])
    publish(catalog, None, [draft(tag="bad", generation=1, checks=(CheckResult("c", CheckStatus.FAIL),))])
    with pytest.raises(RollbackRefused, match="bad of mart/delays is BLOCKED"):
        rollback(catalog, "mart/delays", None, "bad", by="ada", reason="x")
    with pytest.raises(RollbackRefused, match="has version good published already"):
        rollback(catalog, "mart/delays", None, "good", by="ada", reason="x")
    with pytest.raises(UnknownVersion):
        rollback(catalog, "mart/delays", None, "nope", by="ada", reason="x")
