"""Rows describing external processes, for code that draws them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class ProcessName(NamedTuple):
    """What names a process of another system: technology, instance ('' where there is one only), its name there."""

    technology: str
    instance: str
    name: str


@dataclass(frozen=True, slots=True)
class EstateProcess:
    """A process of another system that is active, or was only heard of.

    place: file:line of its definition. waits_for: each process with the condition, and whether it runs after that one.
    writes, reads: keys of the datasets that are known to be its.
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
        """The box that it is in."""
        box = self.metadata.get("box")
        return self.ident._replace(name=str(box)) if box else None


@dataclass(frozen=True, slots=True)
class ConfirmedDataset:
    """A dataset that a person has confirmed to be what files or a table are."""

    key: str
    description: str | None
    owners: tuple[str, ...]
    format: str
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EstateRows:
    """All of them, in the order of their names."""

    processes: tuple[EstateProcess, ...] = ()
    datasets: tuple[ConfirmedDataset, ...] = ()


NO_ESTATE = EstateRows()
