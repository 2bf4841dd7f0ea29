"""Rows describing external processes, for drawing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class ProcessName(NamedTuple):
    """Identifier of an external process: technology, instance ('' if there is only one), external name."""

    technology: str
    instance: str
    name: str


@dataclass(frozen=True, slots=True)
class EstateProcess:
    """An external process that is active or unscanned.

    place: file:line of its definition. waits_for: each predecessor with the condition, and whether it orders the two.
    writes, reads: keys of its known datasets.
    """

    ident: ProcessName
    key: str
    description: str | None
    owners: tuple[str, ...]
    lifecycle: str
    metadata: Mapping[str, Any]
    place: str | None
    waits_for: tuple[tuple[ProcessName, str, bool], ...]
    writes: tuple[str, ...]
    reads: tuple[str, ...]

    @property
    def box(self) -> ProcessName | None:
        """The box that contains it."""
        box = self.metadata.get("box")
        return self.ident._replace(name=str(box)) if box else None


@dataclass(frozen=True, slots=True)
class ConfirmedDataset:
    """A dataset confirmed for files or a table."""

    key: str
    description: str | None
    owners: tuple[str, ...]
    format: str
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EstateRows:
    """All of them, ordered by name."""

    processes: tuple[EstateProcess, ...] = ()
    datasets: tuple[ConfirmedDataset, ...] = ()


NO_ESTATE = EstateRows()
