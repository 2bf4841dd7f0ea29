"""Permissions of roles, by domain."""

from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.access.callers import ROLES, Permission, Role, domain_of
from headrace.errors import Forbidden
from tests.platform.access.conftest import caller, service


def test_a_consumer_reads_and_no_more() -> None:
    assert ROLES[Role.DATA_CONSUMER] == {Permission.READ}


def test_what_the_brief_restricts_is_restricted() -> None:
    may = {permission: {role for role in Role if permission in ROLES[role]} for permission in Permission}
    assert may[Permission.OPERATE] == {Role.PLATFORM_ADMIN}
    assert may[Permission.REVIEW] == {Role.PLATFORM_ADMIN, Role.DATA_STEWARD}
    assert may[Permission.REGISTER] == {Role.PLATFORM_ADMIN, Role.DATA_STEWARD, Role.DATA_OWNER}
    assert Role.DATA_CONSUMER not in may[Permission.READ_SENSITIVE]


def test_a_role_holds_in_its_domain_only() -> None:
    owner = caller(Role.DATA_OWNER, domain="mart")
    owner.require(Permission.REGISTER, "mart/delays", "mart/report")
    with pytest.raises(Forbidden, match=r"may not register crm/people: for the domain crm, it requires"):
        owner.require(Permission.REGISTER, "mart/delays", "crm/people")
    assert owner.may(Permission.REGISTER)
    assert not owner.may(Permission.REGISTER, "martial/delays")


def test_a_refusal_names_the_roles_with_the_permission() -> None:
    with pytest.raises(Forbidden, match="it requires PLATFORM_ADMIN or DATA_STEWARD"):
        caller(Role.DATA_CONSUMER).require(Permission.REVIEW)


def test_a_service_has_its_permissions_and_no_role() -> None:
    reporter = service(Permission.REPORT)
    assert reporter.may(Permission.REPORT, "any/thing")
    assert not reporter.may(Permission.READ)
    assert reporter.roles == ()


@pytest.mark.parametrize(
    ("key", "domain"),
    [
        ("mart/delays", "mart"),
        ("mart/deep/delays", "mart"),
        ("delays", "delays"),
        ("s3://lake/raw/flights", "s3://lake"),
        ("s3://lake#raw/flights", "s3://lake"),
        ("airflow#dag.task", "airflow"),
        ("postgres://db:5432/sales.public.orders", "postgres://db:5432"),
        ("file:///data/x", "file://"),
        ("", ""),
    ],
)
def test_the_domain_of_a_key(engine: Engine, key: Any, domain: Any) -> None:
    from headrace.database.connection import transaction

    assert domain_of(key) == domain
    with transaction(engine) as cursor:
        assert cursor.execute("SELECT catalog.domain_of(%s) AS domain", [key]).fetchone() == {
            "domain": domain
        }
