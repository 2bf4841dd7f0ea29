"""Row checks of other packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from headrace.plugins import Registry

if TYPE_CHECKING:
    from pyspark.sql import Column


class RowCheckPlugin(Protocol):
    """A check of single values, counted while the rows are written."""

    types: tuple[str, ...]
    """Spark's simple names of the types that it is defined for (`string`, `bigint`); empty: for every type."""

    def validate(self, parameters: Mapping[str, Any]) -> None:
        """Raise ValueError for invalid parameters."""
        ...

    def condition(self, value: Column, parameters: Mapping[str, Any]) -> Column:
        """Return the condition that is true, or null, for a value that passes. A null value passes."""
        ...


CHECKS: Registry[RowCheckPlugin] = Registry("headrace.checks", "check", {})
