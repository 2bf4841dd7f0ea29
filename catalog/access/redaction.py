"""Secrets in a text that others will read: tokens, and passwords in addresses and options."""

import re

_HIDDEN = "***"
_OPTION = r"\b(?:\w*_)?(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|sig)"
_PATTERNS = (
    re.compile(r"\b(?P<keep>hr[st]_)[0-9a-f]{32}_[\w-]+"),  # tokens of ours
    re.compile(r"\b(?P<keep>ey)[\w-]{8,}\.[\w-]+\.[\w-]*"),  # JSON web tokens
    re.compile(r"(?P<keep>\b[\w+.-]+://[^\s:/@]*:)[^\s/@]+(?=@)"),  # scheme://user:password@
    re.compile(r"(?P<keep>\b(?:Bearer|Basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(rf"(?P<keep>{_OPTION}[\"']?\s*[=:]\s*)(?:\"[^\"]*\"|'[^']*')", re.IGNORECASE),
    # Without quotes only where nothing stands between: in SQL, `a.token = b.token` compares columns.
    re.compile(rf"(?P<keep>{_OPTION}[\"']?[=:])[^\s\"'=&;,]+", re.IGNORECASE),
)


def redacted(text: str) -> str:
    """The text with `***` in place of what opens doors."""
    for pattern in _PATTERNS:
        text = pattern.sub(lambda found: found["keep"] + _HIDDEN, text)
    return text
