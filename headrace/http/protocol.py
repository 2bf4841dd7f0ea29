"""uvicorn's HTTP protocol with limits on the size of request heads, and on the time in which they must arrive."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0  # from the connection, or the end of the last response, to the end of the head
MAX_HEAD_BYTES = 64 * 1024  # bytes of the request line and headers
_TOO_LARGE = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
_DETAIL = f"the URL and the headers have more than {MAX_HEAD_BYTES:,} bytes"
_BODY = (
    f'{{"type":"about:blank","title":"{_TOO_LARGE.phrase}","status":{_TOO_LARGE.value},"detail":"{_DETAIL}"}}'
)
_REFUSAL = (
    f"HTTP/1.1 {_TOO_LARGE.value} {_TOO_LARGE.phrase}\r\ncontent-type: application/problem+json\r\n"
    f"content-length: {len(_BODY)}\r\nconnection: close\r\n\r\n{_BODY}"
).encode("ascii")


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn protocol that answers 431 if the headers exceed MAX_HEAD_BYTES, and closes a connection without any.

    Otherwise endless headers would be buffered and parsed again with each chunk, and unfinished ones would keep their
    connections for good: one client could shut out all others without a token.
    """

    _head: int | None = None  # bytes of the head received; None outside a head
    _timer: asyncio.TimerHandle | None = None  # closes a connection whose head does not arrive

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the first head."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive data like uvicorn, unless the head is too large."""
        super().data_received(data)
        if self._head is None:
            return
        self._head += len(data)
        if self._head > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.transport.write(_REFUSAL)
            self.transport.close()

    def on_message_begin(self) -> None:
        """Start counting the head."""
        self._head = 0
        self._expect_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop counting the head."""
        self._head = None
        self._stop_timer()
        super().on_headers_complete()

    def _expect_head(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
