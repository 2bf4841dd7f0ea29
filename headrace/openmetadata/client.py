"""Requests to an OpenMetadata server: authorised, limited in time and size, repeated while the server is busy."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from headrace.errors import CatalogError
from headrace.settings import OpenMetadataSettings

logging.getLogger("httpx").setLevel(logging.WARNING)
Json = dict[str, Any]
MAX_BYTES = 64 * 1024 * 1024  # of an answer
PAGE = 500  # entities of a list
_SECONDS = 60.0  # of one request, to the last byte
_TRIES = 6
_BUSY = frozenset({429, 500, 502, 503, 504})
_FIRST_PAUSE, _MAX_PAUSE = 0.5, 60.0
_SUPPORTED = ((1, 12), (3, 0))  # from, and before


class OpenMetadataUnavailable(CatalogError):
    """The server cannot be reached, is busy for too long, or refuses the bot; the message says what to do."""

    failure_kind = "INFRASTRUCTURE"


class RequestRefused(CatalogError):
    """A request that the server refuses, such as a body that it finds invalid; the others go on.

    status: of HTTP.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class AnswerTooLarge(RequestRefused):
    """An answer of more than 64 MiB, which is not read."""


@dataclass(frozen=True, slots=True)
class Found:
    """An entity, and its ETag where the server sends one."""

    entity: Json
    etag: str | None


class Client:
    """A session with one server, for any number of threads.

    requests: the number of requests sent, also repeated ones.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        transport: httpx.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Open a session. url: of the API. transport: in place of the network. pause: waits for seconds."""
        self.server = url.rstrip("/")
        self.requests = 0
        self._pause = pause
        self._lock = threading.Lock()
        self._http = httpx.Client(
            base_url=f"{self.server}/v1/",
            headers={"Authorization": f"Bearer {token}"},
            timeout=_SECONDS,
            transport=transport,
            limits=httpx.Limits(max_connections=16),
        )

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def find(self, path: str, **params: str) -> Found | None:
        """Get an entity; None if there is none."""
        answer = self._request("GET", path, params=params, missing=True)
        return None if answer is None else Found(answer[0], answer[1])

    def get(self, path: str, **params: str) -> Json:
        """Get a document. Raises RequestRefused if there is none."""
        answer = self._request("GET", path, params=params)
        assert answer is not None  # noqa: S101 - only with `missing`
        return answer[0]

    def pages(self, path: str, **params: str) -> Iterator[Json]:
        """Yield the entities of a list, which is read page by page."""
        after: str | None = None
        while True:
            more = {"after": after} if after is not None else {}
            page = self.get(path, limit=str(PAGE), **params, **more)
            yield from page.get("data") or ()
            after = (page.get("paging") or {}).get("after")
            if after is None:
                return

    def put(self, path: str, body: object) -> Json:
        """Create or update. Returns the answer."""
        return self._sent("PUT", path, body)

    def post(self, path: str, body: object) -> Json:
        """Create. Returns the answer."""
        return self._sent("POST", path, body)

    def patch(self, path: str, operations: list[Json], etag: str | None) -> Json | None:
        """Apply a JSON Patch; None if the entity has changed since it had this ETag."""
        headers = {"Content-Type": "application/json-patch+json"}
        if etag is not None:
            headers["If-Match"] = etag
        try:
            return self._sent("PATCH", path, operations, headers)
        except RequestRefused as refused:
            if refused.status == httpx.codes.PRECONDITION_FAILED:
                return None
            raise

    def delete(self, path: str, **params: str) -> bool:
        """Delete; False if it was not there."""
        return self._request("DELETE", path, params=params, missing=True) is not None

    def require_supported(self) -> str:
        """Return the server's version. Raises OpenMetadataUnavailable for one that is not supported."""
        try:
            version = str(self.get("system/version").get("version", ""))
            numbers = tuple(int(each) for each in version.split("-")[0].split(".")[:2])
        except (RequestRefused, ValueError) as error:
            raise OpenMetadataUnavailable(
                f"{self.server} does not state a version of OpenMetadata: check HEADRACE_OPENMETADATA__URL, "
                "for example https://metadata.example.com/api"
            ) from error
        if not _SUPPORTED[0] <= numbers < _SUPPORTED[1]:
            raise OpenMetadataUnavailable(
                f"{self.server} is OpenMetadata {version}; Headrace supports 1.12 to 2.x. Nothing was sent."
            )
        return version

    def user(self) -> str:
        """Return the name of the user whose token this is."""
        return str(self.get("users/loggedInUser").get("name"))

    def _sent(self, method: str, path: str, body: object, headers: dict[str, str] | None = None) -> Json:
        answer = self._request(method, path, body=body, headers=headers)
        assert answer is not None  # noqa: S101 - only with `missing`
        return answer[0]

    def _request(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        body: object = None,
        headers: dict[str, str] | None = None,
        missing: bool = False,
    ) -> tuple[Json, str | None] | None:
        """Send a request until the server answers it: every one has the same effect if it is repeated."""
        for attempt in range(_TRIES):
            with self._lock:
                self.requests += 1
            wait, status = min(_FIRST_PAUSE * 2**attempt, _MAX_PAUSE), 0
            try:
                status, answered, content = self._once(method, path, params, body, headers)
            except httpx.RequestError as error:
                problem = f"does not answer: {type(error).__name__}"
            else:
                if status not in _BUSY:
                    return self._answer(method, path, status, answered, content, missing=missing)
                problem = f"answers {method} {path} with HTTP {status}"
                wait = min(_seconds(answered.get("Retry-After"), wait), _MAX_PAUSE)
            if attempt + 1 < _TRIES:
                self._pause(wait)
        if status == httpx.codes.INTERNAL_SERVER_ERROR:  # of this one request: others may pass
            raise RequestRefused(status, f"{method} {path}: HTTP 500, {_TRIES} times")
        raise OpenMetadataUnavailable(
            f"OpenMetadata at {self.server} {problem}, {_TRIES} times. What was sent until now is kept; the next "
            "synchronisation continues there."
        )

    def _once(
        self,
        method: str,
        path: str,
        params: dict[str, str] | None,
        body: object,
        headers: dict[str, str] | None,
    ) -> tuple[int, httpx.Headers, bytes]:
        deadline = time.monotonic() + _SECONDS
        content = None if body is None else json.dumps(body).encode()
        typed = {"Content-Type": "application/json"} if body is not None else {}
        with self._http.stream(
            method, path, params=params, content=content, headers={**typed, **(headers or {})}
        ) as response:
            received = bytearray()
            for part in response.iter_bytes():
                received += part
                if len(received) > MAX_BYTES:
                    raise AnswerTooLarge(
                        response.status_code, f"{method} {path}: the answer has more than 64 MiB"
                    )
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("the answer is not complete")
            return response.status_code, response.headers, bytes(received)

    def _answer(
        self, method: str, path: str, status: int, headers: httpx.Headers, content: bytes, *, missing: bool
    ) -> tuple[Json, str | None] | None:
        if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN) and not self._is_about_one(
            status, path
        ):
            raise OpenMetadataUnavailable(
                f"OpenMetadata at {self.server} refuses the token of the bot (HTTP {status}, {method} {path}): set "
                "HEADRACE_OPENMETADATA__TOKEN to that of a bot that may edit all that is synchronised"
            )
        if status == httpx.codes.NOT_FOUND and missing:
            return None
        try:
            document = json.loads(content) if content else {}
        except (ValueError, RecursionError):
            document = None
        if not httpx.codes.is_success(status):
            message = document.get("message") if isinstance(document, dict) else None
            raise RequestRefused(
                status, f"{method} {path}: HTTP {status}: {str(message or 'no message')[:500]}"
            )
        if not isinstance(document, dict):
            raise OpenMetadataUnavailable(
                f"{self.server} answers {method} {path} with other than JSON: check HEADRACE_OPENMETADATA__URL"
            )
        return document, headers.get("ETag")

    @staticmethod
    def _is_about_one(status: int, path: str) -> bool:
        """Return True for a refusal of the rights on one collection, which does not concern the others."""
        return status == httpx.codes.FORBIDDEN and path.split("/")[0] not in ("system", "users")


