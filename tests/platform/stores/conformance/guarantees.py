"""A guarantee of the stores: the text in docs/stores.md, and the stores that do not make it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.platform.stores.conformance.outside import OUTSIDE

_T = TypeVar("_T", bound=Callable[..., Any])


@dataclass(frozen=True)
class Guarantee:
    """What a test of `shop` shows of each store, but for those `without` it."""

    text: str
    without: tuple[str, ...] = ()

    @classmethod
    def of(cls, test: Callable[..., Any]) -> Guarantee:
        """The guarantee of a test."""
        guarantee: Guarantee = test.__dict__["guarantee"]
        return guarantee

    @property
    def stores(self) -> list[str]:
        return [store for store in OUTSIDE if store not in self.without]


def guarantee(text: str, *, without: Iterable[str] = ()) -> Callable[[_T], _T]:
    """Declare the guarantee that a test shows."""

    def declared(test: _T) -> _T:
        test.__dict__["guarantee"] = Guarantee(text, tuple(without))
        return test

    return declared


def table(guarantees: Iterable[Guarantee], stores: Iterable[str]) -> str:
    """The guarantees by store, as Markdown."""
    names = list(stores)
    lines = [
        f"| A version, or its dataset | {' | '.join(f'`{name}`' for name in names)} |",
        f"|---|{'---|' * len(names)}",
    ]
    for each in guarantees:
        kept = " | ".join("yes" if name in each.stores else "–" for name in names)  # noqa: RUF001
        lines.append(f"| {each.text} | {kept} |")
    return "\n".join(lines)
