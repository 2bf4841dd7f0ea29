"""Events of requests that are under way at the same time, stored together: a transaction costs more than an event."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextvars import Context
from dataclasses import dataclass, field, replace

from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from headrace.database.principal import Acting, acting, acting_for
from headrace.errors import CatalogUnavailable
from headrace.events.openlineage import Outcome, store
from headrace.events.openlineage.model import AnyEvent

AT_ONCE = 1000  # events of a transaction


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is stored together: the events of one caller, or his history."""

    caller: Acting
    historical: bool


@dataclass(slots=True)
class _Waiting:
    """The events of one request, and what tells it of their outcomes."""

    events: Sequence[AnyEvent]
    told: asyncio.Future[list[Outcome]]


@dataclass(slots=True)
class _Queue:
    """What waits to be stored for one caller, and whoever is at it."""

    waiting: deque[_Waiting] = field(default_factory=deque)
    work: asyncio.Task[None] | None = None


class Coalescing:
    """Stores events for callers. While a transaction of a caller is under way, what he sends waits for the next one."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._queues: dict[_Kind, _Queue] = {}

    async def store(self, events: Sequence[AnyEvent], *, historical: bool = False) -> list[Outcome]:
        """Store the events, or the history, for the caller of this request; an outcome each, in order.

        Raises CatalogUnavailable: what is stored already is known when it is sent again.
        """
        caller = acting()
        assert caller is not None  # noqa: S101 - the route requires one
        kind = _Kind(replace(caller, request_id=""), historical)
        outcomes: list[Outcome] = []
        for begin in range(0, len(events), AT_ONCE):
            outcomes += await self._wait(kind, events[begin : begin + AT_ONCE])
        return outcomes

    async def _wait(self, kind: _Kind, events: Sequence[AnyEvent]) -> list[Outcome]:
        waiting = _Waiting(events, asyncio.get_running_loop().create_future())
        queue = self._queues.setdefault(kind, _Queue())
        queue.waiting.append(waiting)
        if queue.work is None:
            # A context of its own: the work outlives the request that happens to begin it.
            queue.work = asyncio.create_task(self._work(kind, queue), context=Context())
        return await waiting.told

    async def _work(self, kind: _Kind, queue: _Queue) -> None:
        try:
            while queue.waiting:
                await self._store(kind, _taken(queue.waiting))
        finally:
            del self._queues[kind]

    async def _store(self, kind: _Kind, together: list[_Waiting]) -> None:
        try:
            outcomes = await run_in_threadpool(
                _stored, self.engine, kind, [event for each in together for event in each.events]
            )
        except CatalogUnavailable as error:
            for each in together:
                _tell(each, error)
        except Exception as error:  # whatever one of them caused must not befall the others
            if len(together) == 1:
                _tell(together[0], error)
                return
            for each in together:
                await self._store(kind, [each])
        else:
            begin = 0
            for each in together:
                _tell(each, outcomes[begin : begin + len(each.events)])
                begin += len(each.events)


def _stored(engine: Engine, kind: _Kind, events: Sequence[AnyEvent]) -> list[Outcome]:
    with acting_for(kind.caller):
        return store(engine, kind.caller.organisation_id, events)


def _taken(waiting: deque[_Waiting]) -> list[_Waiting]:
    """The first of those that wait, as many as a transaction takes."""
    taken = [waiting.popleft()]
    count = len(taken[0].events)
    while waiting and count + len(waiting[0].events) <= AT_ONCE:
        count += len(waiting[0].events)
        taken.append(waiting.popleft())
    return taken


def _tell(waiting: _Waiting, result: list[Outcome] | Exception) -> None:
    if waiting.told.done():  # the client has left
        return
    if isinstance(result, Exception):
        waiting.told.set_exception(result)
    else:
        waiting.told.set_result(result)
