"""Read YAML document by document with field lines, so that one bad document does not affect the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from headrace.dagster_internals.components import (
    YAML_TIMESTAMP_TAG,
    LineCol,
    SourcePosition,
    SourcePositionTree,
    YamlResolver,
)
from headrace.execution.problems import DeclarationError
from headrace.sources.origin import FieldPath

_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_BASE, YamlResolver):  # type: ignore[misc]
    """Dagster's YAML loader (dates stay text), with libyaml if available: ten times as fast."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:  # noqa: ANN401
        """Return the tag of a node, cached by word: ruling out that a word is a number takes ten patterns."""
        if kind is not yaml.ScalarNode or len(value) > _SHORT:
            return str(super().resolve(kind, value, implicit))
        if (value, implicit) not in _TAGS:
            _TAGS[value, implicit] = str(super().resolve(kind, value, implicit))
        return _TAGS[value, implicit]


_SHORT = 24
_TAGS: dict[tuple[str, tuple[bool, bool]], str] = {}
_Loader.remove_implicit_resolver(YAML_TIMESTAMP_TAG)  # type: ignore[no-untyped-call]
_SEPARATOR = re.compile(r"^---(?=\s|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: its value, and its nodes with their positions.

    lines_before: number of lines in the file before the document.
    """

    file: Path
    text: str
    lines_before: int
    value: Any
    node: yaml.Node

    def line_of(self, field: FieldPath) -> int:
        """Return the line of the field at `field`, or of the closest one around it (counted from 1, in the file)."""
        key, _ = self._closest(field)
        return int(key.start_mark.line) + 1 + self.lines_before

    def text_at(self, field: FieldPath) -> tuple[int, int]:
        """Return line and indentation of the first line of a text."""
        _, node = self._closest(field)
        line, column = int(node.start_mark.line), int(node.start_mark.column)
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            body = self.text.split("\n")[line + 1 :]
            first = next((text for text in body if text.strip()), "")
            return line + 2 + self.lines_before, len(first) - len(first.lstrip())
        return line + 1 + self.lines_before, column + (getattr(node, "style", None) in ("'", '"'))

    def tree(self) -> SourcePositionTree:
        """Return the positions in Dagster's types."""
        return self._tree(self.node, self.node)

    def _closest(self, field: FieldPath) -> tuple[yaml.Node, yaml.Node]:
        key = node = self.node
        for part in field:
            found = _child(node, part)
            if found is None:
                break
            key, node = found
        return key, node

    def _tree(self, key: yaml.Node, node: yaml.Node) -> SourcePositionTree:
        def mark(place: Any) -> LineCol:  # noqa: ANN401
            return LineCol(place.line + 1 + self.lines_before, place.column + 1)

        children: dict[str | int, SourcePositionTree] = {}
        if isinstance(node, yaml.MappingNode):
            children = {name.value: self._tree(name, value) for name, value in node.value}
        elif isinstance(node, yaml.SequenceNode):
            children = {index: self._tree(value, value) for index, value in enumerate(node.value)}
        return SourcePositionTree(
            SourcePosition(str(self.file), mark(key.start_mark), mark(key.end_mark)), children
        )


@dataclass(frozen=True, slots=True)
class NoDocument:
    """A text that is not valid YAML, and the problem."""

    text: str
    problem: DeclarationError


def documents(file: Path) -> Iterator[Document | NoDocument]:
    """Yield the documents of a YAML file in order."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        readable = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        problem = f"the file cannot be read: {error}"
        yield NoDocument(readable, DeclarationError(file, 1, None, problem, "Save it as UTF-8 text."))
        return
    starts = [0, *(match.start() for match in _SEPARATOR.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        # A line that begins with --- ends a document anywhere, even inside quotes and blocks.
        part = text[start:end]
        lines_before = text.count("\n", 0, start)
        try:
            found = _document(file, part, lines_before)
        except yaml.MarkedYAMLError as error:
            yield NoDocument(part, _syntax_error(file, error, lines_before))
        except yaml.reader.ReaderError as error:  # a control character
            line = lines_before + part.count("\n", 0, error.position) + 1
            problem = f"invalid YAML: {error.reason}"
            yield NoDocument(part, DeclarationError(file, line, None, problem, "Remove it."))
        except DeclarationError as error:
            yield NoDocument(part, error)
        except RecursionError:
            problem = "invalid YAML: nested too deeply, or an alias is part of what it stands for"
            hint = "Write the values out, without the alias."
            yield NoDocument(part, DeclarationError(file, lines_before + 1, None, problem, hint))
        else:
            if found is not None:
                yield found


def value_of(text: str) -> Any:  # noqa: ANN401
    """Parse YAML, with dates as written. Raises yaml.YAMLError."""
    loader = _Loader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _document(file: Path, text: str, lines_before: int) -> Document | None:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _no_key_twice(file, node, lines_before, ())
        return Document(file, text, lines_before, loader.construct_document(node), node)
    finally:
        loader.dispose()


def _child(node: yaml.Node, part: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == str(part)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part]
    return None


def _no_key_twice(file: Path, node: yaml.Node, lines_before: int, path: tuple[str, ...]) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1 + lines_before
            inner = (*path, str(key.value))
            if key.value in seen and key.value != "<<":
                raise DeclarationError(
                    file,
                    line,
                    ".".join(inner).removeprefix("attributes."),
                    f"{key.value!r} is repeated, after line {seen[key.value]}",
                    "Remove one of the two.",
                )
            seen[key.value] = line
            _no_key_twice(file, value, lines_before, inner)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _no_key_twice(file, value, lines_before, (*path, str(index)))


def _syntax_error(file: Path, error: yaml.MarkedYAMLError, lines_before: int) -> DeclarationError:
    mark = error.problem_mark or error.context_mark
    line = (mark.line if mark else 0) + 1 + lines_before
    what = " ".join(part for part in (error.context, error.problem) if part)
    return DeclarationError(
        file,
        line,
        None,
        f"invalid YAML: {what}",
        "Check indentation, quotes and colons on this line and above.",
    )
