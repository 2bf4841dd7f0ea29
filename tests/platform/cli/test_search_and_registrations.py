"""`search`, `impact` and the registrations work on the catalog itself, without the service."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Engine

from tests.platform.cli.conftest import Invoke


def answer(invoke: Invoke, *words: str) -> Any:
    result = invoke(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_search_forgives_typing_errors(invoke: Invoke, shop: Engine) -> None:
    assert answer(invoke, "search", "claen")["items"][0]["key"] == "shop/clean"
    found = invoke("search", "claen").stdout
    assert "Searched for similar words instead of: claen." in found
    assert "shop/clean" in found
    assert "No datasets match." in invoke("search", "zzzqqq").stdout


def test_impact_lists_readers_with_their_owners(invoke: Invoke, shop: Engine) -> None:
    assert "team:data" in invoke("impact", "shop/raw").stdout
    readers = answer(invoke, "impact", "shop/raw", "--direct")["items"]
    assert [each["key"] for each in readers] == ["shop/clean", "shop/clean"]
    unknown = invoke("impact", "shop/rwa")
    assert unknown.exit_code == 1
    assert "Did you mean shop/raw?" in unknown.stderr


def test_a_registered_dataset_waits_for_approval(invoke: Invoke, shop: Engine) -> None:
    made = answer(invoke, "register", "crm/customers", "--format", "table", "--owner", "team:crm")
    assert "crm/customers" in invoke("registrations").stdout
    approved = answer(invoke, "approve", made["registration_id"])
    assert approved["status"] == "APPROVED"
    assert approved["reviewer"].startswith("operator:")
    assert "No registrations wait for review." in invoke("registrations").stdout
    again = invoke("reject", made["registration_id"], "--comment", "no")
    assert again.exit_code == 1
    assert "was already approved" in again.output


def test_a_wrong_field_of_a_request_is_named(invoke: Invoke, shop: Engine, tmp_path: Any) -> None:
    file = tmp_path / "request.json"
    file.write_text('{"key": "crm/customers", "format": "table", "ownr": []}')
    refused = invoke("register", "--file", str(file))
    assert refused.exit_code == 1
    assert "request.json: ownr: unknown field" in refused.stderr
    assert "error: key: write domain/name" in invoke("register", "customers").stderr
