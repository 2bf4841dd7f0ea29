"""Rate limits per caller, and for wrong tokens."""

from __future__ import annotations

import hashlib
import math
import time
from collections import OrderedDict
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.service.http.problems import answer

_MAX_CALLERS = 10_000  # callers that are remembered; who has not asked for longest is forgotten first
_BURST_SECONDS = 2
_WRONG_PER_SECOND = 5  # tokens that are refused, of one address
_OPEN = ("/health/live", "/health/ready", "/metrics")


class Buckets:
    """A bucket of tokens for each key: `rate` come in a second, `burst` at most are in it."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate = rate
        self.burst = burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str, *, take: bool = True) -> float:
        """Seconds until the key may go on: 0.0 where it may now, and one token is then gone unless `take` says not."""
        now = time.monotonic()
        left, since = self._left.pop(key, (self.burst, now))
        left = min(self.burst, left + (now - since) * self.rate)
        seconds = 0.0 if left >= 1 else (1 - left) / self.rate
        self._left[key] = (left - 1 if take and left >= 1 else left, now)
        if len(self._left) > _MAX_CALLERS:
            self._left.popitem(last=False)
        return seconds


class Limits:
    """ASGI middleware: 429 with Retry-After to who asks more often than `rate` times a second.

    A caller is who sends the same Authorization, and without one an address. Tokens that turn out to be wrong are
    counted by address, so that trying others does not help; who was let in before is not held up by them, since many
    callers have one address behind a proxy.
    """

    def __init__(self, app: ASGIApp, rate: int) -> None:
        self.app = app
        self.rate = rate
        self.asked = Buckets(rate, rate * _BURST_SECONDS)
        self.refused = Buckets(_WRONG_PER_SECOND, _WRONG_PER_SECOND * 10)
        self.let_in: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, or refuse it for now."""
        if scope["type"] != "http" or scope["path"] in _OPEN:
            await self.app(scope, receive, send)
            return
        address = scope["client"][0] if scope.get("client") else "?"
        token = Headers(scope=scope).get("authorization")
        caller = hashlib.sha256(token.encode()).hexdigest() if token else f"address {address}"
        held_up = 0.0 if caller in self.let_in else self.refused.wait(address, take=False)
        seconds = held_up or self.asked.wait(caller)
        if seconds:
            refusal = answer(
                scope,
                HTTPStatus.TOO_MANY_REQUESTS,
                f"more than {self.rate} requests a second, or too many wrong tokens: slow down",
                headers={"Retry-After": str(math.ceil(seconds))},
            )
            await refusal(scope, receive, send)
            return

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(scope, message["status"], address, caller)
            await send(message)

        await self.app(scope, receive, note)

    def _note(self, scope: Scope, status: int, address: str, caller: str) -> None:
        if status == HTTPStatus.UNAUTHORIZED:
            self.refused.wait(address)
            self.let_in.pop(caller, None)
        elif scope.get("state", {}).get("caller") is not None:
            self.let_in[caller] = None
            self.let_in.move_to_end(caller)
            if len(self.let_in) > _MAX_CALLERS:
                self.let_in.popitem(last=False)
