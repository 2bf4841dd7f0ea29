"""Column types: the declared notations, and Spark's own."""

from __future__ import annotations

import re
from functools import cache

_SIMPLE = {
    "bigint": "bigint",
    "binary": "binary",
    "boolean": "boolean",
    "byte": "tinyint",
    "date": "date",
    "decimal": "decimal(10,0)",
    "double": "double",
    "float": "float",
    "int": "int",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "short": "smallint",
    "smallint": "smallint",
    "string": "string",
    "timestamp": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "tinyint": "tinyint",
    "variant": "variant",
}
_TOKEN = re.compile(r"\s*([A-Za-z_]\w*|`[^`]+`|\d+|[<>(),:])")


@cache
def spark_type(text: str) -> str:
    """Convert `text` to Spark's simple string (`Decimal(10, 2)` is `decimal(10,2)`). Raises ValueError for an
    unknown type."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s", "", text):
        raise ValueError(f"{text!r} is not a Spark type")
    found, rest = _parsed(tokens, text)
    if rest:
        raise ValueError(f"{text!r} is not a Spark type: {rest[0]!r} is left over")
    return found


def _parsed(tokens: list[str], text: str) -> tuple[str, list[str]]:
    if not tokens:
        raise ValueError(f"{text!r} is not a Spark type: it ends too early")
    name, rest = tokens[0].lower(), tokens[1:]
    match name:
        case "array":
            element, rest = _parsed(_after("<", rest, text), text)
            return f"array<{element}>", _after(">", rest, text)
        case "map":
            key, rest = _parsed(_after("<", rest, text), text)
            value, rest = _parsed(_after(",", rest, text), text)
            return f"map<{key},{value}>", _after(">", rest, text)
        case "struct":
            return _struct(_after("<", rest, text), text)
        case "decimal" | "numeric" | "dec" if rest[:1] == ["("]:
            numbers, rest = _numbers(rest[1:], text)
            if not (1 <= len(numbers) <= 2 and int(numbers[0]) <= 38 and int(numbers[-1]) <= 38):
                raise ValueError(f"{text!r}: decimal has a precision up to 38 and a scale")
            return f"decimal({numbers[0]},{numbers[1] if len(numbers) == 2 else 0})", rest
        case "char" | "varchar":
            raise ValueError(
                f"{text!r} is a Spark type for tables only, and a string elsewhere: use `string`, with the check "
                "`str_length` for its length"
            )
    if name not in _SIMPLE:
        raise ValueError(
            f"{tokens[0]!r} is not a Spark type; known are {', '.join(sorted(_SIMPLE))}, array, map, struct"
        )
    return _SIMPLE[name], rest


def _struct(tokens: list[str], text: str) -> tuple[str, list[str]]:
    fields: list[str] = []
    while True:
        if not tokens:
            raise ValueError(f"{text!r} is not a Spark type: the struct is not closed")
        field, rest = _parsed(_after(":", tokens[1:], text), text)
        fields.append(f"{tokens[0]}:{field}")
        if rest[:1] == [","]:
            tokens = rest[1:]
            continue
        return f"struct<{','.join(fields)}>", _after(">", rest, text)


def _numbers(tokens: list[str], text: str) -> tuple[list[str], list[str]]:
    if ")" not in tokens:
        raise ValueError(f"{text!r} is not a Spark type: a parenthesis is not closed")
    end = tokens.index(")")
    numbers = tokens[:end:2]
    if not numbers or not all(number.isdigit() for number in numbers):
        raise ValueError(f"{text!r} is not a Spark type: numbers belong in its parentheses")
    return numbers, tokens[end + 1 :]


def _after(wanted: str, tokens: list[str], text: str) -> list[str]:
    if tokens[:1] != [wanted]:
        raise ValueError(f"{text!r} is not a Spark type: {wanted!r} is missing")
    return tokens[1:]
