"""The page of an error: what happened and what to do, with the status and the request id of the API's answer."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import Request
from pydantic_core import from_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.http.problems import MEDIA_TYPE
from headrace.pages.forms import address_in
from headrace.pages.rendering import page

_TITLES = {
    HTTPStatus.FORBIDDEN: "You may not do this",
    HTTPStatus.NOT_FOUND: "Not found",
    HTTPStatus.METHOD_NOT_ALLOWED: "This is not a page",
    HTTPStatus.CONFLICT: "This is not possible now",
    HTTPStatus.UNPROCESSABLE_ENTITY: "A value is wrong",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many requests",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Something went wrong",
    HTTPStatus.SERVICE_UNAVAILABLE: "The catalog is unavailable",
}


class ErrorPages:
    """ASGI middleware: a browser gets a problem document as a page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request, and its problem as a page."""
        if scope["type"] != "http" or not _is_browser(scope):
            await self.app(scope, receive, send)
            return
        start: Message | None = None
        body = bytearray()

        async def convert(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_problem(message):
                start = message
            elif start is None:
                await send(message)
            else:
                body.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    await _send_page(scope, receive, send, start, from_json(bytes(body)))

        await self.app(scope, receive, convert)


def _is_browser(scope: Scope) -> bool:
    return not scope["path"].startswith("/api/") and "text/html" in Headers(scope=scope).get("accept", "")


def _is_problem(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith(MEDIA_TYPE)


def _form_page(request: Request) -> str | None:
    """Return the page of ours from which a refused form was sent."""
    sent_from = address_in(request.headers.get("referer"))
    is_ours = sent_from.netloc == request.headers.get("host") and not sent_from.path.startswith("//")
    if request.method != "POST" or not is_ours:
        return None
    return sent_from._replace(scheme="", netloc="", fragment="").geturl()


async def _send_page(
    scope: Scope, receive: Receive, send: Send, start: Message, problem: dict[str, Any]
) -> None:
    status = problem["status"]
    response = page(
        Request(scope),
        "error.html",
        status=status,
        title=_TITLES.get(status, problem["title"]),
        problem=problem,
        form_page=_form_page(Request(scope)),
    )
    kept = MutableHeaders(raw=start["headers"])
    for name in ("retry-after", "allow", "x-request-id"):
        if name in kept:
            response.headers[name] = kept[name]
    await response(scope, receive, send)
