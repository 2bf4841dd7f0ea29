"""A server of the S3 protocol, moto's, that notes its requests and can be told to fail."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

REGION = "eu-west-1"
_CONDITIONS = ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH")

Respond = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
Fault = Callable[["Request", dict[str, Any], Callable[..., Any], Respond], Iterable[bytes]]


@dataclass(frozen=True)
class Request:
    """A request: its method (COPY for a PUT of another object), bucket, key and query."""

    method: str
    bucket: str
    key: str
    query: str
    is_conditional: bool

    @property
    def writes(self) -> bool:
        """True if it creates an object."""
        return self.method in {"PUT", "COPY"} or (self.method == "POST" and self.query.startswith("uploadId"))


@dataclass
class Server:
    """The running server. requests: all since the last `forget`."""

    url: str
    requests: list[Request] = field(default_factory=list)
    fault: Fault | None = None

    @property
    def conf(self) -> dict[str, str]:
        """The settings of Spark for it, as in headrace.toml."""
        return {
            "spark.hadoop.fs.s3a.endpoint": self.url,
            "spark.hadoop.fs.s3a.endpoint.region": REGION,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.attempts.maximum": "2",
            "spark.hadoop.fs.s3a.retry.limit": "1",
            "spark.hadoop.fs.s3a.retry.throttle.limit": "1",
        }

    @property
    def client(self) -> Any:
        """A client of its own, with which tests look into buckets."""
        return boto3.client("s3", endpoint_url=self.url, region_name=REGION)

    def create(self, bucket: str) -> None:
        """Create a bucket."""
        self.client.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})

    def keys(self, bucket: str) -> list[str]:
        """The keys in a bucket."""
        return [each["Key"] for each in self.client.list_objects_v2(Bucket=bucket).get("Contents", [])]

    @contextmanager
    def failing(self, fault: Fault) -> Iterator[None]:
        """Let a fault answer requests."""
        self.fault = fault
        try:
            yield
        finally:
            self.fault = None


@contextmanager
def running() -> Iterator[Server]:
    """A server on a free port."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    server = Server(f"http://{host}:{port}")
    assert moto._server is not None
    answer: Respond = moto._server.app

    def noted(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        request = _request(environ)
        server.requests.append(request)
        fault = server.fault
        return answer(environ, start) if fault is None else fault(request, environ, start, answer)

    moto._server.app = noted
    try:
        yield server
    finally:
        moto.stop()


def refusing(status: str, code: str, when: Callable[[Request], bool] = lambda _: True) -> Fault:
    """A fault: an error in the words of S3."""

    def refuse(
        request: Request, environ: dict[str, Any], start: Callable[..., Any], answer: Respond
    ) -> Iterable[bytes]:
        if not when(request):
            return answer(environ, start)
        start(status, [("Content-Type", "application/xml")])
        return [f"<Error><Code>{code}</Code><Message>{code} it is</Message></Error>".encode()]

    return refuse


def without_conditions(
    request: Request, environ: dict[str, Any], start: Callable[..., Any], answer: Respond
) -> Iterable[bytes]:
    """A fault: conditions of writes are ignored, as by services that do not know them."""
    if request.method == "PUT":
        for name in _CONDITIONS:
            environ.pop(name, None)
    return answer(environ, start)


def cutting(when: Callable[[Request], bool]) -> Fault:
    """A fault: the connection breaks before the request is carried out."""

    def cut(
        request: Request, environ: dict[str, Any], start: Callable[..., Any], answer: Respond
    ) -> Iterable[bytes]:
        if not when(request):
            return answer(environ, start)
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        raise ConnectionResetError

    return cut


def losing(when: Callable[[Request], bool]) -> Fault:
    """A fault: the connection breaks after the request was carried out, before the answer."""

    def lose(
        request: Request, environ: dict[str, Any], start: Callable[..., Any], answer: Respond
    ) -> Iterable[bytes]:
        if not when(request):
            return answer(environ, start)
        list(answer(environ, lambda *_: None))
        environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        raise ConnectionResetError

    return lose


def _request(environ: dict[str, Any]) -> Request:
    bucket, _, key = environ["PATH_INFO"].lstrip("/").partition("/")
    method = "COPY" if "HTTP_X_AMZ_COPY_SOURCE" in environ else environ["REQUEST_METHOD"]
    return Request(method, bucket, key, environ["QUERY_STRING"], any(name in environ for name in _CONDITIONS))
