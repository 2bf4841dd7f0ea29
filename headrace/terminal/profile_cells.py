"""Profiles of columns in the terminal: one row for each column, and the note of what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer

from headrace.access.sensitivity import MASK
from headrace.nouns import counted
from headrace.terminal.output import facts, row_count_text, table

if TYPE_CHECKING:
    from rich.table import Table
    from sqlalchemy import Engine

    from headrace.queries.profiles import Profile

_MAX_ITEMS = 3
_MAX_TEXT = 24


def first_and_last(partitions: str | None) -> tuple[str | None, str | None]:
    """Return the keys of `FIRST...LAST`; a single key is both."""
    if partitions is None:
        return None, None
    first, dots, last = partitions.partition("...")
    if not first or (dots and not last):
        raise typer.BadParameter(f"{partitions!r} is not FIRST...LAST, as in 2013-01-01...2013-01-31")
    return first, last if dots else first


def without_values(engine: Engine, profile: Profile) -> Profile:
    """Return the profile as those see it who may not read sensitive columns."""
    from headrace.access.callers import Caller, CallerKind
    from headrace.catalog.masking import visible
    from headrace.context import current_context

    here = current_context()
    reader = Caller("local", CallerKind.LOCAL, here.organisation_id, here.organisation, ())
    return visible(engine, reader, profile, profile.dataset)


def profile_parts(profile: Profile) -> Iterator[Table]:
    """Yield the facts of a profile, and the table of its columns."""
    [first, *others] = profile.versions
    of = f"{first.tag}{f', partition {first.partition}' if first.partition else ''}"
    columns = {
        name: {measure: value for measure, value in each.items() if value != MASK}
        for name, each in profile.columns.items()
    }
    sampled = [each["sampled_rows"] for each in columns.values() if "sampled_rows" in each]
    yield facts(
        [
            ("dataset", profile.dataset),
            ("versions", f"{first.partition} to {others[-1].partition}" if others else of),
            ("rows", row_count_text(profile.row_count)),
            ("sample", f"of {counted(max(sampled), 'row')}" if sampled else None),
            ("no sketches of", ", ".join(profile.partial) if profile.partial else None),
        ]
    )
    header = [
        "column",
        "#nulls",
        "#distinct",
        "min",
        "median",
        "max",
        "#mean",
        "length",
        "frequent",
        "patterns",
    ]
    yield table(header, [_cells(name, each) for name, each in columns.items()])


def _cells(name: str, measured: Mapping[str, Any]) -> tuple[object, ...]:
    length = measured.get("length")
    return (
        name,
        measured.get("null_count"),
        measured.get("distinct_count"),
        _text(measured.get("min")),
        _text(measured.get("quantiles", {}).get("p50")),
        _text(measured.get("max")),
        _text(measured.get("mean")),
        f"{length['min']} to {length['max']}" if length else None,
        _ranked(measured.get("top_values")),
        _ranked(measured.get("patterns")),
    )


def _ranked(items: list[list[Any]] | None) -> str | None:
    if not items:
        return None
    return ", ".join(f"{_text(text) or repr(text)} ({count:,})" for text, count in items[:_MAX_ITEMS])


def _text(value: object) -> str | None:
    if value is None:
        return None
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
