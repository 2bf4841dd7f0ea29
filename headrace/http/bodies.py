"""Request bodies: complete, decompressed, limited in size, JSON only; no NUL characters in URLs."""

from __future__ import annotations

import asyncio
import zlib
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.http.problems import RequestRefused, answer

MAX_BODY_BYTES = 16 * 1024 * 1024  # bytes of an uncompressed body
_MAX_DRAINED_BYTES = (
    4 * MAX_BODY_BYTES
)  # bytes read from a body that is too large: a client that is cut off only sees a broken connection, not the reason
_TIMEOUT_SECONDS = 60  # seconds within which a body must arrive
_GZIP = 16 + zlib.MAX_WBITS
_MAX_GZIP_MEMBERS = 1000  # a million empty ones would each cost time
_CHUNK_BYTES = 64 * 1024  # bytes: the data after a member's end is copied
_JSON = "application/json"
_ANY_TYPE = frozenset({"/api/v1/events"})  # content types sent by curl and shell scripts


class Bodies:
    """ASGI middleware: answers 400, 408, 413 or 415 itself, and passes on complete, uncompressed bodies."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request with a complete, uncompressed body, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            _refuse_nul(scope)
            body = None if scope["method"] in ("GET", "HEAD", "OPTIONS") else await _body(scope, receive)
        except RequestRefused as error:
            refusal = answer(scope, error.status, str(error), errors=error.errors, headers=error.headers)
            await refusal(scope, receive, send)
            return
        if body is None:
            await self.app(scope, receive, send)
            return
        _update_headers(scope, len(body))
        await self.app(scope, _body_receiver(body, receive), send)


async def _body(scope: Scope, receive: Receive) -> bytes:
    """Return the uncompressed body. Raises Refused without buffering more than the limit."""
    headers = Headers(scope=scope)
    declared = headers.get("content-length", "")
    waits = headers.get("expect", "").lower() == "100-continue"  # sends nothing before it is asked to
    if declared.isdecimal() and int(declared) > (MAX_BODY_BYTES if waits else _MAX_DRAINED_BYTES):
        raise _too_large()
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise RequestRefused(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"Content-Encoding {encoding} is not supported; send gzip, or the body uncompressed",
            field="header.content-encoding",
            headers={"Accept-Encoding": "gzip"},
        )
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            packed = await _received(receive)
    except TimeoutError as error:
        raise RequestRefused(
            HTTPStatus.REQUEST_TIMEOUT, f"the body was not here within {_TIMEOUT_SECONDS} s"
        ) from error
    try:
        body = packed if encoding == "identity" else unpacked(packed)
    except zlib.error as error:
        raise RequestRefused(
            HTTPStatus.BAD_REQUEST, f"request body is not valid gzip data: {error}", field="body"
        ) from error
    if body and scope["path"].startswith("/api/") and scope["path"] not in _ANY_TYPE:
        _refuse_kind(headers.get("content-type", _JSON))
    return body


async def _received(receive: Receive) -> bytes:
    body = bytearray()
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestRefused(HTTPStatus.BAD_REQUEST, "the body ended before it was complete")
        part = message.get("body", b"")
        size += len(part)
        if size <= MAX_BODY_BYTES:
            body += part
        if size > _MAX_DRAINED_BYTES or (size > MAX_BODY_BYTES and not message.get("more_body", False)):
            raise _too_large()
        if not message.get("more_body", False):
            return bytes(body)


def unpacked(packed: bytes) -> bytes:
    """Decompress gzip data of one or several members. Raises Refused (413) as soon as it is too large, and
    zlib.error."""
    body, member, members = bytearray(), zlib.decompressobj(_GZIP), 1
    for start in range(0, len(packed), _CHUNK_BYTES):
        part = packed[start : start + _CHUNK_BYTES]
        while part:
            if member.eof:
                member, members = zlib.decompressobj(_GZIP), members + 1
                if members > _MAX_GZIP_MEMBERS:
                    raise zlib.error(f"it has more than {_MAX_GZIP_MEMBERS} members")
            body += member.decompress(part, MAX_BODY_BYTES - len(body) + 1)
            if len(body) > MAX_BODY_BYTES:
                raise _too_large()
            part = member.unused_data
    if packed and not member.eof:
        raise zlib.error("it ends too early")
    return bytes(body)


def _too_large() -> RequestRefused:
    return RequestRefused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"the body has more than {MAX_BODY_BYTES:,} bytes: send fewer events at a time",
        field="body",
    )


def _refuse_nul(scope: Scope) -> None:
    """Refuse NUL characters: PostgreSQL's text has none, so no stored value can match."""
    if "\x00" in scope["path"]:
        raise RequestRefused(HTTPStatus.BAD_REQUEST, "the URL contains a NUL character", field="path")
    if b"%00" in scope["query_string"] or b"\x00" in scope["query_string"]:
        named = [
            name
            for name, value in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            if "\x00" in name or "\x00" in value
        ]
        field = f"query.{named[0]}".replace("\x00", "") if named else "query"
        raise RequestRefused(HTTPStatus.BAD_REQUEST, "the value contains a NUL character", field=field)


def _refuse_kind(content_type: str) -> None:
    kind = content_type.partition(";")[0].strip().lower()
    if kind != _JSON and not kind.endswith("+json"):
        raise RequestRefused(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"{kind or 'this'} is not supported: send {_JSON}",
            field="header.content-type",
        )


def _update_headers(scope: Scope, length: int) -> None:
    """Adjust the request's headers to the uncompressed body."""
    headers = MutableHeaders(raw=list(scope["headers"]))
    for name in ("content-encoding", "transfer-encoding"):
        del headers[name]
    headers["content-length"] = str(length)
    headers.setdefault("content-type", _JSON)
    # The scope itself is changed, since routing writes to it and the access log reads it.
    scope["headers"] = headers.raw


def _body_receiver(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields the body once, and then the client's further messages."""
    given = False

    async def hand() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return hand
