"""Column lineage as a self-contained HTML page: a drawing and the same data as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from headrace.catalog.column_lineage import WHOLE
from headrace.queries.names import ColumnEdge

_ROW, _WIDTH, _GAP, _SPACE = (
    22,
    250,
    120,
    26,
)  # pixels: height of a row, width of a box, horizontal and vertical gaps
_LETTERS = 30  # characters of a column's name that fit in a box
_TEMPLATE = Path(__file__).with_name("lineage_page.html")
_Column = tuple[str, str]


def page(title: str, asked: _Column, edges: Sequence[ColumnEdge]) -> str:
    """Render the page as HTML. asked: the highlighted dataset and column ('' for all)."""
    places, boxes, height, width = _layout(edges, asked)
    ids = {column: number for number, column in enumerate(places)}
    drawn = "".join(_line(edge, places, ids) for edge in edges)
    shown = "".join(_box(key, box, places, ids, asked) for key, box in boxes.items())
    links = [[ids[_source(edge)], ids[_target(edge)]] for edge in edges]
    return (
        _TEMPLATE.read_text(encoding="utf-8")
        .replace("{{title}}", escape(title))
        .replace("{{summary}}", escape(_summary(edges)))
        .replace("{{size}}", f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"')
        .replace("{{lines}}", drawn)
        .replace("{{boxes}}", shown)
        .replace("{{rows}}", "".join(map(_table_row, edges)))
        .replace("{{links}}", json.dumps(links))
    )


def _source(edge: ColumnEdge) -> _Column:
    return edge.source_key, edge.source_field


def _target(edge: ColumnEdge) -> _Column:
    return edge.target_key, edge.target_field


def _layout(
    edges: Sequence[ColumnEdge], asked: _Column
) -> tuple[dict[_Column, tuple[int, int]], dict[str, tuple[int, int, int]], int, int]:
    """Compute the position of each column's row and each dataset's box; derived datasets are further right."""
    columns: dict[str, dict[str, None]] = {asked[0]: {asked[1]: None}}
    for edge in edges:
        for key, name in (_source(edge), _target(edge)):
            columns.setdefault(key, {})[name] = None
    levels = _levels(columns, edges)
    below: dict[int, int] = {}
    places: dict[_Column, tuple[int, int]] = {}
    boxes: dict[str, tuple[int, int, int]] = {}
    for key in sorted(columns, key=lambda each: (levels[each], each)):
        left, top = 20 + levels[key] * (_WIDTH + _GAP), below.get(levels[key], 20)
        names = sorted(columns[key])
        boxes[key] = (left, top, _ROW * (len(names) + 1) + 8)
        for number, name in enumerate(names):
            places[key, name] = (left, top + _ROW * (number + 1) + _ROW // 2 + 4)
        below[levels[key]] = top + boxes[key][2] + _SPACE
    return places, boxes, max(below.values()), 40 + max(levels.values()) * (_WIDTH + _GAP) + _WIDTH


def _levels(columns: Mapping[str, object], edges: Sequence[ColumnEdge]) -> dict[str, int]:
    """Return the level of each dataset: one more than the highest of its sources, ignoring cycles."""
    levels = dict.fromkeys(columns, 0)
    steps = {(edge.source_key, edge.target_key) for edge in edges if edge.source_key != edge.target_key}
    for _ in columns:
        moved = False
        for source, target in steps:
            if levels[target] <= levels[source] < len(columns) - 1:
                levels[target] = levels[source] + 1
                moved = True
        if not moved:
            break
    used = {level: place for place, level in enumerate(sorted(set(levels.values())))}
    return {key: used[level] for key, level in levels.items()}


def _box(
    key: str,
    box: tuple[int, int, int],
    places: Mapping[_Column, tuple[int, int]],
    ids: Mapping[_Column, int],
    asked: _Column,
) -> str:
    left, top, height = box
    rows = "".join(
        f'<g class="column{" asked" if (key, name) == asked else ""}" data-id="{ids[key, name]}" tabindex="0">'
        f"<title>{escape(key)}.{escape(_words(name))}</title>"
        f'<rect x="{left + 1}" y="{y - _ROW // 2}" width="{_WIDTH - 2}" height="{_ROW}"/>'
        f'<text x="{left + 12}" y="{y + 4}">{escape(_short(_words(name)))}</text></g>'
        for (of, name), (_, y) in places.items()
        if of == key
    )
    return (
        f'<g class="dataset"><rect class="frame" x="{left}" y="{top}" width="{_WIDTH}" height="{height}" rx="6"/>'
        f'<text class="name" x="{left + 12}" y="{top + 17}"><title>{escape(key)}</title>{escape(_short(key))}</text>'
        f"{rows}</g>"
    )


def _line(edge: ColumnEdge, places: Mapping[_Column, tuple[int, int]], ids: Mapping[_Column, int]) -> str:
    (left, y), (right, other) = places[_source(edge)], places[_target(edge)]
    start, end = left + _WIDTH, right
    bend = max(40, abs(end - start) // 2)
    path = f"M{start},{y} C{start + bend},{y} {end - bend},{other} {end},{other}"
    label = " ".join(filter(None, (_how(edge), edge.description)))
    return (
        f'<path class="{_kind(edge)}" data-from="{ids[_source(edge)]}" data-to="{ids[_target(edge)]}" d="{path}">'
        f"<title>{escape(label)}</title></path>"
    )


def _kind(edge: ColumnEdge) -> str:
    if edge.unknown is not None:
        return "unknown"
    return "indirect" if edge.type == "INDIRECT" else "direct"


def _how(edge: ColumnEdge) -> str:
    what = (
        "not known"
        if edge.unknown is not None
        else (edge.subtype or edge.type or "reported").lower().replace("_", " ")
    )
    return f"{what}, masked" if edge.masking else what


def _table_row(edge: ColumnEdge) -> str:
    cells = (
        f"{edge.target_key}.{_words(edge.target_field)}",
        f"{edge.source_key}.{_words(edge.source_field)}",
        _kind(edge),
        _how(edge),
        edge.description,
        f"{edge.confidence:.0%}, {edge.origin.lower()}",
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _words(name: str) -> str:
    return "(all of it)" if name == WHOLE else name


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def _summary(edges: Sequence[ColumnEdge]) -> str:
    datasets = {edge.source_key for edge in edges} | {edge.target_key for edge in edges}
    count = {kind: sum(_kind(edge) == kind for edge in edges) for kind in ("direct", "indirect", "unknown")}
    return (
        f"{len(datasets):,} datasets; {count['direct']:,} direct steps, {count['indirect']:,} indirect ones, "
        f"{count['unknown']:,} that are not known"
    )
