"""Compare two versions by what the catalog knows of them: columns, rows, sizes, statistics, checks and inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_FIGURES = (("row_count", "Rows"), ("byte_size", "Bytes"), ("file_count", "Files"))


@dataclass(frozen=True, slots=True)
class Difference:
    """A line of the comparison; before, after: None where one version has no such thing."""

    name: str
    before: Any
    after: Any

    @property
    def is_change(self) -> bool:
        """Return True if the two versions differ here."""
        return bool(self.before != self.after)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two versions side by side. statistics: by column and measure."""

    figures: list[Difference]
    columns: list[Difference]
    statistics: list[Difference]
    checks: list[Difference]
    inputs: list[Difference]


def compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> Comparison:
    """Compare the details of two versions, as the API answers them."""
    old, new = before["version"], after["version"]
    return Comparison(
        figures=[Difference(label, old[name], new[name]) for name, label in _FIGURES],
        columns=_side_by_side(
            {each["name"]: _type(each) for each in old["columns"]},
            {each["name"]: _type(each) for each in new["columns"]},
        ),
        statistics=_side_by_side(_flat(before["statistics"]), _flat(after["statistics"])),
        checks=_side_by_side(
            {each["name"]: each["status"] for each in before["checks"]},
            {each["name"]: each["status"] for each in after["checks"]},
        ),
        inputs=_side_by_side(_inputs(before["inputs"]), _inputs(after["inputs"])),
    )


def _side_by_side(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Pair by name, in the order of the later version, then what only the earlier one has."""
    names = list(dict.fromkeys((*after, *before)))
    return [Difference(name, before.get(name), after.get(name)) for name in names]


def _type(column: Mapping[str, Any]) -> str:
    return f"{column['type']}{'' if column['nullable'] else ', required'}"


def _flat(statistics: Mapping[str, Any] | str) -> dict[str, Any]:
    """Return the statistics by `column: measure`; empty if they are masked."""
    if isinstance(statistics, str):
        return {}
    return {
        f"{column}: {measure}": value
        for column, measures in statistics.items()
        if isinstance(measures, Mapping)
        for measure, value in measures.items()
    }


def _inputs(inputs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the tags of each input dataset and partition."""
    return {
        each["dataset"] + (f" {each['partition']}" if each["partition"] else ""): each["tag"]
        for each in inputs
    }
