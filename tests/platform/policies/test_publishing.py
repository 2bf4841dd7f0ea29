"""Policies at a publish: versions that a rule denies are blocked, and stay inspectable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import Engine

from headrace.catalog.records import CheckStatus
from headrace.queries.versions import version, versions
from tests.platform.connections.databases import configured
from tests.platform.projects import failure, load_project, write_project

pytestmark = pytest.mark.usefixtures("spark")

ORDERS = """
type: headrace.ExternalDataset
attributes: {key: shop/feed, tags: {region: us}}
---
type: headrace.Dataset
attributes:
  key: shop/orders
  tags: {region: eu}
  sql: SELECT id FROM range(3)
"""
SMALL: dict[str, object] = {
    "name": "is_small",
    "at": ["publish"],
    "require": "event == 'publish' && version.rows <= 2 && version.bytes > 0 && dataset.tags.region == 'eu'",
    "message": "it has more than two rows",
    "comply": "Split it.",
}


def materialize(
    root: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch, **files: list[dict[str, object]]
) -> Any:
    (root / "policies").mkdir(parents=True, exist_ok=True)
    for name, entries in files.items():
        (root / "policies" / f"{name}.yaml").write_text(yaml.safe_dump(entries, sort_keys=False))
    with configured(monkeypatch, root, ""):
        [result] = load_project(write_project(root, "shop", ORDERS), engine).materialize("shop/orders")
    return result


def test_a_version_that_a_rule_denies_is_blocked(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = materialize(tmp_path, engine, monkeypatch, rules=[SMALL])
    assert "failed check: policy:is_small" in failure(result)
    [blocked] = versions(engine, "shop/orders")
    [found] = version(engine, "shop/orders", blocked.version.tag).checks
    assert (found.name, found.status) == ("policy:is_small", CheckStatus.FAIL)
    assert found.detail["comply"] == "Split it."
    exception: dict[str, object] = {
        "rule": "is_small",
        "datasets": ["shop/*"],
        "until": "9999-12-31",
        "approved_by": "team:risk",
        "reason": "r",
    }
    assert materialize(tmp_path, engine, monkeypatch, exceptions=[exception]).success
    [allowed] = version(engine, "shop/orders").checks
    assert allowed.status is CheckStatus.PASS
    assert allowed.detail["approved_by"] == "team:risk"


def test_a_warning_and_a_rule_without_an_answer_block_nothing(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [SMALL | {"outcome": "warn"}, SMALL | {"name": "broken", "require": "version.nothing > 1"}]
    assert materialize(tmp_path, engine, monkeypatch, rules=rules).success
    found = {each.name: each for each in version(engine, "shop/orders").checks}
    assert {each.status for each in found.values()} == {CheckStatus.WARN}
    assert "there is no field 'nothing'" in found["policy:broken"].detail["not_evaluated"]


def test_rules_of_declarations_are_not_evaluated_again(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert materialize(tmp_path, engine, monkeypatch, rules=[SMALL | {"at": ["declaration"]}]).success
    assert version(engine, "shop/orders").checks == ()


def test_a_rule_that_does_not_parse_is_shown_with_the_version(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [SMALL | {"require": "version.rows <="}]
    assert materialize(tmp_path, engine, monkeypatch, rules=rules, more=[SMALL]).success
    found = {each.name: each for each in version(engine, "shop/orders").checks}
    assert found.keys() == {"policy:policies/rules.yaml", "policy:policies/more.yaml"}
    assert {each.status for each in found.values()} == {CheckStatus.WARN}
    assert "not valid CEL" in found["policy:policies/rules.yaml"].detail["not_evaluated"]
