"""References to environment variables in texts, as ${NAME}, so that declarations have no secrets."""

import os
import re
from urllib.parse import quote

_REFERENCE = re.compile(r"\$\{(\w+)\}")


class UnsetVariable(Exception):
    """A variable that a text names and that is not set, or empty; the message is its name."""


def with_variables(text: str) -> str:
    """Return the text with the values of the variables that it names. Raises UnsetVariable."""
    return _REFERENCE.sub(lambda match: _value(match[1]), text)


def url_with_variables(url: str) -> str:
    """Return the URL with the values of the variables that it names, quoted unless one is the whole URL.

    Raises UnsetVariable.
    """
    whole = _REFERENCE.fullmatch(url)
    return _value(whole[1]) if whole else _REFERENCE.sub(lambda match: quote(_value(match[1]), safe=""), url)


def _value(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise UnsetVariable(name)
    return value
