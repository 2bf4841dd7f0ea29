"""Writes the typed client from the API's own document: python -m headrace.service.client_generator."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headrace.service.app import routed
from headrace.service.security import ORGANISATION

TARGET = Path(__file__).parents[1] / "client" / "calls.py"
_HEAD = '''"""Every call of the API, and what it answers. Written by `python -m headrace.service.client_generator`."""

# ruff: noqa: E501
# fmt: off

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, cast
from urllib.parse import quote

from headrace.client.transport import Transport
'''
_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_EVENTS = {"RunEvent", "DatasetEvent", "JobEvent"}


def source(document: Mapping[str, Any]) -> str:
    """The client's module for this OpenAPI document."""
    schemas: Mapping[str, Any] = document["components"]["schemas"]
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    needed = _needed(operations, schemas)
    types = "\n\n".join(_type(name, schemas[name]) for name in sorted(needed))
    calls = "\n".join(_call(*operation) for operation in operations)
    head = 'class Catalog(Transport):\n    """The catalog behind its API; each method is a call. Raises ApiError."""\n'
    return f"{_HEAD}\n\n{types}\n\n\n{head}\n{calls}"


def _needed(operations: list[tuple[str, str, dict[str, Any]]], schemas: Mapping[str, Any]) -> set[str]:
    """The schemas that calls take and give, and those within them."""
    waiting = [
        name
        for _, _, operation in operations
        for part in (_answer(operation), _body(operation), operation.get("parameters"))
        for name in _references(part)
    ]
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in needed and name not in _EVENTS:
            needed.add(name)
            waiting += _references(schemas[name])
    return needed


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def _type(name: str, schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return f"{_named(name)} = {_written(schema)}\n"
    lines = [f"class {_named(name)}(TypedDict):", f'    """{_said(schema, name)}"""', ""]
    required = set(schema.get("required", ()))
    for field, of in schema.get("properties", {}).items():
        written = _written(of)
        lines.append(f"    {field}: {written if field in required else f'NotRequired[{written}]'}")
    return "\n".join([*lines, ""])


def _said(schema: Mapping[str, Any], name: str) -> str:
    said = str(schema.get("description", f"{_named(name)}.")).strip().splitlines()[0]
    return said.replace("\\", "\\\\").replace('"', "'")


def _call(path: str, method: str, operation: Mapping[str, Any]) -> str:
    parameters = operation.get("parameters", [])
    placed = {
        where: [each for each in parameters if each["in"] == where and each["name"] != ORGANISATION]
        for where in ("path", "query", "header")
    }
    body = _body(operation)
    answer = _written(_answer(operation)) if _answer(operation) else "str"
    signature = ["self", *(f"{_python(each['name'])}: str" for each in placed["path"])]
    if body:
        signature.append(f"body: {_written(body)}")
    optional = [*placed["query"], *placed["header"]]
    if optional:
        signature.append("*")
    signature += [_argument(each) for each in sorted(optional, key=lambda each: not each.get("required"))]
    sent = [f'"{method.upper()}"', f'f"{_address(path)}"' if placed["path"] else f'"{path}"']
    for where, keyword_ in (("query", "query"), ("header", "headers")):
        if placed[where]:
            pairs = ", ".join(f'"{each["name"]}": {_python(each["name"])}' for each in placed[where])
            sent.append(f"{keyword_}={{{pairs}}}")
    if body:
        sent.append("body=body")
    said = str(operation.get("description") or operation["summary"]).strip().splitlines()[0]
    quoted = said.replace('"', "'")
    return "\n".join(
        [
            f"    def {_snake(operation['operationId'])}(",
            *(f"        {each}," for each in signature),
            f"    ) -> {answer}:",
            f'        """{operation["summary"].rstrip(".")}: {quoted}"""',
            f"        return cast({json.dumps(answer)}, self.call({', '.join(sent)}))",
            "",
        ]
    )


def _argument(parameter: Mapping[str, Any]) -> str:
    name, written = _python(parameter["name"]), _written(parameter["schema"])
    if parameter.get("required"):
        return f"{name}: {written}"
    return f"{name}: {written if written.endswith('None') else f'{written} | None'} = None"


def _address(path: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: f"{{quote({_python(found[1])}, safe='/')}}", path)


def _answer(operation: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    good = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
    return good.get("content", {}).get("application/json", {}).get("schema")


def _body(operation: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    return operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")


def _written(schema: Mapping[str, Any]) -> str:
    """The Python type of a JSON schema."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return "Mapping[str, Any]" if name in _EVENTS else _named(name)
    if "enum" in schema or "const" in schema:
        values = schema.get("enum") or [schema["const"]]
        return f"Literal[{', '.join(json.dumps(value) for value in values)}]"
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return " | ".join(dict.fromkeys(map(_written, schema[choice])))
    kind = schema.get("type")
    if kind == "array":
        return f"Sequence[{_written(schema['items']) if 'items' in schema else 'Any'}]"
    if kind == "object":
        values_ = schema.get("additionalProperties")
        return f"Mapping[str, {_written(values_) if isinstance(values_, dict) and values_ else 'Any'}]"
    return _PLAIN.get(str(kind), "Any")


def _named(name: str) -> str:
    """A schema's name as a class's: `Page_RunRow_` is `PageOfRunRow`."""
    return re.sub(r"^Page_(\w+?)_$", r"PageOf\1", name)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _python(name: str) -> str:
    plain = re.sub(r"\W", "_", name).lower()
    return f"{plain}_" if keyword.iskeyword(plain) else plain


if __name__ == "__main__":
    TARGET.write_text(source(routed().openapi()), encoding="utf-8")
