"""The client is written from the document, and the commands that ask the API use it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine
from typer.testing import CliRunner, Result

from headrace.access.callers import ROLES, Role
from headrace.access.tokens import issue_service_token
from headrace.cli import app as headrace
from headrace.client import ApiError, Catalog
from headrace.service.app import routed
from headrace.service.client_generator import TARGET, source
from headrace.settings import settings
from tests.platform.service.serving import served

Invoke = Callable[..., Result]


def test_is_the_one_that_the_document_says() -> None:
    assert TARGET.read_text(encoding="utf-8") == source(routed().openapi()), (
        "run python -m headrace.service.client_generator"
    )


@pytest.fixture
def address(app: FastAPI) -> Iterator[str]:
    with served(app) as address:
        yield address


@pytest.fixture
def token(catalog: Engine) -> str:
    return issue_service_token(catalog, "client", ROLES[Role.PLATFORM_ADMIN], by="test")


@pytest.fixture
def invoke(address: str, token: str, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Runs `headrace` with these words against the served catalog."""
    monkeypatch.setenv("HEADRACE_API_URL", address)
    monkeypatch.setenv("HEADRACE_API_TOKEN", token)
    settings.cache_clear()
    return lambda *words: CliRunner().invoke(headrace, words, env={"COLUMNS": "200"})


def test_asks(address: str, token: str) -> None:
    with Catalog(address, token) as catalog:
        assert catalog.show_dataset("mart/delays")["dataset"]["owners"] == ["team:data"]
        assert [row["key"] for row in catalog.list_datasets(limit=1)["items"]] == ["mart/delays"]
        with pytest.raises(ApiError, match="there is no dataset mart/nothing") as refused:
            catalog.show_dataset("mart/nothing")
    assert (refused.value.status, bool(refused.value.request_id)) == (404, True)
    with Catalog("http://127.0.0.1:1") as nobody, pytest.raises(ApiError, match="does not answer"):
        nobody.live()


def asked(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_finds_and_shows_who_is_hit(invoke: Invoke) -> None:
    assert asked(invoke("search", "delasy", "--json"))["items"][0]["key"] == "mart/delays"
    told = invoke("search", "delasy").stdout
    assert "Taken for words like them: delasy." in told
    assert "mart/delays" in told
    assert "No dataset is like that." in invoke("search", "zzzqqq").stdout
    assert "team:board" in invoke("impact", "raw/flights").stdout
    assert [
        each["key"] for each in asked(invoke("impact", "raw/flights", "--direct", "--json"))["items"]
    ] == [
        "mart/delays",
        "mart/delays",
    ]


def test_takes_a_dataset_in(invoke: Invoke) -> None:
    registration = asked(
        invoke("register", "crm/customers", "--format", "table", "--owner", "team:crm", "--json")
    )
    assert "crm/customers" in invoke("registrations").stdout
    approved = asked(invoke("approve", registration["registration_id"], "--json"))
    assert approved["status"] == "APPROVED"
    assert "Nothing waits for an answer." in invoke("registrations").stdout
    again = invoke("reject", registration["registration_id"], "--comment", "no")
    assert again.exit_code == 1
    assert "was approved already" in again.output


def test_says_what_to_do_without_a_token(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_API_TOKEN")
    settings.cache_clear()
    refused = invoke("search", "delays")
    assert refused.exit_code == 1
    assert "HEADRACE_API_TOKEN" in refused.output
