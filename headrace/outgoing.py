"""Requests by HTTP to other systems, limited in time and size as a whole.

httpx limits the time of one read, so that a server that sends a byte a second holds its caller for ever. Here a request
is a task that ends at its limit, whatever it waits for.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

logging.getLogger("httpx").setLevel(logging.WARNING)  # at INFO it logs whole URLs, also their tokens
MAX_BYTES = 16 * 1024 * 1024  # of an answer


class NoAnswer(Exception):
    """A request without a whole answer; the message says why, as the end of a sentence about the other system."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of another system."""

    status: int
    content: bytes

    @property
    def is_success(self) -> bool:
        """True for a status of 200 to 299."""
        return httpx.codes.is_success(self.status)

    def require_success(self) -> None:
        """Raise NoAnswer for any other status."""
        if not self.is_success:
            raise NoAnswer(f"answers with HTTP {self.status}")

    def json(self) -> Any:  # noqa: ANN401 - JSON
        """Return the content as JSON. Raises ValueError, RecursionError."""
        return json.loads(self.content)


def fetch(
    method: str,
    url: str,
    *,
    seconds: float,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    content: object = None,
    follow_redirects: bool = False,
    before: Callable[[str], None] = lambda _: None,
    trust_env: bool = True,
    max_bytes: int = MAX_BYTES,
) -> Answer:
    """Request a URL, and return the whole answer.

    Args:
        method: `GET` or `POST`.
        url: of the other system.
        seconds: the limit from the connection to the last byte of the answer.
        headers: of the request.
        params: of the query.
        content: sent as JSON, if not None.
        follow_redirects: also request the URLs to which it redirects.
        before: called with each URL before it is requested; what it raises ends the request.
        trust_env: use a proxy that the environment names.
        max_bytes: the limit of the answer's content.

    Raises NoAnswer. Not to be called where an event loop runs.
    """

    async def request() -> Answer:
        async def allowed(sent: httpx.Request) -> None:
            before(str(sent.url))

        client = httpx.AsyncClient(
            timeout=seconds,
            follow_redirects=follow_redirects,
            trust_env=trust_env,
            event_hooks={"request": [allowed]},
        )
        async with (
            asyncio.timeout(seconds),
            client,
            client.stream(method, url, headers=headers, params=params, json=content) as response,
        ):
            received = bytearray()
            async for part in response.aiter_bytes():
                received += part
                if len(received) > max_bytes:
                    raise NoAnswer(f"answers with more than {max_bytes // 1024:,} KiB")
            return Answer(response.status_code, bytes(received))

    try:
        return asyncio.run(request())
    except TimeoutError as error:
        raise NoAnswer(f"has not answered completely within {seconds:.0f} s") from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise NoAnswer(f"does not answer: {type(error).__name__}") from error
