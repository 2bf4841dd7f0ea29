"""Convert pydantic validation errors to errors with file, line and field."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from headrace.execution.problems import DeclarationError
from headrace.sources.origin import FieldPath, Origin


def declaration_errors(
    error: ValidationError, model: type[BaseModel], written: object, origin: Origin
) -> list[DeclarationError]:
    """Return one error per invalid field. written: the attributes as declared."""
    by_field: dict[tuple[str | int, ...], list[Mapping[str, Any]]] = {}
    for complaint in error.errors(include_url=False):
        by_field.setdefault(_field(complaint, written), []).append(complaint)
    # For a value of several possible types, pydantic reports one error for each; the deepest is the intended one.
    fields = [field for field in by_field if not any(_is_within(other, field) for other in by_field)]
    return [_declaration_error(field, by_field[field], model, origin) for field in fields]


def _field(complaint: Mapping[str, Any], written: object) -> tuple[str | int, ...]:
    """Return the path of the field in the YAML: pydantic's, without the names of the types that it tried."""
    path: list[str | int] = []
    value = written
    for part in complaint["loc"]:
        if (isinstance(value, Mapping) and part in value) or (
            isinstance(value, Sequence) and not isinstance(value, str) and isinstance(part, int)
        ):
            value = value[part]
        elif part != complaint["loc"][-1] or complaint["type"] != "missing":
            continue
        path.append(part)
    return tuple(path)


def _is_within(inner: FieldPath, outer: FieldPath) -> bool:
    return len(inner) > len(outer) and tuple(inner[: len(outer)]) == tuple(outer)


def _declaration_error(
    field: tuple[str | int, ...],
    complaints: Sequence[Mapping[str, Any]],
    model: type[BaseModel],
    origin: Origin,
) -> DeclarationError:
    first = complaints[0]
    hint: str | None = None
    match first["type"]:
        case "extra_forbidden":
            known = sorted(_fields_at(model, field[:-1]))
            close = difflib.get_close_matches(str(field[-1]), known, 1)
            message = f"unknown field {str(field[-1])!r}"
            hint = f"Did you mean {close[0]!r}?" if close else f"Known fields: {', '.join(known)}."
        case "missing":
            message, hint = "required field is missing", "Add it; it has no default."
        case "value_error":
            message = str(first["ctx"]["error"])
        case "union_tag_invalid" | "union_tag_not_found":
            message, hint = (
                f"{first['ctx'].get('tag', 'nothing')!r} is not a valid type",
                f"Use one of {first['ctx']['expected_tags']}."
                if "expected_tags" in first["ctx"]
                else "Add `type`.",
            )
        case "string_pattern_mismatch":
            message = f"{first['input']!r} has the wrong form"
            hint = _pattern_hint(str(first["ctx"]["pattern"]))
        case _:
            texts = dict.fromkeys(str(complaint["msg"]) for complaint in complaints)
            message = f"{first['input']!r} is not valid: {'; or '.join(text[0].lower() + text[1:] for text in texts)}"
    return origin.error(field, message, hint)


def _pattern_hint(pattern: str) -> str:
    if ":/" in pattern:
        return "Write a URI, such as file:///data/warehouse or s3a://bucket/warehouse."
    if '"' in pattern:  # connections.dialects.NAME
        form = "schema.table" if r"\." in pattern else "a column"
        return f"Write {form} as the database's SQL has it, odd names in double quotes."
    if pattern.count("/") == 1 and "A-Za-z_" in pattern:
        return "Write domain/name, with letters, digits and underscores only."
    return (
        "Use letters, digits and underscores, beginning with a letter."
        if "A-Za-z_" in pattern
        else f"It must match {pattern}."
    )


def _fields_at(model: type[BaseModel], path: FieldPath) -> set[str]:
    """Return the fields of the model, or of the part of it at `path`."""
    models = [model]
    for part in path:
        infos = [
            info
            for one in models
            for name, info in one.model_fields.items()
            if part in (name, info.alias) or isinstance(part, int)
        ]
        found = [inner for info in infos for inner in _models_in(info.annotation)]
        # A key of a mapping, or an index of a list, is not a field: its contents were found one step above.
        models = found if infos and not isinstance(part, int) else models
    return {info.alias or name for one in models for name, info in one.model_fields.items()}


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    for argument in get_args(annotation):
        yield from _models_in(argument)
