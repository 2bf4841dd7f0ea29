"""Request ids, the access log, and Prometheus metrics."""

from __future__ import annotations

import json
import logging
import re
import time
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.http.problems import answer

_LOG = logging.getLogger("headrace.api")
_ACCESS = logging.getLogger("headrace.access")
_REQUEST_ID = re.compile(r"[\w.:-]{1,128}", re.ASCII)
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 10)  # seconds


class Metrics:
    """The metrics that Prometheus reads at /metrics; each application has its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter(
            "headrace_http_requests", "Requests answered.", labels, registry=self.registry
        )
        self.seconds = Histogram(
            "headrace_http_request_seconds",
            "Duration of responses in seconds.",
            ("method", "route"),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.under_way = Gauge(
            "headrace_http_requests_under_way", "Requests in progress.", registry=self.registry
        )
        self.alerts = Gauge(
            "headrace_alerts",
            "Open and acknowledged alerts, undecided events, and overdue and given-up notifications.",
            ("state",),
            registry=self.registry,
        )
        self.silence = Gauge(
            "headrace_sensor_silence_seconds",
            "Seconds since the sensors slas and alerts last ticked.",
            ("sensor",),
            registry=self.registry,
        )
        self.events = Counter("headrace_events", "Events by outcome.", ("outcome",), registry=self.registry)


class RequestObserver:
    """ASGI middleware, the outermost: turns any exception into a 500 with only the request id."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the request and observe its response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        seen = _ObservedRequest(scope, send)
        self.metrics.under_way.inc()
        try:
            await self.app(scope, receive, seen.send)
        except Exception:
            _LOG.exception("request %s failed", seen.request_id)
            if seen.status is None:
                detail = "internal error; the log has the details under the request id"
                failure = answer(scope, HTTPStatus.INTERNAL_SERVER_ERROR, detail)
                await failure(scope, receive, seen.send)
        finally:
            self.metrics.under_way.dec()
            self._note(scope, seen)

    def _note(self, scope: Scope, seen: _ObservedRequest) -> None:
        route = getattr(scope.get("route"), "path", "none")
        status = str(seen.status or 499)  # 499: the client left before the response
        seconds = time.perf_counter() - seen.began
        self.metrics.requests.labels(scope["method"], route, status).inc()
        self.metrics.seconds.labels(scope["method"], route).observe(seconds)
        if _ACCESS.isEnabledFor(logging.INFO):
            _ACCESS.info("%s", json.dumps(_line(scope, seen, route, status, seconds), ensure_ascii=False))


class _ObservedRequest:
    """One request and its response."""

    def __init__(self, scope: Scope, send: Send) -> None:
        given = Headers(scope=scope).get("x-request-id", "")
        self.request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = self.request_id
        self.began = time.perf_counter()
        self.status: int | None = None
        self.bytes = 0
        self._send = send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": list(message.get("headers", ()))}
            MutableHeaders(raw=message["headers"])["x-request-id"] = self.request_id
        else:
            self.bytes += len(message.get("body", b""))
        await self._send(message)


def _line(scope: Scope, seen: _ObservedRequest, route: str, status: str, seconds: float) -> dict[str, Any]:
    """Format the log line, without query strings and bodies: they may contain sensitive values."""
    caller = scope["state"].get("caller")
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "request_id": seen.request_id,
        "method": scope["method"],
        "path": scope["path"],
        "route": route,
        "status": int(status),
        "milliseconds": round(seconds * 1000, 1),
        "bytes": seen.bytes,
        "address": scope["client"][0] if scope.get("client") else None,
        "subject": getattr(caller, "subject", None),
        "organisation": str(getattr(caller, "organisation_id", "")) or None,
    }
