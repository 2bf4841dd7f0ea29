"""Asset specs for an external process, a box with its members, or a confirmed dataset."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

from headrace.catalog.records import Technology
from headrace.dagster_internals import is_valid_owner
from headrace.estate_assets.graph import Drawing, Unit
from headrace.estate_assets.keys import unit_key
from headrace.estates.rows import ConfirmedDataset, EstateProcess

_KINDS = {
    Technology.AUTOSYS: "autosys",
    Technology.DB2_SP: "db2",
    Technology.RUNMGR: "runmgr",
    Technology.SHELL: "shell",
}
_METADATA_FIELDS = (
    "type",
    "box",
    "machine",
    "command",
    "schedule",
    "condition",
    "watch_file",
    "database",
    "application",
)
_NO_WORD = re.compile(r"\W+", re.ASCII)
_NO_TAG = re.compile(r"[^\w.-]+", re.ASCII)
_MAX_TAG_LENGTH = 63


def unit_spec(
    unit: Unit, members: Sequence[EstateProcess], drawing: Drawing, top: EstateProcess | None
) -> dg.AssetSpec:
    """Build the asset of a process, or of a collapsed group of processes, of which the first one names it.

    top: the outermost box around it.
    """
    first = members[0]
    alone = len(members) == 1
    named = first if unit_key(first.ident) == unit else None
    metadata = dict(_metadata(named)) if named else {}
    if not alone:
        names = sorted(one.ident.name for one in members)
        metadata |= {"job_count": len(names), "jobs": dg.MetadataValue.json(names)}
    elsewhere = dict.fromkeys(
        condition
        for one in members
        for upstream, condition, _ in one.waits_for
        if upstream not in drawing.top_box
    )
    if elsewhere:
        metadata["waits_for_unknown"] = ", ".join(elsewhere)
    if unit in drawing.left_out:
        left_out = ", ".join("/".join(each) for each in drawing.left_out[unit])
        metadata["not_drawn"] = f"{left_out}: it comes before as well as after"
    return dg.AssetSpec(
        key=dg.AssetKey(unit),
        deps=[dg.AssetKey(each) for each in drawing.waits_for.get(unit, ())],
        description=_description(named, members),
        metadata=metadata,
        owners=_owners(members),
        tags=_tags(first if named else None, first),
        kinds={_KINDS.get(Technology(first.ident.technology), "external")},
        group_name=_group(first, top),
    )


def dataset_spec(dataset: ConfirmedDataset, producers: Sequence[Unit]) -> dg.AssetSpec:
    """Build the asset of a confirmed but undeclared dataset."""
    return dg.AssetSpec(
        key=dg.AssetKey(dataset.key.split("/")),
        deps=[dg.AssetKey(each) for each in producers],
        description=dataset.description,
        metadata={"location": ", ".join(dataset.patterns), "external": True},
        owners=[owner for owner in dataset.owners if is_valid_owner(owner)],
        kinds={_NO_TAG.sub("_", dataset.format)},
        group_name=_NO_WORD.sub("_", dataset.key.split("/")[0]),
    )


def _description(named: EstateProcess | None, members: Sequence[EstateProcess]) -> str | None:
    if named is None:
        return f"{len(members)} jobs that are in no box."
    if named.lifecycle == "UNSCANNED":
        return "Known from run events, not from a scan."
    several = f"{len(members)} jobs, the box among them." if len(members) > 1 else None
    return "\n\n".join(text for text in (named.description, several) if text) or None


def _metadata(one: EstateProcess) -> Iterator[tuple[str, Any]]:
    yield "process", one.key
    for name in _METADATA_FIELDS:
        if one.metadata.get(name):
            yield name, str(one.metadata[name])
    if one.owners:
        yield "owner", ", ".join(one.owners)
    if one.place:
        yield "declared_at", one.place


def _owners(members: Sequence[EstateProcess]) -> list[str]:
    """Return the owners that Dagster accepts: e-mail addresses and teams."""
    return [
        owner
        for owner in dict.fromkeys(owner for one in members for owner in one.owners)
        if is_valid_owner(owner)
    ]


def _tags(named: EstateProcess | None, first: EstateProcess) -> dict[str, str]:
    facts = {"instance": first.ident.instance}
    if named is not None:
        facts |= {
            name: str(named.metadata.get(name) or "") for name in ("type", "box", "machine", "application")
        }
        facts["lifecycle"] = named.lifecycle.lower()
    return {
        f"estate/{name}": text[:_MAX_TAG_LENGTH]
        for name, value in facts.items()
        if (text := _NO_TAG.sub("_", value))
    }


def _group(one: EstateProcess, top: EstateProcess | None) -> str:
    """Return the asset group: the application (its own or its outermost box's), otherwise that box, the instance, or
    the technology."""
    is_box = one.metadata.get("type") == "BOX"
    name = (
        one.metadata.get("application")
        or (top.metadata.get("application") if top is not None else None)
        or (top.ident.name if top is not None else one.ident.name if is_box else None)
        or one.ident.instance
        or one.ident.technology.lower()
    )
    return _NO_WORD.sub("_", str(name)) or "estate"
