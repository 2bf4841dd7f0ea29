"""Filters of lists of datasets, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

QualityBand = Literal["90-100", "70-89", "0-69"]


@dataclass(frozen=True, slots=True)
class DatasetFilter:
    """Which datasets a list has; None: all.

    tag: `name`, or `name: value`. column_tag: a tag of one of its columns, such as PII. sla: a status of one of its
    objectives. quality: where its score lies.
    """

    domain: str | None = None
    owner: str | None = None
    tag: str | None = None
    column_tag: str | None = None
    format: str | None = None
    sla: str | None = None
    quality: QualityBand | None = None

    def parameters(self) -> dict[str, str | None]:
        """Return the parameters of the statements that filter."""
        name, _, value = (self.tag or "").partition(": ")
        return {
            "domain": self.domain,
            "owner": self.owner,
            "tag": name or None,
            "tag_value": value or None,
            "column_tag": self.column_tag,
            "format": self.format,
            "sla": self.sla,
            "quality": self.quality,
        }


ALL_DATASETS = DatasetFilter()
