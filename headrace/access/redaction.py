"""Redact secrets from text that others read: tokens, and passwords in URLs and options."""

import logging
import re
from typing import Any

_HIDDEN = "***"
_KEYS = ("api", "access", "account", "private")
_PHRASE = "password|passwd|pwd|passphrase"
_OPTION = (
    rf"\b(?:\w*(?:{_PHRASE})|(?:\w*_)?(?:(?:client|shared)?secret(?:[._-]?key)?"
    rf"|(?:access|auth|refresh|session|sas|id)?token|(?:{'|'.join(_KEYS)})[._-]?key(?:\.[\w.-]+)?|sig|x-amz-signature))"
)
_NAMED = re.compile(rf"(?:.*\W)?{_OPTION}", re.IGNORECASE | re.ASCII)
_PAIR = re.compile(
    rf'"(?:name|key)":\s*"(?:[^"]*\W)?{_OPTION}"', re.IGNORECASE | re.ASCII
)  # {"name": ..., "value": ...}
# Lower-case text that must occur for a pattern to match: a substring search takes a hundredth of the time.
_WORDS = (
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "token",
    "sig",
    *(f"{kind}{mark}key" for kind in _KEYS for mark in ("", ".", "_", "-")),
)
# Each takes time in proportion to the text: what it looks for has a bounded length, or begins where a word does.
_PATTERNS = (
    (
        ("hrs_", "hrt_"),
        (re.compile(r"\b(?P<keep>hr[st]_)[0-9a-f]{32}_[\w-]+", re.ASCII),),
    ),  # Headrace's own tokens
    (
        ("eyj", "eya"),
        (re.compile(r"(?<![\w-])(?P<keep>ey)[JA][\w-]{7,}\.[\w-]+\.[\w-]*", re.ASCII),),
    ),  # JSON web tokens
    (
        ("@",),  # rarer than ://
        (
            # scheme://user:password@host, where the password may have / and @, and scheme://token@host
            re.compile(
                r"(?P<keep>\b[\w+.-]{1,40}://[^\s:/@]{0,300}:)(?![0-9]+/)[^\s\"'<>]{1,300}?"
                r"(?=@[\w.\-\[\]:]{0,300}(?:[/?#\s,;\"'<>]|$))",
                re.ASCII,
            ),
            re.compile(r"(?P<keep>\b[\w+.-]{1,40}://)[\w.~+-]{20,}(?=@)", re.ASCII),
        ),
    ),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), (re.compile(r"\b(?P<keep>gh[opusr]_)\w{20,}", re.ASCII),)),
    (("dapi",), (re.compile(r"\b(?P<keep>dapi)[0-9a-f]{32}", re.ASCII),)),
    (("akia", "asia"), (re.compile(r"\b(?P<keep>A[KS]IA)[0-9A-Z]{16}\b", re.ASCII),)),
    (
        ("private key-----",),
        (re.compile(r"(?P<keep>-----BEGIN [A-Z ]*PRIVATE KEY-----)[^-]+", re.ASCII),),
    ),
    (
        ("identified",),
        (
            re.compile(
                r"(?P<keep>\bIDENTIFIED\s+BY\s+(?:VALUES\s+)?)(?:'[^']*'|\"[^\"]*\"|[^\s;,'\"]+)", re.I | re.A
            ),
        ),
    ),  # Oracle, MySQL
    (
        ("using",),
        (re.compile(r"(?P<keep>\bUSER\s+[^\s;]+\s+USING\s+)[^\s;]+", re.I | re.A),),
    ),  # DB2: CONNECT TO db USER u USING x
    (
        (".logon",),
        (re.compile(r"(?P<keep>\.logon\s+[^\s,;]+,)[^\s;]+", re.I | re.A),),
    ),  # Teradata
    (
        ("@",),
        # Oracle: user/x@db, and jdbc:oracle:thin:user/x@host. No path, e-mail address or Kerberos principal.
        (
            re.compile(
                r"(?P<keep>(?:(?<![\w/.:@-])|(?<=jdbc:oracle:thin:))[A-Za-z][\w$#]*/)(?!_HOST)[^\s/@:.]+(?=@)",
                re.A,
            ),
        ),
    ),
    (("curl",), (re.compile(r"(?P<keep>\bcurl\b[^\n|;]{0,300}?\s(?:-u|--user)[\s=]+[^\s:]+:)[^\s]+", re.A),)),
    (("mysql",), (re.compile(r"(?P<keep>\bmysql\w*\b[^\n|;]{0,300}?\s-p)[^\s]+", re.A),)),
    (
        ("--",),
        (re.compile(rf"(?P<keep>--(?:{_PHRASE}|token|secret)\s+)[^\s]+", re.I | re.A),),
    ),
    (
        ("password",),
        (re.compile(r"(?P<keep>\bPASSWORD\s+)'[^']*'", re.I | re.A),),
    ),  # SQL: CREATE USER u WITH PASSWORD 'x'
    (
        ("bearer", "basic"),
        (re.compile(r"(?P<keep>\b(?:Bearer|Basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE | re.ASCII),),
    ),
    (
        _WORDS,
        (
            re.compile(
                rf"(?P<keep>{_OPTION}[\"']?\s*[=:]\s*)(?:\"[^\"]*\"|'[^']*')", re.IGNORECASE | re.ASCII
            ),
            # Without quotes only if nothing is in between: in SQL, `a.token = b.token` compares columns.
            re.compile(rf"(?P<keep>{_OPTION}[\"']?[=:])[^\s\"'=&;,]+", re.IGNORECASE | re.ASCII),
            re.compile(
                rf"(?P<keep>(?<![\w.])(?:\w*(?:{_PHRASE})|api[_-]key)\s+[=:]\s*|(?<![\w.])(?:\w*(?:{_PHRASE})|api[_-]key)[=:]\s+)"
                r"[^\s\"'=&;,]+",
                re.IGNORECASE | re.ASCII,
            ),
        ),
    ),
)
# Statements and values that PostgreSQL's driver and SQLAlchemy quote in errors.
_QUOTED = (
    re.compile(r"(?P<keep>\b(?:DETAIL|CONTEXT|LINE \d+): ).*"),
    re.compile(r"(?P<keep>\[(?:SQL|parameters): ).*?(?=\]\s*(?:\n|$))", re.DOTALL),
)
_VALUE = re.compile(r"(?<!\w)'.*?'(?!\w)|\"[^\"]*\"")


class RedactingFormatter(logging.Formatter):
    """Wraps a log formatter: removes secrets, statements and their values, also from tracebacks."""

    def __init__(self, wrapped: logging.Formatter) -> None:
        super().__init__()
        self._wrapped = wrapped

    def format(self, record: logging.LogRecord) -> str:
        """Format a record, redacted."""
        return redacted(_unquoted(self._wrapped.format(record)))


def redact_logs(*loggers: str) -> None:
    """Redact the output of these loggers, and of loggers without a handler."""
    handlers = [handler for name in loggers for handler in logging.getLogger(name).handlers]
    for handler in (*handlers, logging.lastResort):
        if handler is not None and not isinstance(handler.formatter, RedactingFormatter):
            handler.setFormatter(RedactingFormatter(handler.formatter or logging.Formatter()))


def redacted(text: str) -> str:
    """Return the text with `***` in place of secrets."""
    for pattern in _possible(text):
        text = pattern.sub(lambda found: found["keep"] + _HIDDEN, text)
    return text


def without_values(text: str) -> str:
    """Return the first line of an error message, redacted, with quoted values replaced by `***`."""
    first = next(iter(text.strip().splitlines()), "")
    return _VALUE.sub(f"'{_HIDDEN}'", redacted(_unquoted(first)))


def has_secrets(text: str) -> bool:
    """Return True if there is something to redact; for JSON text, if there may be."""
    patterns = _possible(text)  # `_PAIR` contains one of `_WORDS`, so without any it cannot match either
    return bool(patterns) and any(pattern.search(text) for pattern in (*patterns, _PAIR))


def _unquoted(text: str) -> str:
    for pattern in _QUOTED:
        text = pattern.sub(lambda found: found["keep"] + _HIDDEN, text)
    return text


def _possible(text: str) -> list[re.Pattern[str]]:
    """Return the patterns that can match."""
    small = text.lower()
    possible: list[re.Pattern[str]] = []
    for words, patterns in _PATTERNS:
        for word in words:  # `any` with a generator would take twice the time
            if word in small:
                possible += patterns
                break
    return possible


def scrubbed(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON value with texts redacted and secret-named fields removed."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [scrubbed(each) for each in value]
    if not isinstance(value, dict):
        return value
    is_pair = any(
        isinstance(value.get(each), str) and _NAMED.fullmatch(value[each]) for each in ("name", "key")
    )
    return {
        name: _HIDDEN
        if isinstance(each, str) and each and (_NAMED.fullmatch(name) or (is_pair and name == "value"))
        else scrubbed(each)
        for name, each in value.items()
    }
