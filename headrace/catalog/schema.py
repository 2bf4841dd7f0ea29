"""Compare schemas: the compatibility of a change. Pure."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.access.sensitivity import Public
from headrace.catalog.records import Column

SENSITIVE = frozenset({"pii", "sensitive"})
GDPR_CLASSES = frozenset({"personal", "special_category"})  # of a tag `gdpr=CLASS`
_WIDENS = {
    "tinyint": ("smallint", "int", "bigint"),
    "smallint": ("int", "bigint"),
    "int": ("bigint", "double"),
    "float": ("double",),
}
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_NESTED = ("struct<", "array<", "map<")


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """Differences, one readable line each.

    breaking: a reader of the old schema may fail or be wrong. compatible: it keeps working.
    """

    compatible: Public[tuple[str, ...]] = ()
    breaking: Public[tuple[str, ...]] = ()


def schema_hash(columns: Sequence[Column]) -> str:
    """Return the SHA-256 (hex) of names, types and nullability in order; descriptions and tags do not affect it."""
    physical = [(column.name, column.type, column.nullable) for column in columns]
    return hashlib.sha256(json.dumps(physical, ensure_ascii=False).encode()).hexdigest()


def sensitive(columns: Iterable[Column]) -> frozenset[str]:
    """Return the columns whose values are hidden by default, by their tags."""
    return frozenset(column.name for column in columns if any(map(is_sensitive_tag, column.tags)))


def is_sensitive_tag(tag: str) -> bool:
    """Return True for `pii`, `sensitive`, `gdpr=CLASS` and `subject=KIND`, in any case.

    catalog.is_sensitive_tag is the same in SQL.
    """
    name, _, value = tag.lower().partition("=")
    return name in SENSITIVE if not value else name in ("gdpr", "subject")


def known_classes(tags: list[str]) -> list[str]:
    """Return the tags of a column. Raises ValueError for an unknown class of the GDPR or a malformed kind of person."""
    for tag in tags:
        name, _, value = tag.partition("=")
        if name.lower() == "gdpr" and value.lower() not in GDPR_CLASSES:
            raise ValueError(
                f"{tag!r} is not a class of the GDPR: use gdpr={' or gdpr='.join(sorted(GDPR_CLASSES))}"
            )
        if name.lower() == "subject" and not re.fullmatch(r"[a-z][a-z0-9_]*", value):
            raise ValueError(f"{tag!r} needs a kind of person in lower case, such as subject=customer")
    return tags


def classify(old: Sequence[Column], new: Sequence[Column]) -> SchemaChange:
    """Return every difference from `old` to `new`; none if and only if their hashes are equal."""
    before = {column.name: column for column in old}
    after = {column.name: column for column in new}
    compatible: list[str] = []
    breaking: list[str] = []
    for name, column in before.items():
        if name not in after:
            breaking.append(f"column {name} ({column.type}) was removed")
            continue
        changed = after[name]
        if column.type != changed.type:
            widened = widens(column.type, changed.type)
            line = f"column {name}: type {column.type} became {changed.type}"
            (compatible if widened else breaking).append(line)
        if column.nullable and not changed.nullable:
            compatible.append(f"column {name} can no longer be null")
        elif changed.nullable and not column.nullable:
            breaking.append(f"column {name} may now be null")
    for name, column in after.items():
        if name not in before:
            compatible.append(f"column {name} ({column.type}) was added")
    kept = [name for name in after if name in before]
    if kept != [name for name in before if name in after]:
        compatible.append(f"the order of columns changed: {', '.join(kept)}")
    elif list(after)[: len(kept)] != kept:
        compatible.append(f"columns were added before others; the order is now {', '.join(after)}")
    return SchemaChange(tuple(compatible), tuple(breaking))


def decimal_widens(old: str, new: str) -> bool:
    """Return True if both are decimals, and `new` has at least the digits of `old` before and after the point."""
    if not (old.startswith("decimal(") and new.startswith("decimal(")):
        return False
    (precision, scale), (old_precision, old_scale) = _numbers(new), _numbers(old)
    return scale >= old_scale and precision - scale >= old_precision - old_scale


def widens(old: str, new: str) -> bool:
    """Return True if every value of type `old` is a value of `new`, in a form that a reader of `old` accepts.

    Decides both which schema changes are compatible and which versions are read together.
    """
    if new in _WIDENS.get(old, ()):
        return True
    if old.startswith(("char(", "varchar(")):
        return new == "string" or (new.startswith("varchar(") and _numbers(new)[0] >= _numbers(old)[0])
    if new.startswith("decimal(") and old in _DIGITS:
        precision, scale = _numbers(new)
        return precision - scale >= _DIGITS[old]
    if decimal_widens(old, new):
        return True
    if old.startswith(_NESTED) and new.startswith(_NESTED):
        return _nested_widens(old, new)
    return False


def _numbers(type_: str) -> list[int]:
    return [int(part) for part in type_[type_.index("(") + 1 : type_.rindex(")")].split(",")]


def _nested_widens(old: str, new: str) -> bool:
    """Return True if the nested type is widened: structs may gain fields; fields, elements, keys and values may
    widen."""
    kind, _, _ = old.partition("<")
    if not new.startswith(f"{kind}<"):
        return False
    parts, new_parts = nested_parts(old), nested_parts(new)
    if kind != "struct":
        return len(parts) == len(new_parts) and all(map(_same_or_wider, parts, new_parts))
    fields, new_fields = struct_fields(old), struct_fields(new)
    return all(
        name in new_fields and _same_or_wider(type_, new_fields[name]) for name, type_ in fields.items()
    )


def _same_or_wider(old: str, new: str) -> bool:
    return old == new or widens(old, new)


def struct_fields(struct: str) -> dict[str, str]:
    """Return the types of a struct's fields by name."""
    return dict(part.split(":", 1) for part in nested_parts(struct))


def nested_parts(nested: str) -> list[str]:
    """Split the text between the outermost < and > at its own commas; Spark does not quote names there."""
    parts, depth = [""], 0
    for character in nested[nested.index("<") + 1 : -1]:
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part]
