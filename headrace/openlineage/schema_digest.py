"""Condense the spec's JSON schemas to names, types and required properties, in one file, `shapes.json`.

Regenerate it from a checkout of the spec with `python -m headrace.openlineage.schema_digest OpenLineage/spec`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SHAPES = Path(__file__).with_name("shapes.json")
_WORDS = frozenset(["description", "title", "example", "examples", "$comment"])


def condensed(folder: Path) -> dict[str, Any]:
    """Return the schemas of a folder `spec` (OpenLineage.json and facets/*.json) by name, without annotations."""
    files = sorted([folder / "OpenLineage.json", *folder.glob("facets/*.json")], key=lambda file: file.stem)
    return {file.stem: _without_words(json.loads(file.read_text(encoding="utf-8"))) for file in files}


def _without_words(schema: Any, *, names: bool = False) -> Any:  # noqa: ANN401 - any JSON
    """Remove annotations. names: the keys are names of properties or definitions, none of them an annotation."""
    if isinstance(schema, list):
        return [_without_words(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_words(value, names=not names and key in ("properties", "$defs"))
        for key, value in schema.items()
        if names or key not in _WORDS
    }


if __name__ == "__main__":
    shapes = condensed(Path(sys.argv[1]))
    lines = [
        f"{json.dumps(name)}: {json.dumps(shape, separators=(',', ':'))}" for name, shape in shapes.items()
    ]
    SHAPES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
