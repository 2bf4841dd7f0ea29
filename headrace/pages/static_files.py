"""Styles and scripts of the pages: files of the package with the digest of their content in the address."""

from __future__ import annotations

import hashlib
from functools import cache
from http import HTTPStatus
from importlib import resources

from fastapi import APIRouter
from starlette.responses import Response

from headrace.http.problems import RequestRefused

router = APIRouter(include_in_schema=False)
PATH = "/static/{name}"
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "map": "application/json"}
_YEAR = "public, max-age=31536000, immutable"


@router.get(PATH)
def show_static_file(name: str) -> Response:
    """Return a file; browsers keep it, as a changed one has another address."""
    content = _files().get(name)
    if content is None:
        raise RequestRefused(HTTPStatus.NOT_FOUND, f"no file {name}")
    return Response(content, media_type=_TYPES[name.rpartition(".")[2]], headers={"Cache-Control": _YEAR})


def static_url(name: str) -> str | None:
    """Return the address of a file; None for a script that was not built (`make ui`): pages work without."""
    content = _files().get(name)
    if content is None:
        return None
    return f"/static/{name}?{hashlib.blake2b(content, digest_size=6).hexdigest()}"


@cache
def _files() -> dict[str, bytes]:
    folder = resources.files("headrace.pages") / "static"
    return {
        each.name: each.read_bytes() for each in folder.iterdir() if each.name.rpartition(".")[2] in _TYPES
    }
