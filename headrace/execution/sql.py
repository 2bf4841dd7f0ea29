"""SQL as a tree: the tables that a query names, and binding those names to a run's views."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from sqlglot import ErrorLevel, Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError

from headrace.execution.problems import SqlError

_SPARK = Dialect.get_or_raise("spark")


@dataclass(frozen=True, slots=True)
class SourceText:
    """SQL and its place: its first line is line `first_line` of `file`, indented by `indent` columns."""

    text: str
    file: Path
    first_line: int = 1
    indent: int = 0

    def error(self, line: int, column: int, message: str, hint: str | None = None) -> SqlError:
        """Create an error at line and column (from 1) of the text, converted to file lines."""
        lines = self.text.splitlines() or [""]
        excerpt = lines[min(line, len(lines)) - 1]
        return SqlError(self.file, self.first_line + line - 1, column, message, excerpt, hint, self.indent)


@dataclass(frozen=True, slots=True)
class Reference:
    """A table name in a query's text: text[start:end].

    name: `airlines` or `flights/airlines`. alias: the alias to add if the query has none, at alias_at; alias_at is None
    if the query has one. line: in the file.
    """

    name: str
    start: int
    end: int
    alias: str
    alias_at: int | None
    line: int


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: the tables that it reads (without CTEs), and its parameters.

    qualifiers: columns qualified with the table's full name, as name and replacement of text[start:end]. parameters:
    each with the line of its first use. digest: equal for queries that differ only in layout and comments.
    """

    source: SourceText
    references: tuple[Reference, ...]
    qualifiers: tuple[Reference, ...]
    parameters: Mapping[str, int]
    digest: str

    @property
    def tables(self) -> dict[str, int]:
        """The tables that it reads, each with the file line of its first use."""
        found: dict[str, int] = {}
        for reference in self.references:
            found.setdefault(reference.name, reference.line)
        return found


def parse(source: SourceText) -> Query:
    """Parse `source` as one SELECT of Spark SQL. Raises SqlError with line, column and excerpt."""
    text = source.text
    try:
        tokens = _SPARK.tokenize(text)
        trees = _SPARK.parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, text)
    except TokenError as error:
        raise source.error(*_unclosed(text), "a quote or comment is not closed", "Close it.") from error
    except ParseError as error:
        raise _parse_error(source, error) from error
    queries = [tree for tree in trees if tree is not None]
    if len(queries) != 1 or not isinstance(queries[0], exp.Query):
        raise source.error(
            *_second_statement(tokens),
            "the SQL must be a single SELECT",
            "Its result is the dataset: do not create or insert anything.",
        )
    names = _Names(source, tokens)
    names.collect(queries[0], frozenset())
    return Query(
        source=source,
        references=tuple(sorted(names.references, key=lambda reference: reference.start)),
        qualifiers=tuple(names.qualifiers),
        parameters=names.parameters,
        digest=_digest(tokens),
    )


def spliced(query: Query, view_of: Callable[[str], str]) -> str:
    """Return the query's text with each table's name replaced by `view_of(name)`, and otherwise unchanged.

    A table without an alias gets its own name as alias, so that `airlines.carrier` keeps working.
    """
    edits: list[tuple[int, int, str]] = []
    for reference in query.references:
        edits.append((reference.start, reference.end, view_of(reference.name)))
        if reference.alias_at is not None:
            edits.append((reference.alias_at, reference.alias_at, f" AS {reference.alias}"))
    read = {reference.name for reference in query.references}
    edits += [(place.start, place.end, place.alias) for place in query.qualifiers if place.name in read]
    text, pieces, position = query.source.text, [], 0
    for start, end, replacement in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [text[position:start], replacement]
        position = end
    return "".join([*pieces, text[position:]])


