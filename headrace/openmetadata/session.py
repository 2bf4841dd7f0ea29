"""State that the steps of one synchronisation share: the server, what was sent, and the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from headrace.openmetadata.client import Client, Json
from headrace.openmetadata.incoming import Touch
from headrace.openmetadata.merging import Difference
from headrace.openmetadata.references import References
from headrace.openmetadata.state import Kind, Sent, State
from headrace.settings import OpenMetadataSettings

T = TypeVar("T")
R = TypeVar("R")
_THREADS = 8
_CHUNK = 64  # items in progress before a failure ends the rest


@dataclass(frozen=True, slots=True)
class Change:
    """A change there: `create`, `update`, `delete` or `restore`. fields: each with its value before and after."""

    action: str
    kind: str
    name: str
    fields: dict[str, tuple[Any, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class SynchronisationResult:
    """Result of a synchronisation.

    whole: everything was compared, not only what changed. counts: the changes by kind and action. changes: in a dry
    run, what would change. proposed: changes of declarations that stewards propose now. problems: what was not sent.
    """

    server: str
    version: str
    whole: bool = False
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    changes: list[Change] = field(default_factory=list)
    proposed: int = 0
    problems: list[str] = field(default_factory=list)
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for one entity or edge. store: its row; forget: the row to remove instead."""

    change: Change | None = None
    store: Sent | None = None
    forget: tuple[Kind, str] | None = None
    problem: str | None = None
    differences: Sequence[Difference] = ()
    current: Json | None = None


@dataclass
class Session:
    """One synchronisation.

    is_dry: only find out what would change. is_verifying: compare also what seems unchanged. touched: what others
    changed there, by FQN. created: the keys of tables made now, which cannot have edges yet. bot: our user there.
    refused_since: of measures, see `Series`.
    """

    client: Client
    state: State
    settings: OpenMetadataSettings
    references: References
    result: SynchronisationResult
    bot: str
    is_dry: bool
    is_verifying: bool
    on_progress: Callable[[str], None]
    touched: dict[str, Touch] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)
    refused_since: datetime | None = None

    def note(self, outcome: Outcome) -> None:
        """Store what became of an entity or edge. Called by one thread."""
        if outcome.store is not None:
            self.state.store(outcome.store)
        if outcome.forget is not None:
            self.state.forget(*outcome.forget)
        if outcome.problem is not None:
            self.result.problems.append(outcome.problem)
        if outcome.change is not None:
            self.result.counts[outcome.change.kind, outcome.change.action] += 1
            if self.is_dry:
                self.result.changes.append(outcome.change)

    def each(
        self, what: str, work: Callable[[T], R], todo: Sequence[T], *, at_once: bool = True
    ) -> Iterator[tuple[T, R]]:
        """Yield each item with its result, in order. at_once: eight at a time."""
        if not at_once or len(todo) < 2:
            for each in todo:
                yield each, work(each)
            return
        with ThreadPoolExecutor(_THREADS) as executor:
            for start in range(0, len(todo), _CHUNK):
                chunk = todo[start : start + _CHUNK]
                yield from zip(chunk, executor.map(work, chunk), strict=True)
                self.on_progress(f"{what}: {start + len(chunk):,} of {len(todo):,}")
