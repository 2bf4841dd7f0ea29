"""Receivers of alerts on this machine: an HTTP endpoint and a mail server that store what they get."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.header import decode_header, make_header
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP as Server
from aiosmtpd.smtp import Envelope, Session


@dataclass(frozen=True, slots=True)
class Received:
    """A received message; key: its deduplication key. to: the path, or the address.

    message: the JSON, or the headers and the `html`.
    """

    key: str
    to: str
    title: str
    body: str
    at: float
    message: dict[str, Any]


@dataclass
class Receiver:
    """The address and messages of a receiver. refuses: it rejects everything."""

    port: int = 0
    received: list[Received] = field(default_factory=list)
    refuses: bool = False

    @property
    def known(self) -> list[Received]:
        """The messages without duplicates."""
        return list({each.key: each for each in reversed(self.received)}.values())[::-1]


@contextmanager
def http_receiver() -> Iterator[Receiver]:
    """An endpoint for `json://localhost:PORT/...`."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) < length:  # the sender died on the way
                return
            message = json.loads(body)
            if not receiver.refuses:
                key = str(self.headers["Idempotency-Key"])
                receiver.received.append(
                    Received(key, self.path, message["title"], message["message"], time.time(), message)
                )
            self.send_response(503 if receiver.refuses else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            receiver.received.append(Received("", self.path, "", "", time.time(), {}))
            self.send_response(503 if receiver.refuses else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def mail_receiver() -> Iterator[Receiver]:
    """A mail server for `mailto://127.0.0.1:PORT?...`."""
    receiver = Receiver()

    class Handler:
        async def handle_DATA(self, _: Server, __: Session, envelope: Envelope) -> str:
            if receiver.refuses:
                return "451 not now"
            mail = message_from_bytes(envelope.content or b"")  # type: ignore[arg-type]
            text, html = (
                cast(bytes, part.get_payload(decode=True)).decode()
                for part in mail.walk()
                if not part.is_multipart()
            )
            title = str(make_header(decode_header(str(mail["Subject"]))))
            assert len(mail.get_all("Message-ID", [])) == 1
            for to in envelope.rcpt_tos:
                key = f"{mail['Message-ID']} {to}"
                receiver.received.append(
                    Received(key, to, title, text, time.time(), dict(mail.items()) | {"html": html})
                )
            return "250 OK"

    class Listening(Controller):
        def _trigger_server(self) -> None:
            """The requested port was 0: the assigned one is known now."""
            self.port = receiver.port = self.server.sockets[0].getsockname()[1]
            super()._trigger_server()  # type: ignore[no-untyped-call]

    controller = Listening(Handler(), hostname="127.0.0.1", port=0)
    controller.start()
    try:
        yield receiver
    finally:
        controller.stop()
