"""ETags: a response the client already has is not sent again."""

from __future__ import annotations

import hashlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class ETags:
    """ASGI middleware: a GET's JSON gets a strong ETag, and 304 if If-None-Match names it.

    Responses depend on the caller, so they are cacheable only privately.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request and tag its response."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        tagger = _ResponseTagger(Headers(scope=scope).get("if-none-match"), send)
        await self.app(scope, receive, tagger)


class _ResponseTagger:
    """Buffers a JSON response with status 200 until it is complete: pages are small."""

    def __init__(self, known: str | None, send: Send) -> None:
        self.known = known
        self.send = send
        self.start: Message | None = None
        self.body = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_taggable(message):
            self.start = message
            return
        if self.start is None:
            await self.send(message)
            return
        self.body += message.get("body", b"")
        if not message.get("more_body", False):
            await self._finish(self.start)

    async def _finish(self, start: Message) -> None:
        tag = f'"{hashlib.blake2b(self.body, digest_size=16).hexdigest()}"'
        headers = MutableHeaders(raw=start["headers"])
        headers["etag"] = tag
        headers.setdefault("cache-control", "private, no-cache")
        headers.add_vary_header("Authorization")
        if _names(self.known, tag):
            start["status"] = 304
            self.body.clear()
            del headers["content-length"]
            del headers["content-type"]
        await self.send({**start, "headers": headers.raw})
        await self.send({"type": "http.response.body", "body": bytes(self.body)})


def _is_taggable(start: Message) -> bool:
    return start["status"] == 200 and Headers(raw=start["headers"]).get("content-type") == "application/json"


def _names(known: str | None, tag: str) -> bool:
    if known is None:
        return False
    given = [each.strip().removeprefix("W/") for each in known.split(",")]
    return tag in given or given == ["*"]