@dataclass(slots=True)
class _Names:
    """Collects the names in a query's tree."""

    source: SourceText
    tokens: Sequence[Token]
    references: list[Reference] = field(default_factory=list)
    qualifiers: list[Reference] = field(default_factory=list)
    parameters: dict[str, int] = field(default_factory=dict)

    def collect(self, node: exp.Expr, hidden: frozenset[str]) -> None:
        """Collect below `node`; `hidden` contains the names of the CTEs in scope."""
        if isinstance(node, exp.Table):
            self._table(node, hidden)
        elif isinstance(node, exp.Column):
            self._column(node)
        elif isinstance(node, exp.Placeholder) and node.name:
            self.parameters.setdefault(node.name, self._line_of_parameter(node.name))
        with_ = node.args.get("with_")
        if with_ is not None:
            for cte in with_.expressions:
                own = frozenset({cte.alias.lower()})
                self.collect(cte.this, hidden | own if with_.args.get("recursive") else hidden)
                hidden |= own
        for name, value in node.args.items():
            if name == "with_":
                continue
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, exp.Expr):
                    self.collect(child, hidden)

    def _table(self, table: exp.Table, hidden: frozenset[str]) -> None:
        parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
        if not parts or (len(parts) == 1 and parts[0].name.lower() in hidden):
            return
        if table.args.get("version") is not None:
            raise self.source.error(
                parts[0].meta["line"],
                parts[0].meta["col"] - len(parts[0].name) + 1,
                "VERSION AS OF and TIMESTAMP AS OF are not supported",
                "Pin the input in the declaration instead, with `version` or `as_of`.",
            )
        reference = self._reference(parts)
        if not table.alias:
            reference = Reference(
                reference.name,
                reference.start,
                reference.end,
                reference.alias,
                self._alias_place(reference.end),
                reference.line,
            )
        self.references.append(reference)

    def _column(self, column: exp.Column) -> None:
        database, table = column.args.get("db"), column.args.get("table")
        if database is not None and table is not None and column.args.get("catalog") is None:
            self.qualifiers.append(self._reference([database, table]))

    def _reference(self, parts: Sequence[exp.Expr]) -> Reference:
        start, end = parts[0].meta["start"], parts[-1].meta["end"] + 1
        return Reference(
            name="/".join(part.name for part in parts),
            start=start,
            end=end,
            alias=self.source.text[parts[-1].meta["start"] : end],
            alias_at=None,
            line=self.source.first_line + parts[0].meta["line"] - 1,
        )

    def _alias_place(self, end: int) -> int:
        """Return where an alias can be inserted: after the name, and after TABLESAMPLE (...) if present."""
        behind = [token for token in self.tokens if token.start >= end]
        if not behind or behind[0].token_type is not TokenType.TABLE_SAMPLE:
            return end
        depth = 0
        for token in behind[1:]:
            depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
            if depth == 0 and token.token_type is TokenType.R_PAREN:
                return int(token.end) + 1
        return end

    def _line_of_parameter(self, name: str) -> int:
        for colon, after in pairwise(self.tokens):
            if colon.token_type is TokenType.COLON and after.text == name:
                return self.source.first_line + int(colon.line) - 1
        return self.source.first_line


def _parse_error(source: SourceText, error: ParseError) -> SqlError:
    first = error.errors[0]
    highlight = first["highlight"] or ""
    reason = str(first["description"])
    if "Token token_type" in reason:
        reason = re.sub(r" but got <Token .*", "", reason, flags=re.DOTALL)
    at = f" at {highlight!r}" if highlight else ""
    return source.error(
        int(first["line"] or 1),
        max(int(first["col"] or 1) - len(highlight) + 1, 1),
        f"cannot parse the SQL{at}: {reason[0].lower()}{reason[1:]}",
        "If Spark accepts this query, run it from a Python transform instead.",
    )


_CLOSED = re.compile(r"""--[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:``|[^`])*`""", re.DOTALL)


def _unclosed(text: str) -> tuple[int, int]:
    """Return line and column of the first unclosed quote or comment."""
    rest = _CLOSED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    match = re.search(r"['\"`]|/\*", rest)
    before = text[: match.start()] if match else text
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _second_statement(tokens: Sequence[Token]) -> tuple[int, int]:
    for semicolon, after in pairwise(tokens):
        if semicolon.token_type is TokenType.SEMICOLON:
            return int(after.line), max(int(after.col) - len(after.text) + 1, 1)
    return (int(tokens[0].line), 1) if tokens else (1, 1)


_SPELT = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER)


def _digest(tokens: Sequence[Token]) -> str:
    words = [
        f"{token.token_type.name} {token.text if token.token_type in _SPELT else token.text.upper()}"
        for token in tokens
    ]
    return hashlib.sha256("\0".join(words).encode()).hexdigest()
