"""How calls of the client are sent, and what is raised when they are refused."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx

_SECONDS = 60


class ApiError(Exception):
    """A call that was refused, or that nobody answered; the message is the service's own.

    status: of the answer, 0 where there was none. request_id: by which the service's log has it.
    """

    def __init__(self, status: int, detail: str, request_id: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.request_id = request_id


class Transport:
    """Sends calls to the API at `url` with a token; a context manager, which closes the connections at its end.

    organisation: which one is meant, for a user who belongs to several.
    """

    def __init__(self, url: str, token: str | None = None, organisation: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if organisation is not None:
            headers["Headrace-Organisation"] = organisation
        self._client = httpx.Client(base_url=url, headers=headers, timeout=_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, Any] | None = None,
        body: object = None,
    ) -> Any:  # noqa: ANN401 - JSON
        """The answer's JSON, or its text where it is none. What is None is not sent. Raises ApiError."""
        try:
            answer = self._client.request(
                method,
                path,
                params={name: value for name, value in (query or {}).items() if value is not None},
                headers={name: value for name, value in (headers or {}).items() if value is not None},
                json=body,
            )
        except httpx.HTTPError as error:
            raise ApiError(0, f"{self._client.base_url} does not answer: {error}") from error
        if answer.is_error:
            raise _refusal(answer)
        return answer.json() if "json" in answer.headers.get("content-type", "") else answer.text


def _refusal(answer: httpx.Response) -> ApiError:
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):  # no problem document: somebody else answered
        detail = answer.text.strip() or answer.reason_phrase
    return ApiError(answer.status_code, detail, answer.headers.get("x-request-id", ""))
