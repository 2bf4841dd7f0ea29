"""docs/stores.md has the table of the guarantees."""

from __future__ import annotations

from tests.paths import REPOSITORY
from tests.platform.stores.conformance import test_crashes, test_guarantees
from tests.platform.stores.conformance.guarantees import Guarantee, table


def test_the_documented_table_is_that_of_the_tests() -> None:
    tests = {**vars(test_guarantees), **vars(test_crashes)}
    declared = [Guarantee.of(test) for test in tests.values() if "guarantee" in getattr(test, "__dict__", {})]
    documented = (REPOSITORY / "docs" / "stores.md").read_text(encoding="utf-8")
    assert table(declared, ["files", "iceberg", "delta"]) in documented
