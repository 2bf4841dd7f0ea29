"""Rate limits per caller, and for invalid tokens.

Own token buckets instead of the library `limits`, whose memory storage keeps every caller without a limit: invented
tokens would fill the memory.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import OrderedDict
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.http.problems import answer

_MAX_CALLERS = 10_000  # callers remembered; the least recent one is forgotten first
_BURST_SECONDS = 2
_WRONG_PER_SECOND = 5  # refused tokens per address
_OPEN = ("/health/live", "/health/ready", "/metrics")


class Buckets:
    """Token buckets by key: refilled at `rate` per second, up to `burst`."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate = rate
        self.burst = burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str, *, take: bool = True) -> float:
        """Return the seconds until the key may proceed: 0.0 if it may now, and then one token is consumed if `take`
        is set."""
        now = time.monotonic()
        left, since = self._left.pop(key, (self.burst, now))
        left = min(self.burst, left + (now - since) * self.rate)
        seconds = 0.0 if left >= 1 else (1 - left) / self.rate
        self._left[key] = (left - 1 if take and left >= 1 else left, now)
        if len(self._left) > _MAX_CALLERS:
            self._left.popitem(last=False)
        return seconds


class Limits:
    """ASGI middleware: 429 with Retry-After for more than `rate` requests per second.

    A caller is identified by its Authorization header, otherwise by its address. Invalid tokens are counted per
    address, so that trying different ones does not help. Tokens accepted before are not affected, since many callers
    share an address behind a proxy.
    """

    def __init__(self, app: ASGIApp, rate: int) -> None:
        self.app = app
        self.rate = rate
        self.asked = Buckets(rate, rate * _BURST_SECONDS)
        self.refused = Buckets(_WRONG_PER_SECOND, _WRONG_PER_SECOND * 10)
        self.let_in: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, or refuse it for now."""
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
