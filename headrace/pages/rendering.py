"""Templates: the environment, the filters for times, counts and addresses, and the response of a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pydantic_core import from_json
from starlette.responses import HTMLResponse, Response

from headrace.access.callers import Permission
from headrace.pages.static_files import static_url

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
}
# The pages in the header: address, name, and the permission that opens them.
PAGES = (
    ("/", "Tonight", Permission.READ),
    ("/datasets", "Datasets", Permission.READ),
    ("/processes", "Processes", Permission.READ),
    ("/night", "Night", Permission.READ),
    ("/slas", "SLAs", Permission.READ),
    ("/alerts", "Alerts", Permission.READ),
    ("/approvals", "Approvals", Permission.REVIEW),
    ("/policies", "Policies", Permission.READ),
    ("/estate", "Estate", Permission.REVIEW),
    ("/access", "Access", Permission.GRANT),
    ("/platform", "Health", Permission.OPERATE),
)
# The page in the header to which others belong.
SECTIONS = {"/audit": "/access", "/incidents": "/alerts", "/lineage": "/datasets", "/runs": "/processes"}
_NONE = "\N{EN DASH}"
_FIGURE_LENGTH = 8  # of a number that is shown as it is
_UNITS = (
    ("d", timedelta(days=1)),
    ("h", timedelta(hours=1)),
    ("min", timedelta(minutes=1)),
    ("s", timedelta(seconds=1)),
)
STATES = {  # the colour of a status: always beside its word and a shape
    "good": {"ON_TRACK", "SUCCESS", "COMPATIBLE", "PASS", "PUBLISHED", "CLOSED", "ACTIVE", "SENT", "APPROVED", "MET"},
    "warn": {
        "AT_RISK", "MET_LATE", "WARN", "WARNING", "ACKNOWLEDGED", "PENDING", "HELD", "DEPRECATED", "SKIPPED",
        "UNUSUAL_ROW_COUNT", "SCHEMA_CHANGED",
    },
    "bad": {
        "LATE", "MISSED", "FAILED", "FAIL", "ERROR", "CRITICAL", "BLOCKED", "OPEN", "REJECTED", "TERMINATED",
        "LOST", "BREAKING", "RUN_FAILED", "CHECK_FAILED", "SENSOR_SILENT",
    },
    "live": {"RUNNING", "QUEUED", "STARTING", "RESTARTED", "INFO"},
}  # fmt: skip


def page(
    request: Request,
    template: str,
    *,
    status: int = HTTPStatus.OK,
    **values: Any,  # noqa: ANN401 - of a template
) -> HTMLResponse:
    """Render a template as the response to a request."""
    return HTMLResponse(rendered(request, template, **values), status, HEADERS)


def rendered(request: Request, template: str, **values: object) -> str:
    """Return the text of a template for a request."""
    session = getattr(request.state, "session", None)
    return (
        _environment()
        .get_template(template)
        .render(
            session=session,
            caller=session and session.caller,
            pages=[(path, name) for path, name, needed in PAGES if session and session.caller.may(needed)],
            address=request.url.path,
            query=_query(request),
            fragment=request.headers.get("hx-request") == "true",
            now=datetime.now(UTC),
            **values,
        )
    )


def _query(request: Request) -> dict[str, str | list[str]]:
    """Return the parameters of the address; a list for one that is given several times."""
    given = request.query_params
    return {
        name: value if len(values := given.getlist(name)) == 1 else values for name, value in given.items()
    }


def answered(response: Response) -> Any:  # noqa: ANN401 - JSON
    """Return what a route of the API answers this caller: JSON of rows that are masked for them."""
    return from_json(bytes(response.body))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("headrace.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ago": ago,
        "clock": clock,
        "time_of_day": time_of_day,
        "count": count,
        "figure": figure,
        "duration": duration,
        "seconds": seconds,
        "size": size,
        "share": share,
        "words": words,
        "tone": tone,
        "key_path": key_path,
    }
    environment.globals |= {
        "static": static_url,
        "platform_version": version("headrace"),
        "Permission": Permission,
        "sections": SECTIONS,
        "with_query": with_query,
    }
    return environment


def moment(value: str | datetime) -> datetime:
    """Return a time of the API's JSON."""
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