@contextmanager
def opened(settings: OpenMetadataSettings, transport: httpx.BaseTransport | None = None) -> Iterator[Client]:
    """Open a session with the configured server. Raises OpenMetadataUnavailable if none is configured."""
    if settings.url is None:
        raise OpenMetadataUnavailable(
            "OpenMetadata is not configured: set HEADRACE_OPENMETADATA__URL, for example "
            "https://metadata.example.com/api"
        )
    try:
        token = settings.bot_token
    except OSError as error:
        raise OpenMetadataUnavailable(
            f"the token of the bot cannot be read from {settings.token_file}: {error.strerror}"
        ) from error
    if not token:
        raise OpenMetadataUnavailable(
            "OpenMetadata needs the token of a bot: set HEADRACE_OPENMETADATA__TOKEN, or `token_file`"
        )
    if not (token.isascii() and token.isprintable()):
        raise OpenMetadataUnavailable(
            "the token of the bot has characters that no token has: copy it again into "
            "HEADRACE_OPENMETADATA__TOKEN, or `token_file`"
        )
    try:
        client = Client(settings.url, token, transport=transport)
    except httpx.InvalidURL as error:
        raise OpenMetadataUnavailable(
            f"HEADRACE_OPENMETADATA__URL is not valid ({error}): set it as in https://metadata.example.com/api"
        ) from error
    try:
        yield client
    finally:
        client.close()


def by_name(path: str, fqn: str) -> str:
    """Return the path of the entity with this FQN."""
    return f"{path}/name/{quote(fqn, safe='')}"


def _seconds(text: str | None, default: float) -> float:
    try:
        return max(float(text), 0.0) if text is not None else default
    except ValueError:  # a date
        return default
