"""The text of a notification as HTML and as Markdown; addresses become links. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

Words = Callable[[str], str]
_NAMED = re.compile(r"([A-Z][A-Za-z ]*): (.+)")
_ADDRESS = re.compile(r"https?://\S+")
_IN_ADDRESS = {ord(each): f"%{ord(each):02X}" for each in "()<>\"'`"}  # what would end it
# Code stays code, all else of Markdown is a mere character.
_SPECIAL = re.compile(r"(`[^`]*`)|([\\`*_\[\]<>#|~])")


def html(body: str) -> str:
    """The text in paragraphs, the name of each line in bold."""
    parts = [
        "<br>\n".join(
            _line(each, escape, escape, '<a href="{1}">{0}</a>', "<b>{0}:</b> {1}") for each in part
        )
        for part in _paragraphs(body)
    ]
    return "\n".join(f"<p>{part}</p>" for part in parts)


def markdown(body: str) -> str:
    """The text with a paragraph for each line, since many services show a single line break as none."""
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
