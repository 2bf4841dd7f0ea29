"""The load of machines, and the jobs that wait for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

from headrace.autosys import Estate


@dataclass(slots=True)
class _Machine:
    """factor: its relative speed, by which the free load of the machines of a virtual one is compared."""

    max_load: float = inf
    factor: float = 1.0
    load: int = 0
    is_offline: bool = False

    @property
    def free(self) -> float:
        return self.max_load - self.load


@dataclass(slots=True)
class Machines:
    """Machines by name; a virtual one consists of others."""

    _real: dict[str, _Machine] = field(default_factory=dict)
    _virtual: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, estate: Estate) -> Machines:
        """Return the machines that the files declare, all online and without load."""
        found = cls()
        for name, machine in estate.things.get("machine", {}).items():
            inside = tuple(each.value for each in machine.attributes if each.name == "machine")
            if inside:
                found._virtual[name] = inside
            max_load, factor = machine.get("max_load"), machine.get("factor")
            if not inside or max_load:
                found._real[name] = _Machine(_positive(max_load, inf), _positive(factor, 1.0))
        return found

    def copy(self) -> Machines:
        """Return the same machines, all online and without load."""
        real = {name: _Machine(each.max_load, each.factor) for name, each in self._real.items()}
        return Machines(real, self._virtual)

    def place(self, names: Iterable[str], load: int, *, queues: bool) -> str | None:
        """Take room for a job on one of its machines, and return which; None if it has to wait.

        queues: it waits for room; otherwise the machine only has to be online. With several machines, the one
        with the most free load, weighted with its factor, is taken.
        """
        candidates = [
            (name, machine)
            for name in self._expanded(names)
            if not (machine := self._of(name)).is_offline and (not queues or machine.free >= load)
        ]
        if not candidates:
            return None
        chosen, machine = max(candidates, key=lambda each: each[1].free * each[1].factor)
        machine.load += load
        return chosen

    def release(self, name: str, load: int) -> None:
        """Give back the room that a job took."""
        self._of(name).load -= load

    def is_online(self, names: Iterable[str]) -> bool:
        """Return whether one of the machines is online."""
        return any(not self._of(name).is_offline for name in self._expanded(names))

    def set_offline(self, name: str, *, offline: bool) -> None:
        """Take a machine off line or back."""
        self._of(name).is_offline = offline

    def _expanded(self, names: Iterable[str]) -> list[str]:
        return [each for name in names for each in self._virtual.get(name, (name,))]

    def _of(self, name: str) -> _Machine:
        return self._real.setdefault(name, _Machine())


def _positive(text: str | None, otherwise: float) -> float:
    try:
        value = float(text or "")
    except ValueError:
        return otherwise
    return value if value > 0 else otherwise
