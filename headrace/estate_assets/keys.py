"""Asset keys of external processes."""

import dagster as dg

from headrace.catalog.records import Technology
from headrace.estates.rows import ProcessName


def asset_key(technology: Technology, name: str, instance: str = "") -> dg.AssetKey:
    """Return the asset key of a process: `autosys/<instance>/<job>`, `db2_sp/<name>`; without an empty instance."""
    return dg.AssetKey(unit_key(ProcessName(technology.value, instance, name)))


def unit_key(ident: ProcessName) -> tuple[str, ...]:
    """Return the path of a process's own asset key."""
    return tuple(part for part in (ident.technology.lower(), ident.instance, ident.name) if part)
