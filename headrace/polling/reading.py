"""Read the rows of a poll: from a database, or from an HTTP endpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from headrace.connections.connection import connection
from headrace.connections.opening import opened
from headrace.outgoing import NoAnswer, fetch
from headrace.polling.polls import URL_WATERMARK, Poll, bound
from headrace.variables import UnsetVariable, with_variables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Watermark = datetime | int | str | Decimal
MAX_ROWS = 2_000  # of one poll: a cell of a database costs a call of the JVM
MAX_PAGES = 20  # of one poll
_QUERY_SECONDS = 20  # of a database
_ANSWER_SECONDS = 20.0  # of one page; no page is begun after as many


class PollFailed(Exception):
    """A poll that could not be read; the message says why. The next one starts where this one did."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a poll, by lower-case column. is_full: there may be more."""

    rows: list[Mapping[str, Any]]
    is_full: bool


def read_rows(poll: Poll, watermark: Watermark, session: Callable[[], SparkSession]) -> Rows:
    """Return the rows that changed since the watermark.

    session: only called for a database. Raises PollFailed; StoreUnavailable and StatementFailed of a database.
    """
    if poll.url is not None:
        return _of_endpoint(poll, watermark)
    assert poll.connection is not None  # noqa: S101 - a query has one
    assert poll.query is not None  # noqa: S101
    sql, count = bound(poll.query)
    with opened(connection(poll.connection), session) as database:
        rows = database.query(sql, [watermark] * count, MAX_ROWS, _QUERY_SECONDS)
    return Rows([{name.lower(): value for name, value in row.items()} for row in rows], len(rows) == MAX_ROWS)


def _of_endpoint(poll: Poll, watermark: Watermark) -> Rows:
    text = watermark.isoformat() if isinstance(watermark, datetime) else str(watermark)
    url: str | None = str(poll.url).replace(URL_WATERMARK, quote(text, safe=""))
    headers = {name: _header(poll, value) for name, value in poll.headers.items()}
    found: list[Mapping[str, Any]] = []
    deadline = monotonic() + _ANSWER_SECONDS
    for _ in range(MAX_PAGES):
        if url is None:
            return Rows(found, is_full=False)
        if monotonic() >= deadline:
            break
        answer = _answer(url, headers)
        items = _at(answer, poll.items)
        if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
            place = f"at {poll.items!r} in" if poll.items else "as"
            raise PollFailed(f"{_shown(url)} has no list of objects {place} its answer: correct `items`")
        found += [{str(name).lower(): value for name, value in each.items()} for each in items]
        following = _at(answer, poll.next_page) if poll.next_page else None
        url = _next(poll, url, following)
    return Rows(found, is_full=True)


def _answer(url: str, headers: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
    try:
        answer = fetch("GET", url, headers=headers, seconds=_ANSWER_SECONDS)
    except NoAnswer as error:
        raise PollFailed(f"{_shown(url)} {error}") from error
    if not answer.is_success:
        hint = "; check `headers` and the variables that they name" if answer.status in (401, 403) else ""
        raise PollFailed(f"{_shown(url)} answers with HTTP {answer.status}{hint}")
    try:
        return answer.json()
    except (ValueError, RecursionError) as error:
        raise PollFailed(f"{_shown(url)} does not answer with JSON") from error


def _next(poll: Poll, url: str, following: object) -> str | None:
    """Return the URL of the next page: of the same server, to which the headers belong."""
    if not following:
        return None
    try:
        joined = urljoin(url, str(following))
        is_there = urlsplit(joined)[:2] == urlsplit(str(poll.url))[:2]
    except ValueError as error:
        raise PollFailed(
            f"{_shown(url)} names a next page that is not a URL: {str(following)[:80]!r}"
        ) from error
    if not is_there:
        raise PollFailed(f"the next page of {_shown(url)} is on another server, {_shown(joined)}")
    return joined


def _at(answer: Any, path: str | None) -> Any:  # noqa: ANN401 - JSON
    for name in path.split(".") if path else ():
        answer = answer.get(name) if isinstance(answer, dict) else None
    return answer


def _header(poll: Poll, text: str) -> str:
    try:
        return with_variables(text)
    except UnsetVariable as error:
        raise PollFailed(
            f"the environment variable {error}, which a header of {poll.name} names, is not set"
        ) from error


def _shown(url: str) -> str:
    """Return the URL without its query, which may have a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
