"""The text of a value: resolving quotes and escapes, and writing a value back.

A value that is one quoted token loses its quotes; within it a backslash counts only before a quote (`\\"` is a quote,
and `\\\\` before a quote or at the end is one backslash), and a doubled quote is one. Elsewhere quotes stay, since they
belong to the shell, and only `\\:` is an escape.
"""

import re

QUOTED = r'"(?:[^"\\]|\\.)*"'

_ONE_TOKEN = re.compile(r'"((?:[^"\\]|\\.|"")*)"', re.DOTALL)
_ESCAPED = re.compile(r'((?:\\\\)*)\\"|((?:\\\\)*)""|((?:\\\\)+)\Z')
_QUOTE = re.compile(r'(\\*)"')
_LAST_BACKSLASHES = re.compile(r"(\\+)\Z")
_COLON_ESCAPED = re.compile(QUOTED + r"|\\(.)", re.DOTALL)
_COLON = re.compile(QUOTED + r"|(:)", re.DOTALL)


def read_value(raw: str) -> str:
    """Return the value that `raw` (the text after `name:`, comments and further attributes taken off) stands for."""
    raw = raw.strip()
    if '"' in raw:
        token = _ONE_TOKEN.fullmatch(raw)
        if token is not None:
            return _ESCAPED.sub(_unescape_quote, token[1])
    return unescape_colons(raw)


def unescape_colons(raw: str) -> str:
    """Return `raw` with `\\:` outside quotes as `:`."""
    if "\\" not in raw:
        return raw
    return _COLON_ESCAPED.sub(lambda found: ":" if found[1] == ":" else found[0], raw)


def escape_colons(value: str) -> str:
    """Return `value` with `:` outside quotes as `\\:`."""
    return _COLON.sub(lambda found: "\\:" if found[1] else found[0], value)


def quote(value: str) -> str:
    """Return `value` as one quoted token."""
    value = _LAST_BACKSLASHES.sub(r"\1\1", value)
    return '"' + _QUOTE.sub(r'\1\1\\"', value) + '"'


def _unescape_quote(found: re.Match[str]) -> str:
    backslashes = found[1] if found[1] is not None else found[2] if found[2] is not None else found[3]
    return backslashes[: len(backslashes) // 2] + ('"' if found[0].endswith('"') else "")