def ago(value: str | datetime | None) -> Markup:
    """Return how long ago a time is, or in how long it will be; the browser keeps it right."""
    if value is None:
        return escape(_NONE)
    at = moment(value)
    past = datetime.now(UTC) - at
    text = f"{duration(past)} ago" if past >= timedelta() else f"in {duration(-past)}"
    return _time(at, text, "age")


def clock(value: str | datetime | None) -> Markup:
    """Return a time in UTC, which the browser shows in the reader's zone, with UTC on hover."""
    if value is None:
        return escape(_NONE)
    at = moment(value)
    return _time(at, f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC", "clock")


def time_of_day(value: str | datetime) -> Markup:
    """Return the time of day in UTC, which the browser shows in the reader's zone, with the date on hover."""
    at = moment(value)
    return _time(at, f"{at.astimezone(UTC):%H:%M}", "time")


def _time(at: datetime, text: str, kind: str) -> Markup:
    utc = at.astimezone(UTC)
    return Markup('<time datetime="{}" data-show="{}" title="{}">{}</time>').format(
        utc.isoformat(timespec="seconds"), kind, f"{utc:%Y-%m-%d %H:%M:%S} UTC", text
    )


def seconds(run: Mapping[str, Any]) -> float | None:
    """Return the seconds between start and end of a run or an attempt; None while it is running."""
    if run["ended_at"] is None:
        return None
    return (moment(run["ended_at"]) - moment(run["started_at"])).total_seconds()


def duration(value: timedelta | float | None) -> str:
    """Return a duration by its two largest units: `2 h 5 min`. value: seconds, or a timedelta."""
    if value is None:
        return _NONE
    left = value if isinstance(value, timedelta) else timedelta(seconds=value)
    if abs(left) < timedelta(seconds=1):
        return "0 s" if not left else f"{left / timedelta(milliseconds=1):.0f} ms"
    sign, left = ("-", -left) if left < timedelta() else ("", left)
    parts = []
    for unit, span in _UNITS:
        number, left = divmod(left, span)
        if number:
            parts.append(f"{number} {unit}")
        elif parts:
            break
        if len(parts) == 2:
            break
    return sign + " ".join(parts)


def count(value: float | None) -> str:
    """Return a number with thousands separated."""
    return _NONE if value is None else f"{value:,}"


def figure(value: object) -> object:
    """Return a value of a dataset; a number with many decimals is rounded to four, or six digits of a small one."""
    if not isinstance(value, float) or len(repr(value)) <= _FIGURE_LENGTH:
        return value
    return f"{value:.4f}".rstrip("0").rstrip(".") if 0.1 <= abs(value) < 1e15 else f"{value:.6g}"


def size(value: int | None) -> str:
    """Return a number of bytes in the largest fitting unit: `1.5 MB`."""
    if value is None:
        return _NONE
    power = min(4, int(math.log(value, 1000))) if value >= 1000 else 0
    scaled = value / 1000**power
    return f"{value} B" if not power else f"{scaled:.{0 if scaled >= 100 else 1}f} {'kMGT'[power - 1]}B"


def share(value: float | None) -> str:
    """Return a share between 0 and 1 in per cent."""
    return _NONE if value is None else f"{100 * value:.0f} %"


def words(value: str | None) -> str:
    """Return a constant of the API in words: `On track` for ON_TRACK."""
    return _NONE if not value else value.replace("_", " ").replace("-", " ").capitalize()


def tone(value: str | None) -> str:
    """Return the colour of a status: good, warn, bad, live, or none."""
    return next((name for name, states in STATES.items() if value in states), "none")


def key_path(value: str) -> Markup:
    """Return a key as a part of an address."""
    return escape(quote(value, safe="/"))


def with_query(query: Mapping[str, str | Sequence[str]], **changes: object) -> str:
    """Return the query with these parameters changed; None removes one."""
    changed = {name: value for name, value in {**query, **changes}.items() if value not in (None, "")}
    return "?" + urlencode(changed, doseq=True)
