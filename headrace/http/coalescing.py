"""Batch events of concurrent requests into one transaction, since a transaction costs more than an event."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextvars import Context
from dataclasses import dataclass, field, replace

from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from headrace.context import Principal, act_as, current_context
from headrace.errors import CatalogUnavailable
from headrace.openlineage.ingestion import store
from headrace.openlineage.model import AnyEvent, Outcome

BATCH_SIZE = 1000  # events per transaction


@dataclass(frozen=True, slots=True)
class _Kind:
    """Key of events stored together: those of one caller, live or historical."""

    caller: Principal
    historical: bool


@dataclass(slots=True)
class _PendingRequest:
    """The events of one request, and the future for their outcomes."""

    events: Sequence[AnyEvent]
    done: asyncio.Future[list[Outcome]]


@dataclass(slots=True)
class _Queue:
    """The pending events of one caller, and the task that stores them."""

    pending: deque[_PendingRequest] = field(default_factory=deque)
    work: asyncio.Task[None] | None = None


class EventQueues:
    """Stores events for callers. While a transaction of a caller is running, further events wait for the next one."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._queues: dict[_Kind, _Queue] = {}

    async def store(self, events: Sequence[AnyEvent], *, historical: bool = False) -> list[Outcome]:
        """Store the events or history of this request's caller; returns one outcome each, in order.

        Raises CatalogUnavailable: the request can be sent again, and stored events are then repeats.
        """
        caller = current_context().principal
        assert caller is not None  # noqa: S101 - the route requires one
        kind = _Kind(replace(caller, request_id=""), historical)
        outcomes: list[Outcome] = []
        for begin in range(0, len(events), BATCH_SIZE):
            outcomes += await self._wait(kind, events[begin : begin + BATCH_SIZE])
        return outcomes

    async def _wait(self, kind: _Kind, events: Sequence[AnyEvent]) -> list[Outcome]:
        pending = _PendingRequest(events, asyncio.get_running_loop().create_future())
        queue = self._queues.setdefault(kind, _Queue())
        queue.pending.append(pending)
        if queue.work is None:
            # A separate context: the task outlives the request that starts it.
            queue.work = asyncio.create_task(self._work(kind, queue), context=Context())
        return await pending.done

    async def _work(self, kind: _Kind, queue: _Queue) -> None:
        try:
            while queue.pending:
                await self._store(kind, _next_batch(queue.pending))
        finally:
            del self._queues[kind]

    async def _store(self, kind: _Kind, together: list[_PendingRequest]) -> None:
        try:
            outcomes = await run_in_threadpool(
                _stored, self.engine, kind, [event for each in together for event in each.events]
            )
        except CatalogUnavailable as error:
            for each in together:
                _resolve(each, error)
        except Exception as error:  # an error of one request must not affect the others
            if len(together) == 1:
                _resolve(together[0], error)
                return
            for each in together:
                await self._store(kind, [each])
        else:
            begin = 0
            for each in together:
                _resolve(each, outcomes[begin : begin + len(each.events)])
                begin += len(each.events)


def _stored(engine: Engine, kind: _Kind, events: Sequence[AnyEvent]) -> list[Outcome]:
    with act_as(kind.caller):
        return store(engine, kind.caller.organisation_id, events)


def _next_batch(pending: deque[_PendingRequest]) -> list[_PendingRequest]:
    """Return the first pending events, up to one transaction's worth."""
    taken = [pending.popleft()]
    count = len(taken[0].events)
    while pending and count + len(pending[0].events) <= BATCH_SIZE:
        count += len(pending[0].events)
        taken.append(pending.popleft())
    return taken


def _resolve(pending: _PendingRequest, result: list[Outcome] | Exception) -> None:
    if pending.done.done():  # the client has left
        return
    if isinstance(result, Exception):
        pending.done.set_exception(result)
    else:
        pending.done.set_result(result)
