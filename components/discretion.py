"""What stops a run over sensitive data, told without the values that its exception quotes.

Spark and Python put the value that they cannot use into the message, in quotes. The message goes to the catalog, to
Dagster and to terminals, where nobody may read it unasked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from catalog.runs import failure_kind
from components.problems import TransformError
from resources.errors import ResourceError

MASK = "•••"

# From the first mark that opens a quotation to the last that closes one: a value may hold such marks itself. An
# apostrophe within a word does neither.
_SINGLE = re.compile(r"(?<!\w)'.*'(?!\w)")
_DOUBLE = re.compile(r'(?<!\w)(?<!File )"(?![A-Z_]+(?:\([\d, ]+\))?"|spark\.[\w.]+")[^"]*"(?!\w)')
_OPEN = re.compile(r"(?<!\w)'.*", re.S)


@contextmanager
def discreet(hidden: Collection[str]) -> Iterator[None]:
    """Raise what happens within without what it quotes, when there are columns whose values nobody is shown unasked.

    Errors of the code are left as they are: they name columns, not values. The exception keeps its class's name, its
    notes and how the catalog files it; the one that it stands for is not in its chain.
    """
    try:
        yield
    except TransformError:
        raise
    except Exception as error:
        if not hidden:
            raise
        told = _without_values(error)
        told.add_note(f"What it quotes is hidden: {', '.join(sorted(hidden))} may not be shown.")
        raise told from None


def masked(text: str) -> str:
    """The text without what stands in quotation marks; names of types, settings and files are left."""
    lines = [_DOUBLE.sub(f'"{MASK}"', _SINGLE.sub(f"'{MASK}'", line)) for line in text.splitlines()]
    whole = "\n".join(lines)
    # A quotation that goes on over the end of its line: nothing after it is certain not to belong to it.
    unclosed = next((each for each in _OPEN.finditer(whole.replace(f"'{MASK}'", f"\0{MASK}\0"))), None)
    return whole if unclosed is None else f"{whole[: unclosed.start()]}'{MASK}"


def _without_values(error: Exception) -> Exception:
    kind = type(error)
    if not isinstance(error, ResourceError):
        kind = type(kind.__name__, (Exception,), {"failure_kind": failure_kind(error)})
    told = kind(masked(str(error)))
    for note in getattr(error, "__notes__", ()):
        told.add_note(note)
    return told
