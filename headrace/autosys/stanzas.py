"""Split JIL text into stanzas that parse the same alone as in place, so that each can be identified by a digest.

A stanza begins at the start of a line that inserts a job. Text that the scanner can extend over such a line is not
split: a comment that does not close on its line, and a blob.
"""

import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

_START = re.compile(r"insert_job[ \t]*:")
_OPEN_COMMENT = re.compile(r"/\*(?![^\n]*\*/(?:\s|\Z))")
_COMMENT_DECIDED = re.compile(r"^[^\S\n]*/\*|\*/(?=\s|\Z)", re.MULTILINE)
_BLOB_START, _BLOB_END = "<auto_blobt>", "</auto_blobt>"
_READING = (
    b"2"  # increment it when the same text is parsed differently, so that everything is read again once
)


class Stanza(NamedTuple):
    """A piece of a text: its start and end, first line (from 1), and the digest of its content."""

    start: int
    end: int
    line: int
    digest: str


def stanzas(text: str) -> list[Stanza]:
    """Return the stanzas of JIL text with LF line endings, in order, including the text before the first one."""
    starts = [0, *_starts(text)]
    found: list[Stanza] = []
    line = 1
    data = text.encode() if text.isascii() else None  # a part of which has its position in the text
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if start == end:
            continue
        piece = text[start:end].encode("utf-8", "surrogatepass") if data is None else data[start:end]
        digest = blake2b(piece, digest_size=16, salt=_READING)
        found.append(Stanza(start, end, line, digest.hexdigest()))
        line += text.count("\n", start, end)
    return found


def _starts(text: str) -> Iterator[int]:
    """Yield the starts of lines that insert a job, except those that may be within a comment or a blob."""
    reserved = uninterpreted(text)
    number, reserved_to = 0, 0
    for match in _START.finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        while number < len(reserved) and reserved[number][0] < start:
            reserved_to = max(reserved_to, reserved[number][1])
            number += 1
        if start > reserved_to and not text[start : match.start()].strip(" \t"):
            yield start


def uninterpreted(text: str) -> list[tuple[int, int]]:
    """Return the ranges of comments over several lines, up to where their end is certain, and of blobs, in order."""
    return sorted([*_open_comments(text), *_blobs(text)])


def _open_comments(text: str) -> Iterator[tuple[int, int]]:
    """Yield, for each comment that does not close on its line, the range up to where its end is certain."""
    position = 0
    while (match := _OPEN_COMMENT.search(text, position)) is not None:
        position = match.end()
        if match.start() and not text[match.start() - 1].isspace():
            continue  # a pattern such as /data/*
        line_end = text.find("\n", position)
        decided = _COMMENT_DECIDED.search(text, line_end + 1) if line_end >= 0 else None
        if decided is None:
            yield match.start(), len(text)
            return
        yield match.start(), decided.end()
        position = decided.end() if decided[0].endswith("*/") else decided.start()


def _blobs(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    while (start := text.find(_BLOB_START, position)) >= 0:
        end = text.find(_BLOB_END, start)
        position = end + len(_BLOB_END) if end >= 0 else len(text)
        yield start, position
