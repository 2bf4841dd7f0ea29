"""Declarations in a temporary project, as terms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from headrace.contracts.terms import Terms, terms_by_key
from headrace.declarations.loading.project import load
from headrace.execution.plan import Plan

ORDERS = {
    "key": "shop/orders",
    "description": "Orders of the web shop.",
    "owners": ["team:shop", "ann@example.com"],
    "tags": {"layer": "clean"},
    "classification": "internal",
    "sql": "SELECT 1 AS id, 'a' AS email, 2 AS amount, DATE '2026-01-01' AS day",
    "partitions": {"type": "daily", "start": "2026-01-01", "column": "day"},
    "schema": {
        "columns": {
            "id": {"type": "bigint", "nullable": False},
            "email": {"type": "string", "tags": ["pii"], "checks": [{"str_length": {"max_value": 200}}]},
            "amount": {"type": "int", "checks": [{"greater_than_or_equal_to": 0}, {"isin": [1, 2, 3]}]},
            "day": {"type": "date", "nullable": False},
        }
    },
    "checks": [
        {"unique": ["id", "day"]},
        {"row_count": {"min": 10}},
        {"sql": "amount < id", "severity": "warning"},
    ],
    "sla": {"deadline": "0 6 * * *", "timezone": "Europe/Berlin", "warn_before": "30m"},
    "keep": {"days": 90},
}

Declare = Callable[..., Terms]


@pytest.fixture
def plans(tmp_path: Path) -> Callable[..., tuple[Plan, ...]]:
    """Load a declaration with these attributes, changed by `changes`; an attribute None is left out."""

    def load_(
        attributes: dict = ORDERS, type: str = "headrace.Dataset", **changes: object
    ) -> tuple[Plan, ...]:
        declared = {name: value for name, value in (attributes | changes).items() if value is not None}
        return loaded(tmp_path, yaml.safe_dump({"type": type, "attributes": declared}))

    return load_


@pytest.fixture
def declare(plans: Callable[..., tuple[Plan, ...]]) -> Declare:
    def terms(*arguments: object, **changes: object) -> Terms:
        (found,) = terms_by_key(plans(*arguments, **changes)).values()
        return found

    return terms


def loaded(root: Path, text: str) -> tuple[Plan, ...]:
    file = root / "assets" / "shop" / "defs.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    found = load(root)
    assert found.problems == ()
    return found.plans
