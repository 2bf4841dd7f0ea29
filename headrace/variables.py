"""References to environment variables in texts, as ${NAME}, so that declarations have no secrets."""

import os
import re

_REFERENCE = re.compile(r"\$\{(\w+)\}")


class UnsetVariable(Exception):
    """A variable that a text names and that is not set; the message is its name."""


def with_variables(text: str) -> str:
    """Return the text with the values of the variables that it names. Raises UnsetVariable."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise UnsetVariable(match[1])
        return os.environ[match[1]]

    return _REFERENCE.sub(value, text)
