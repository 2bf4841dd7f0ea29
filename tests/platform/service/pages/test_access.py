"""Roles, tokens and the audit trail."""

from __future__ import annotations

import re

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Permission, Role
from headrace.access.grants import grant, grants
from headrace.access.tokens import issue_service_token
from headrace.catalog.records import Column, DatasetRecord
from headrace.registration.declarations import register
from tests.platform.service.conftest import OTHER
from tests.platform.service.pages.conftest import Browse


def test_an_administrator_gives_a_colleague_read_access(browse: Browse, catalog: Engine) -> None:
    admin = browse(Role.PLATFORM_ADMIN)

    page = admin.submit("/access", "/access/grant", user="dot", role="DATA_CONSUMER", domain="mart").text

    assert "dot" in page
    [row] = grants(catalog, "dot")
    assert (row.role, row.domain, row.granted_by) == (Role.DATA_CONSUMER, "mart", "user:ann")
    assert "user:dot" in admin.open("/audit?subject=user:ann")


def test_a_role_is_taken_back(browse: Browse, catalog: Engine) -> None:
    admin = browse(Role.PLATFORM_ADMIN)
    admin.submit("/access", "/access/grant", user="dot", role="DATA_OWNER")

    admin.submit("/access", "/access/revoke", user="dot", role="DATA_OWNER", domain="*")

    assert grants(catalog, "dot") == []
    again = admin.submit("/access", "/access/revoke", user="dot", role="DATA_OWNER", domain="*")
    assert again.status_code == 422
    assert "does not have DATA_OWNER" in again.text


def test_a_token_is_shown_once_and_works_until_it_is_revoked(browse: Browse, app: FastAPI) -> None:
    admin = browse(Role.PLATFORM_ADMIN)

    issued = admin.submit("/access", "/access/token", name="airflow", permissions=["read"], days="30").text
    token = re.search(r"<code>(hrs_[^<]+)</code>", issued).group(1)

    assert token not in admin.open("/access")
    client = TestClient(app, headers={"Authorization": f"Bearer {token}"})
    client.portal = admin.client.portal
    assert client.get("/api/v1/dataset").status_code == 200

    admin.submit("/access", "/access/token/revoke", name="airflow")
    assert client.get("/api/v1/dataset").status_code == 401


def test_a_wrong_field_is_named(browse: Browse) -> None:
    admin = browse(Role.PLATFORM_ADMIN)

    refused = admin.submit("/access", "/access/token", name=" ", permissions=["read"], days="30")

    assert refused.status_code == 422
    assert "name:" in refused.text


def test_an_administrator_is_not_one_of_a_single_domain(browse: Browse) -> None:
    admin = browse(Role.PLATFORM_ADMIN)

    refused = admin.submit("/access", "/access/grant", user="dot", role="PLATFORM_ADMIN", domain="mart")

    assert refused.status_code == 422
    assert "omit the domain" in refused.text


@pytest.mark.parametrize("role", [Role.DATA_STEWARD, Role.DATA_OWNER, Role.DATA_CONSUMER])
def test_others_neither_see_nor_change_it(browse: Browse, catalog: Engine, role: Role) -> None:
    browser = browse(role)

    browser.open("/access", 403)
    refused = browser.client.post("/access/grant", data={"user": "ann", "role": "PLATFORM_ADMIN"})

    assert refused.status_code == 403
    assert [row.role for row in grants(catalog, "ann")] == [role]


def test_grants_of_another_organisation_are_not_shown(browse: Browse, catalog: Engine) -> None:
    grant(catalog, "zed", Role.DATA_OWNER, organisation=OTHER, by="test")

    assert "zed" not in browse(Role.PLATFORM_ADMIN).open("/access")


def test_the_trail_is_for_those_who_audit(browse: Browse) -> None:
    browse(Role.DATA_STEWARD, "sue").open("/audit")
    browse(Role.DATA_OWNER, "bob").open("/audit", 403)


def test_a_reader_learns_why_they_see_a_dataset(browse: Browse, catalog: Engine) -> None:
    columns = (Column("name", "string", tags=("pii",)),)
    register(catalog, [DatasetRecord("crm/people", "parquet", columns=columns)])

    reader = browse(domain="crm").open("/datasets/crm/people/access")
    assert "with the role Data consumer for the domain crm" in reader
    assert "(name) are hidden from you" in reader
    assert "Everyone" not in reader

    owner = browse(Role.DATA_OWNER, "bob").open("/datasets/crm/people/access")
    assert "with the role Data owner for all domains" in owner
    assert "You also see the values of its sensitive columns (name)" in owner


def test_an_administrator_sees_who_sees_a_dataset_and_why(browse: Browse, catalog: Engine) -> None:
    grant(catalog, "<b>eve", Role.DATA_CONSUMER, domain="mart", by="test")
    grant(catalog, "raw-only", Role.DATA_OWNER, domain="raw", by="test")
    grant(catalog, "elsewhere-only", Role.DATA_OWNER, organisation=OTHER, by="test")
    issue_service_token(catalog, "dashboard", [Permission.READ], domain="mart", by="test")
    issue_service_token(catalog, "airflow", [Permission.REPORT], by="test")

    page = browse(Role.PLATFORM_ADMIN).open("/datasets/mart/delays/access")

    assert "3 rules" in page
    assert "user:&lt;b&gt;eve" in page
    assert "service:dashboard" in page
    assert "a token for the domain mart" in page
    for other in ("raw-only", "elsewhere-only", "airflow"):
        assert other not in page


def test_the_trail_belongs_to_access_in_the_header(browse: Browse) -> None:
    assert '<a href="/access" aria-current="true">' in browse(Role.PLATFORM_ADMIN).open("/audit")


def test_a_user_is_named_without_the_prefix_of_the_pages(browse: Browse) -> None:
    admin = browse(Role.PLATFORM_ADMIN)

    refused = admin.submit("/access", "/access/grant", user="user:bob", role="DATA_CONSUMER")

    assert refused.status_code == 422
    assert "write the user as bob" in refused.text
    assert "bob" not in admin.open("/access")
