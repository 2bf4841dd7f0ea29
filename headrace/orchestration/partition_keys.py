"""Keys of dynamic partitions, which Dagster keeps: they are added when data of a new key is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import dagster as dg

Definition = dg.PartitionsDefinition[str]


def add_partition_keys(
    instance: dg.DagsterInstance, definition: Definition | None, keys: Iterable[str]
) -> list[str]:
    """Add the keys that a dynamic definition, or a dynamic dimension of it, lacks, and return them.

    keys: whole partition keys. Other definitions have their keys by declaration.
    """
    added: list[str] = []
    wanted = list(keys)
    for name, place in _dynamic_sets(definition):
        known = set(instance.get_dynamic_partitions(name))
        parts = (key if place is None else key.split("|")[place] for key in wanted)
        new = [key for key in dict.fromkeys(parts) if key not in known]
        if new:
            instance.add_dynamic_partitions(name, new)
        added += new
    return added


def _dynamic_sets(definition: Definition | None) -> Iterator[tuple[str, int | None]]:
    """Yield the name of each dynamic set of keys, and its place in the key of two dimensions."""
    if isinstance(definition, dg.DynamicPartitionsDefinition):
        yield str(definition.name), None
    elif isinstance(definition, dg.MultiPartitionsDefinition):
        # Dagster orders the parts of a key by the names of their dimensions.
        dimensions = sorted(definition.partitions_defs, key=lambda each: each.name)
        for place, dimension in enumerate(dimensions):
            if isinstance(dimension.partitions_def, dg.DynamicPartitionsDefinition):
                yield str(dimension.partitions_def.name), place
