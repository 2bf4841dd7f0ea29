"""The record of the input versions that a version has taken in, which is published with it, in its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from headrace.catalog.records import Version

_METADATA = "taken_in"


@dataclass(frozen=True, slots=True)
class TakenIn:
    """The record of a version: all that it has taken in since the dataset was last computed from nothing.

    versions: by partition of the input ('' if it has none), the version that was read last. code_versions: of the code
    that computed the rows, oldest first. described: how the dataset grew, as declared. watermark: the greatest that was
    read; latest: the greatest value of `order_by`; both as text.
    """

    versions: Mapping[str, UUID] = field(default_factory=dict)
    code_versions: tuple[str, ...] = ()
    described: Mapping[str, Any] = field(default_factory=dict)
    watermark: str | None = None
    latest: str | None = None

    @classmethod
    def of(cls, version: Version) -> TakenIn | None:
        """Return what the version has taken in; None if a run that computes everything wrote it."""
        stored = version.metadata.get(_METADATA)
        if stored is None:
            return None
        return cls(
            versions={partition: UUID(each) for partition, each in stored["versions"].items()},
            code_versions=tuple(stored["code_versions"]),
            described=stored["described"],
            watermark=stored["watermark"],
            latest=stored["latest"],
        )

    @property
    def metadata(self) -> dict[str, Any]:
        """The record, for the metadata of the version."""
        return {
            _METADATA: {
                "versions": {partition: str(each) for partition, each in self.versions.items()},
                "code_versions": list(self.code_versions),
                "described": dict(self.described),
                "watermark": self.watermark,
                "latest": self.latest,
            }
        }

    @property
    def code_version(self) -> str:
        """The code version of all rows. If there are several, it equals none of them, so that the dataset is stale."""
        return " ".join(self.code_versions)

    def with_code(self, code_version: str | None) -> tuple[str, ...]:
        """Return the code versions, with that of the code which computes more rows."""
        now = [code_version] if code_version else []
        return (*(each for each in self.code_versions if each not in now), *now)
