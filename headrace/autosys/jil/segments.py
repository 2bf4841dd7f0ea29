"""Split one logical line of JIL: which words begin an attribute, and where its quotes and comments end.

A logical line is a line and those below that its open quotes, comments and final backslash include.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from headrace.autosys.jil.keywords import FREE_TEXT, SUBCOMMANDS, attributes_of, subcommand
from headrace.autosys.jil.values import QUOTED

_KEY = re.compile(r"\s*([A-Za-z_]\w*)[ \t]*:", re.ASCII)

_UNKNOWN_KEY = re.compile(r"\s*([a-z_][A-Za-z0-9_]{2,})[ \t]*:(?!//)")
_PIECE = re.compile(
    rf'(?P<quoted>{QUOTED})|(?P<escape>\\.)|(?P<open>")|(?:(?<=\s)|^)(?:(?P<comment>/\*)|(?P<key>[A-Za-z_]\w*)[ \t]*:)',
    re.DOTALL | re.ASCII,
)
_COMMENT_END = re.compile(r"\*/(?=\s|$)")
_CLOSING_QUOTE = re.compile(r'(?:[^"\\]|\\.)*"')
_BROKEN_PATH = re.compile(r'"[^"]*\\"\s*')
_CONDITION = re.compile(r"[\s(]*[A-Za-z]+\s*\(")
_BLOB_START = "<auto_blobt>"
_BLOB_END = "</auto_blobt>"
_MAX_QUOTE_LINES = 200  # lines; a quote open for longer was never closed
MAX_VALUE_LINES = 1000  # lines; anything longer is not a value but another text

ReportFinding = Callable[[str, str, int, str | None, str], None]
"""Called with the rule, the message, the line (from 1), the attribute and the hint of what looks doubtful."""


class Segment(NamedTuple):
    """`name: raw`, begun at `line` (from 1). A name of None continues the previous value."""

    name: str | None
    raw: str
    line: int


class Source:
    """The lines of a text, and where comments end in them."""

    def __init__(self, lines: list[str], report: ReportFinding) -> None:
        self.lines = lines
        self.report = report
        self.no_blob_ends_after = len(lines)
        self._no_comment_ends_after = len(lines)

    def after_comments(self, index: int) -> tuple[str, int]:
        """Return the rest of line `index`, which may begin with comments, and the index of the line where they end."""
        text = self.lines[index]
        while text.lstrip().startswith("/*"):
            rest, index = self.after_comment(index, text[text.index("/*") + 2 :])
            if rest is None:
                self.report(
                    "open-comment",
                    "a comment opens here and does not close; only this line is skipped",
                    index + 1,
                    None,
                    "end it with */ at the end of a line or before a blank",
                )
                return "", index
            text = rest
        return text, index

    def after_comment(self, index: int, inside: str) -> tuple[str | None, int]:
        """Return the text after the comment that began before `inside` on line `index`; None if it is never closed.

        A comment in which another one opens was left open: jil would swallow the lines in between.
        """
        found = _COMMENT_END.search(inside)
        if found is not None:
            return inside[found.end() :], index
        for ahead in range(index + 1, min(len(self.lines), self._no_comment_ends_after)):
            line = self.lines[ahead]
            if line.lstrip().startswith("/*"):
                return None, index
            found = _COMMENT_END.search(line)
            if found is not None:
                return line[found.end() :], ahead
        self._no_comment_ends_after = min(self._no_comment_ends_after, index + 1)
        return None, index


def segments(
    source: Source, index: int, text: str, known: Mapping[str, str], continued: str | None
) -> tuple[list[Segment], int]:
    """Return the segments of the logical line that begins with `text` on line `index`, and the index of the line after
    it.

    known: the attributes that the statement's object may have. continued: the attribute that text without a name at the
    start would continue; None if there is none.
    """
    name, start = leading_key(text, known)
    if name == "blob_input":
        return _blob(source, index, text[start:])
    line = _LogicalLine(source, index, text, known, continued)
    line.begin(name, start)
    return line.read(), line.end


class _LogicalLine:
    """One logical line, read from left to right and extended by lines from below."""

    def __init__(
        self, source: Source, index: int, text: str, known: Mapping[str, str], continued: str | None
    ) -> None:
        self.source, self.index, self.text, self.known, self.continued = source, index, text, known, continued
        self.end = index + 1  # the line after those consumed
        self.position = 0
        self.segments: list[Segment] = []
        self.name: str | None = None
        self.start = 0
        self.line = index + 1
        self._joined = 0  # lines added without a line feed, for the numbers of the following ones
        self._counted = (0, 0)  # a position, and the line feeds before it

    def begin(self, name: str | None, start: int) -> None:
        """Begin a new segment at this position."""
        self.name, self.start, self.position = name, start, max(start, self.position)
        statement = subcommand(name) if name is not None else None
        if statement is not None:
            self.known = attributes_of(statement[1])

    def read(self) -> list[Segment]:
        while True:
            piece = _PIECE.search(self.text, self.position)
            if piece is None:
                if not self._draw_in_next():
                    break
            elif piece["key"]:
                self._key(piece)
            elif piece["comment"]:
                self._comment(piece)
            elif piece["open"]:
                self._open_quote(piece)
            else:
                self.position = piece.end()
        self.segments.append(Segment(self.name, self.text[self.start :], self.line))
        return self.segments

    def _draw_in_next(self) -> bool:
        """Add the next line after a final backslash, unless that line begins an attribute or statement; returns True
        if added."""
        lines, ended = self.source.lines, self.text.rstrip()
        if not ended.endswith("\\") or self.end >= len(lines) or self.end - self.index > MAX_VALUE_LINES:
            return False
        if not lines[self.end].strip() or starts_key(lines[self.end], self.known):
            return False
        ended = ended[:-1].rstrip()
        self.position = len(ended)
        self.text = f"{ended} {lines[self.end].strip()}"
        self.end += 1
        self._joined += 1
        return True

    def _key(self, piece: re.Match[str]) -> None:
        self.position = piece.end()
        apart = self.text[max(0, piece.start() - 2) : piece.start()].isspace()
        several = len(self.segments) > 0 or apart
        inside = self.name or self.continued
        name = _inner_key(piece["key"], self.text, self.position, self.known, inside, several)
        if name is None:
            return
        line = self._line_at(piece.start())
        if not name:
            self.source.report(
                "key-in-text",
                f"'{piece['key']}:' within a text was read as text",
                line,
                inside,
                "put it on a line of its own if it is an attribute",
            )
            return
        self.segments.append(Segment(self.name, self.text[self.start : piece.start()], self.line))
        self.line = line
        self.begin(name, piece.end())

    def _comment(self, piece: re.Match[str]) -> None:
        rest, last = self.source.after_comment(self.end - 1, self.text[piece.end() :])
        self.position = piece.end()
        if rest is None:
            self.source.report(
                "open-comment",
                "'/*' opens a comment that does not close; it was read as text",
                self.end,
                self.name or self.continued,
                "quote the value if it is not a comment",
            )
            return
        self._joined += last + 1 - self.end
        self.end = last + 1
        self.text = self.text[: piece.start()] + rest
        self.position = piece.start()

    def _open_quote(self, piece: re.Match[str]) -> None:
        last = _quote_end(self.source.lines, self.end, self.known)
        self.position = piece.start()
        if last is not None:
            self.text = "\n".join([self.text, *self.source.lines[self.end : last + 1]])
            self.end = last + 1
        elif (
            _BROKEN_PATH.fullmatch(self.text, piece.start())
            and not self.text[self.start : piece.start()].strip()
        ):
            self.text = f'{self.text.rstrip()[:-1]}\\"'  # "c:\tmp\" was meant to be closed
        else:
            self.position = piece.end()
            self.source.report(
                "open-quote",
                "a quote opens here and does not close; the value ends with its line",
                self.end,
                self.name or self.continued,
                'close the quote, or write \\" for a quote within the text',
            )

    def _line_at(self, position: int) -> int:
        counted, feeds = self._counted
        feeds += self.text.count("\n", counted, position)
        self._counted = (position, feeds)
        return self.index + 1 + self._joined + feeds


def leading_key(text: str, known: Mapping[str, str]) -> tuple[str | None, int]:
    """Return the subcommand or attribute with which `text` begins, and where its value starts; None without one."""
    found = _KEY.match(text)
    if found is None:
        return None, 0
    word = found[1]
    if subcommand(word) is not None:
        return word.lower(), found.end()
    name = known.get(word) or known.get(word.lower())
    if name is None:
        if not known or _UNKNOWN_KEY.match(text) is None:
            return None, 0
        name = word
    return name, found.end()


def starts_key(line: str, known: Mapping[str, str]) -> bool:
    """Return True if a line begins with a subcommand or an attribute that the object may have."""
    found = _KEY.match(line)
    return found is not None and (
        found[1] in known or found[1].lower() in known or subcommand(found[1]) is not None
    )


def _inner_key(
    word: str, text: str, position: int, known: Mapping[str, str], inside: str | None, several: bool
) -> str | None:
    """Return the name that a word with a colon before `position` begins within a line.

    None: plain text; an empty string: text, but doubtful. A word that is also an English one begins an attribute within
    prose only if the line has several attributes, if two blanks separate it as in dumps, or if a condition follows.
    """
    is_text = inside in FREE_TEXT
    if word in SUBCOMMANDS:
        return "" if is_text else word
    name = known.get(word) or (known.get(word.lower()) if "_" in word else None)
    if name is None:
        return None
    if not is_text or "_" in name or several or (name == "condition" and _CONDITION.match(text, position)):
        return name
    return ""


def _quote_end(lines: list[str], start: int, known: Mapping[str, str]) -> int | None:
    """Return the line on which a quote left open above `start` closes, as the last thing there or before an
    attribute."""
    for ahead in range(start, min(len(lines), start + _MAX_QUOTE_LINES)):
        if starts_key(lines[ahead], known):
            return None
        found = _CLOSING_QUOTE.match(lines[ahead])
        if found is not None:
            rest = lines[ahead][found.end() :]
            closes = not rest.strip() or (rest[0].isspace() and starts_key(rest, known))
            return ahead if closes else None
    return None


def _blob(source: Source, index: int, text: str) -> tuple[list[Segment], int]:
    """Read a blob, which is literal up to its end mark, whatever is in it; it may begin on the line below its name."""
    line, lines = index + 1, source.lines
    if not text.strip() and line < len(lines) and lines[line].lstrip().startswith(_BLOB_START):
        index, text = line, lines[line]
    if _BLOB_END in text or _BLOB_START not in text:
        return [Segment("blob_input", text, line)], index + 1
    for ahead in range(index + 1, min(len(lines), source.no_blob_ends_after)):
        if _BLOB_END in lines[ahead]:
            whole = "\n".join([text, *lines[index + 1 : ahead + 1]])
            return [Segment("blob_input", whole, line)], ahead + 1
    source.no_blob_ends_after = min(source.no_blob_ends_after, index + 1)
    source.report(
        "open-blob",
        f"the blob is not closed by {_BLOB_END}; its first line is kept",
        line,
        "blob_input",
        f"add {_BLOB_END}",
    )
    return [Segment("blob_input", text, line)], index + 1
