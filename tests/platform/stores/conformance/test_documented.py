"""docs/stores.md has the table of the guarantees."""

from __future__ import annotations

from tests.paths import REPOSITORY
from tests.platform.stores.conformance import test_crashes, test_guarantees, test_object_storage
from tests.platform.stores.conformance.guarantees import Guarantee, table


def test_the_documented_table_is_that_of_the_tests() -> None:
    tests = {**vars(test_guarantees), **vars(test_crashes)}
    declared = [Guarantee.of(test) for test in tests.values() if "guarantee" in getattr(test, "__dict__", {})]
    documented = (REPOSITORY / "docs" / "stores.md").read_text(encoding="utf-8")
    assert table(declared, ["files", "iceberg", "delta", "derby", "postgresql"]) in documented


def test_the_guarantees_in_a_bucket_are_documented() -> None:
    chosen = [
        *((Guarantee.of(test).text, "files") for test in test_object_storage.OF_FILES),
        *((Guarantee.of(test).text, "files, iceberg, delta") for test in test_object_storage.OF_TABLES_TOO),
    ]
    documented = (REPOSITORY / "docs" / "object-storage.md").read_text(encoding="utf-8")
    assert "\n".join(f"- {text} ({stores})" for text, stores in chosen) in documented
