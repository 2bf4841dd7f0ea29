"""Format the text of a notification as HTML and as Markdown; URLs become links. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

Words = Callable[[str], str]
_NAMED = re.compile(r"([A-Z][A-Za-z ]*): (.+)")
_ADDRESS = re.compile(r"https?://\S+")
_IN_ADDRESS = {ord(each): f"%{ord(each):02X}" for each in "()<>\"'`"}  # characters that would end it
# Code stays code; all other Markdown syntax is escaped. An underscore within a name is none, and Slack would show a
# backslash before it.
_SPECIAL = re.compile(r"(`[^`]*`)|([\\`*\[\]<>#|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


def html(body: str) -> str:
    """Format the text as paragraphs, with the label of each line in bold."""
    parts = [
        "<br>\n".join(
            _line(each, escape, escape, '<a href="{1}">{0}</a>', "<b>{0}:</b> {1}") for each in part
        )
        for part in _paragraphs(body)
    ]
    return "\n".join(f"<p>{part}</p>" for part in parts)


def markdown(body: str) -> str:
    """Format the text with a paragraph per line, since many services ignore a single line break."""
    return "\n\n".join(
        _line(each, _plain, str, "[{0}]({1})", "**{0}:** {1}") for part in _paragraphs(body) for each in part
    )


def _line(line: str, plain: Words, address: Words, link: str, named: str) -> str:
    found = _NAMED.fullmatch(line)
    if found is None:
        return plain(line)
    name, rest = found.groups()
    if _ADDRESS.fullmatch(rest):
        return link.format(plain(name), address(rest.translate(_IN_ADDRESS)))
    return named.format(plain(name), plain(rest))


def _paragraphs(body: str) -> list[list[str]]:
    return [part.split("\n") for part in body.split("\n\n") if part]


def _plain(text: str) -> str:
    return _SPECIAL.sub(lambda found: found[1] or "\\" + found[2], text)
