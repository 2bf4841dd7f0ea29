"""uvicorn's HTTP protocol with a limit on the size of request heads."""

from __future__ import annotations

from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024  # bytes of the request line and headers
_TOO_LARGE = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
_DETAIL = f"the address and the headers have more than {MAX_HEAD_BYTES:,} bytes"
_BODY = (
    f'{{"type":"about:blank","title":"{_TOO_LARGE.phrase}","status":{_TOO_LARGE.value},"detail":"{_DETAIL}"}}'
)
_REFUSAL = (
    f"HTTP/1.1 {_TOO_LARGE.value} {_TOO_LARGE.phrase}\r\ncontent-type: application/problem+json\r\n"
    f"content-length: {len(_BODY)}\r\nconnection: close\r\n\r\n{_BODY}"
).encode("ascii")


class Bounded(HttpToolsProtocol):
    """uvicorn protocol that answers 431 if the headers exceed MAX_HEAD_BYTES.

    Otherwise endless headers would be buffered and parsed again with each chunk: one client could slow down all others
    without a token.
    """

    _head: int | None = None  # bytes of the head received; None outside a head

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
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop counting the head."""
        self._head = None
        super().on_headers_complete()
