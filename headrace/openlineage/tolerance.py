"""Accept what producers send beside the spec: times without a zone, run ids that are not UUIDs, facets that are null.

Refusing such an event would lose the run's state, and other consumers accept them. What is changed is reported as a
warning, and the changed event is what is stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID, uuid5

_RUN_IDS: Final = UUID("6f1f7c1e-6d0a-5f0e-9b8d-3c2a4f5e6d7c")  # namespace of the UUIDs of other run ids
_ZONE = re.compile(r"(?:[zZ]|[+-]\d{2}:?\d{2})$")
_LOCAL = re.compile(r"^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?$")


def tolerated(body: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the event as the spec has it where it is known what was meant, and a warning for each change."""
    warnings: list[str] = []
    event = dict(body)
    for name in ("inputs", "outputs"):
        if name in event and event[name] is None:
            event[name] = []
            warnings.append(f"{name} is null: read as an empty list")
        if isinstance(event.get(name), list):
            event[name] = [
                _entity(each, f"{name}[{index}]", warnings) for index, each in enumerate(event[name])
            ]
    for name in ("run", "job", "dataset"):
        if name in event:
            event[name] = _entity(event[name], name, warnings)
    if isinstance(event.get("eventTime"), str):
        event["eventTime"] = _time(event["eventTime"], "eventTime", warnings)
    if isinstance(event.get("run"), dict):
        event["run"] = _run(event["run"], "run", warnings)
        facets = event["run"].get("facets")
        if isinstance(facets, dict):
            changed = {name: _run_facet(name, content, warnings) for name, content in facets.items()}
            event["run"] = {**event["run"], "facets": changed}
    return event, tuple(warnings)


def _entity(entity: Any, path: str, warnings: list[str]) -> Any:  # noqa: ANN401 - JSON
    """Drop the facets that are null."""
    if not isinstance(entity, dict):
        return entity
    for place in ("facets", "inputFacets", "outputFacets"):
        facets = entity.get(place)
        if isinstance(facets, dict) and None in facets.values():
            warnings += [
                f"{path}.{place}.{name} is null: ignored" for name, each in facets.items() if each is None
            ]
            entity = {**entity, place: {name: each for name, each in facets.items() if each is not None}}
    return entity


def _run(run: dict[str, Any], path: str, warnings: list[str]) -> dict[str, Any]:
    """Map a run id that is not a UUID to a stable one."""
    given = run.get("runId")
    if not isinstance(given, str) or not given or _is_uuid(given):
        return run
    mapped = str(uuid5(_RUN_IDS, given))
    warnings.append(f"{path}.runId {given!r} is not a UUID: stored as {mapped}")
    return {**run, "runId": mapped}


def _run_facet(name: str, content: Any, warnings: list[str]) -> Any:  # noqa: ANN401 - JSON
    if not isinstance(content, dict):
        return content
    if name == "nominalTime":
        return {
            field: _time(each, f"run.facets.nominalTime.{field}", warnings)
            if field in ("nominalStartTime", "nominalEndTime") and isinstance(each, str)
            else each
            for field, each in content.items()
        }
    if name == "parent" and isinstance(content.get("run"), dict):
        return {**content, "run": _run(content["run"], "run.facets.parent.run", warnings)}
    return content


def _time(text: str, path: str, warnings: list[str]) -> str:
    if _ZONE.search(text) or not _LOCAL.match(text):
        return text
    warnings.append(f"{path} {text} has no time zone: read as UTC")
    return f"{text}Z"


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return len(text) == 36
