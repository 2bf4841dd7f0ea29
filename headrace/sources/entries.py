"""YAML files that are lists: each entry is validated by itself, so that a bad one does not stop the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from headrace.execution.problems import DeclarationError
from headrace.sources.documents import NoDocument, documents
from headrace.sources.origin import Origin
from headrace.sources.validation import declaration_errors

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Entry(Generic[Model]):
    """A valid entry, and its place."""

    value: Model
    origin: Origin


@dataclass(frozen=True, slots=True)
class InvalidEntry:
    """An entry with errors. written: as in the file; None for a document that is not a list, or not YAML."""

    written: object
    problems: tuple[DeclarationError, ...]


def list_entries(
    file: Path, root: Path, model: type[Model], noun: str = "entry"
) -> Iterator[Entry[Model] | InvalidEntry]:
    """Yield the entries of a file in their order. noun: what each is, in a hint."""
    for document in documents(file):
        if isinstance(document, NoDocument):
            yield InvalidEntry(None, (document.problem,))
            continue
        origin = Origin(file, root, document.line_of, document.text_at)
        if not isinstance(document.value, list):
            hint = f"Write `- {next(iter(model.model_fields))}: ...` for each {noun}."
            yield InvalidEntry(None, (origin.error((), "not a list", hint),))
            continue
        for index, written in enumerate(document.value):
            part = origin.part(index)
            try:
                yield Entry(model.model_validate(written), part)
            except ValidationError as error:
                yield InvalidEntry(written, tuple(declaration_errors(error, model, written, part)))
