"""Write statements as JIL text that reads back as the same statements."""

import re
from collections.abc import Iterable

from headrace.autosys.jil.keywords import POSSIBLE_NAME
from headrace.autosys.jil.scanner import scan
from headrace.autosys.jil.statements import Attribute, Statement
from headrace.autosys.jil.values import QUOTED, escape_colons, quote

_PLAIN = re.compile(r"[\w.,@+=()&|<>{}$*?!~%^;'-]+(?: [\w.,@+=()&|<>{}$*?!~%^;'-]+)*", re.ASCII)
_DEPENDS = re.compile(r'"|(?:^|\s)/\*')
_CLOSED = re.compile(QUOTED + r"|\\.", re.DOTALL)


class UnwritableError(ValueError):
    """A statement contains something that JIL cannot express."""


def write(statements: Iterable[Statement]) -> str:
    """Return JIL text, one attribute per line, statements separated as in dumps.

    Raises UnwritableError for content that would not read back: a line feed before text that looks like an attribute, a
    carriage return, a name with blanks.
    """
    return "\n".join(map(_statement, statements))


def _statement(statement: Statement) -> str:
    word = f"{statement.action}_{statement.kind}"
    if POSSIBLE_NAME.fullmatch(statement.name) is None:
        raise UnwritableError(
            f"{statement.file}:{statement.line}: {word}: {statement.name!r} cannot be a name in JIL"
        )
    lines = [f"/* ----------------- {statement.name} ----------------- */", ""]
    if "*/" in statement.name:
        lines = []
    rest = f" {escape_colons(statement.rest)}" if statement.rest else ""
    head = f"{word}: {escape_colons(statement.name)}{rest}"
    attributes = statement.attributes
    if statement.kind == "job" and not rest and attributes and attributes[0].name == "job_type":
        head += f"   job_type: {_spelt(statement, attributes[0])}"
        attributes = attributes[1:]
    lines.append(head)
    lines += [
        f"{'#' if each.soft else ''}{each.name}: {_spelt(statement, each)}".rstrip(" ") for each in attributes
    ]
    return "\n".join(lines) + "\n"


def _spelt(statement: Statement, attribute: Attribute) -> str:
    value = attribute.value
    if not value or _PLAIN.fullmatch(value):
        return value
    spellings = (value,) if attribute.name == "blob_input" else (escape_colons(value), quote(value))
    for spelling in spellings:
        if _reads_back(statement, attribute, spelling):
            return spelling
    raise UnwritableError(
        f"{statement.file}:{attribute.line}: {statement.name}.{attribute.name}: JIL cannot express {value!r}"
    )


def _reads_back(statement: Statement, attribute: Attribute, spelling: str) -> bool:
    draws_in = _DEPENDS.search(_CLOSED.sub("", spelling)) or spelling.endswith("\\")
    if draws_in and attribute.name != "blob_input":
        return False  # an open quote or comment, or a final backslash, would change the following text
    mark = "#" if attribute.soft else ""
    text = (
        f"{statement.action}_{statement.kind}: x\n{mark}{attribute.name}: {spelling}\n{attribute.name}: end\n"
    )
    read = scan(text, statement.file).statements
    return len(read) == 1 and [(each.name, each.value) for each in read[0].attributes] == [
        (attribute.name, attribute.value),
        (attribute.name, "end"),
    ]
