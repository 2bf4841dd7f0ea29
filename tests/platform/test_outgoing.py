"""Requests to other systems end at their limits, whatever the other system does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from headrace.outgoing import NoAnswer, fetch


@contextmanager
def dripping(first: bytes, then: bytes, *, greets: bool = False) -> Iterator[str]:
    """A server that answers with some bytes, and then sends others one at a time, until its caller hangs up.

    greets: it does not wait for a request.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = threading.Event()

        def serve() -> None:
            caller, _ = server.accept()
            with caller:
                if not greets:
                    caller.recv(65_536)
                caller.sendall(first)
                try:
                    while not gone.wait(0.05):
                        caller.sendall(then)
                except OSError:
                    pass  # the caller has hung up

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/r"
        gone.set()
        thread.join()


@pytest.mark.parametrize(
    "first",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[",  # of the content
        b"HTTP/1.1 200 OK\r\nX-Padding: ",  # of a header
    ],
)
def test_an_answer_that_never_ends_is_given_up(first: bytes) -> None:
    with (
        dripping(first, b" ") as url,
        pytest.raises(NoAnswer, match="has not answered completely within 1 s"),
    ):
        fetch("GET", url, seconds=1)


def test_an_answer_that_is_too_large_is_given_up() -> None:
    with (
        dripping(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1000) as url,
        pytest.raises(NoAnswer, match="answers with more than 2 KiB"),
    ):
        fetch("GET", url, seconds=60, max_bytes=2048)


class _Redirecting(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Redirect to /there, which answers with JSON."""
        if self.path == "/there":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"a": 1}')
        else:
            self.send_response(302)
            self.send_header("Location", "/there")
            self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def redirecting() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Redirecting)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_redirect_is_followed_on_demand(redirecting: str) -> None:
    assert fetch("GET", f"{redirecting}/r", seconds=30).status == 302
    assert fetch("GET", f"{redirecting}/r", seconds=30, follow_redirects=True).json() == {"a": 1}


def test_each_address_is_judged_before_it_is_requested(redirecting: str) -> None:
    def judge(url: str) -> None:
        if url.endswith("/there"):
            raise PermissionError(url)

    with pytest.raises(NoAnswer, match="PermissionError"):
        fetch("GET", f"{redirecting}/r", seconds=30, follow_redirects=True, before=judge)


def test_a_server_that_is_not_there_does_not_answer() -> None:
    with pytest.raises(NoAnswer, match="does not answer: ConnectError"):
        fetch("GET", "http://127.0.0.1:1/", seconds=30)
