"""Failures of a Delta table's storage say what is wrong, and not that there is a generic error."""

from __future__ import annotations

import pytest
from deltalake import Field, Schema
from deltalake.schema import PrimitiveType

from headrace.spark.errors import StoreUnavailable
from headrace.stores.delta.table import commit, opened
from tests.platform.s3.server import Server, refusing

SCHEMA = Schema([Field("a", PrimitiveType("long"))])


def create(location: str) -> None:
    commit(location, None, SCHEMA, added=[], removed=[], kept=False, metadata={})


def test_a_bucket_that_does_not_exist_is_named(bucket: str) -> None:
    location = "s3://no-such-bucket/warehouse/shop/orders/delta"
    with pytest.raises(StoreUnavailable, match=f"There is no bucket for {location}. Create it"):
        create(location)


def test_missing_rights_are_named(bucket: str, s3: Server) -> None:
    location = f"s3://{bucket}/warehouse/shop/orders/delta"
    with (
        s3.failing(refusing("403 Forbidden", "AccessDenied")),
        pytest.raises(StoreUnavailable, match=f"No permission at {location}: "),
    ):
        opened(location)


def test_another_failure_has_the_cause_and_no_colours(bucket: str, s3: Server) -> None:
    location = f"s3://{bucket}/warehouse/shop/orders/delta"
    with s3.failing(refusing("400 Bad Request", "Odd")), pytest.raises(StoreUnavailable) as failed:
        create(location)
    assert "Odd" in str(failed.value)
    assert "\x1b" not in str(failed.value)
