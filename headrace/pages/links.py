"""The links that a user has saved: to a search with filters, a dataset, a night."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from starlette.responses import RedirectResponse, Response

from headrace.access.callers import Caller, Permission
from headrace.access.saved_links import MAX_LINKS, SavedLink, forget_link, save_link, saved_links
from headrace.api.subjects import Database
from headrace.pages.forms import address_in, own_address
from headrace.pages.rendering import page
from headrace.pages.sessions import Viewer, acts
from headrace.registration.registrations import StorableText as Text

router = APIRouter(include_in_schema=False)
Saver = Annotated[Caller, Depends(acts(Permission.READ))]
Name = Annotated[Text, Form(min_length=1, max_length=100)]


@router.get("/links")
def show_links(request: Request, engine: Database, caller: Viewer) -> Response:
    """Show the saved links, and a form that saves one to the page from which the user came."""
    return page(
        request,
        "links.html",
        links=saved_links(engine, caller),
        limit=MAX_LINKS,
        here=_previous(request),
    )


@router.post("/links")
def save_link_on_page(
    engine: Database, caller: Saver, name: Name, link: Annotated[Text, Form(alias="address", max_length=4000)]
) -> Response:
    """Save a link, in place of one with its name."""
    save_link(engine, caller, SavedLink(name.strip() or name, own_address(link)))
    return RedirectResponse("/links", HTTPStatus.SEE_OTHER)


@router.post("/links/forget")
def forget_link_on_page(engine: Database, caller: Saver, name: Name) -> Response:
    """Delete a link."""
    forget_link(engine, caller, name)
    return RedirectResponse("/links", HTTPStatus.SEE_OTHER)


def _previous(request: Request) -> str:
    """Return path and query of the page of ours with the link to this one; empty if it is unknown."""
    before = address_in(request.headers.get("referer"))
    if before.netloc != request.headers.get("host") or before.path in {"", "/links"}:
        return ""
    return before.path + (f"?{before.query}" if before.query else "")
