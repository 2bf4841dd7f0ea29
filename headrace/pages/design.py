"""The components of all pages on one page, for those who change them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fastapi import APIRouter, Request
from starlette.responses import Response

from headrace.pages.rendering import STATES, page
from headrace.pages.sessions import Viewer

router = APIRouter(include_in_schema=False)


@router.get("/design")
def show_design(request: Request, caller: Viewer) -> Response:
    """Show every component with made-up values."""
    now = datetime.now(UTC)
    return page(
        request,
        "design.html",
        states=STATES,
        times=[now - timedelta(minutes=3), now + timedelta(hours=2, minutes=5)],
        objective={
            "expected_at": now + timedelta(hours=1),
            "expected_from": now,
            "expected_to": now + timedelta(hours=2),
            "miss_probability": 0.12,
            "waits_for": "PRD_LOAD_ORDERS",
            "waits_minutes": 14,
        },
        days=[
            {"day": "2026-01-05", "week": week, "weekday": day, "outcome": outcome, "words": "an example"}
            for week, outcomes in enumerate((("MET", "MET_LATE", "MISSED"), ("PAUSED", None, "MET")))
            for day, outcome in enumerate(outcomes)
        ],
    )
