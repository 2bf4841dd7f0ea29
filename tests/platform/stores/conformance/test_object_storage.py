"""Guarantees that the stores keep in a bucket of S3 too; docs/object-storage.md lists them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.platform.stores.conformance.test_crashes import (
    test_files_that_are_gone_are_not_published_as_no_rows,
)
from tests.platform.stores.conformance.test_guarantees import (
    test_a_blocked_version_is_invisible,
    test_a_dropped_reference_is_restored,
    test_a_pinned_version_is_read,
    test_a_written_version_is_invisible,
    test_an_empty_version_is_published,
    test_expired_versions_are_deleted,
    test_partitions_are_replaced_alone,
    test_rows_are_set_aside,
    test_types_come_back,
    test_versions_are_published_compared_and_rolled_back,
)

OF_FILES = (
    test_a_blocked_version_is_invisible,
    test_a_pinned_version_is_read,
    test_a_written_version_is_invisible,
    test_an_empty_version_is_published,
    test_files_that_are_gone_are_not_published_as_no_rows,
    test_rows_are_set_aside,
    test_types_come_back,
    test_versions_are_published_compared_and_rolled_back,
)
OF_TABLES_TOO = (
    test_a_dropped_reference_is_restored,
    test_expired_versions_are_deleted,
    test_partitions_are_replaced_alone,
)

pytestmark = pytest.mark.slow


def stores(test: Callable[..., object]) -> tuple[str, ...]:
    """The stores on which a test runs here: those of tables keep their data files as the files store does."""
    return ("files", "iceberg", "delta") if test in OF_TABLES_TOO else ("files",)
