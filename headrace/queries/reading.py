"""The versions that a person reads: by tag, as of a time, or as published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Engine

from headrace.catalog.records import InputRequest, Version
from headrace.catalog.sensitivity import marked
from headrace.errors import MissingVersion
from headrace.publishing.pins import choose, resolve
from headrace.queries.versions import tagged


def readable_versions(
    engine: Engine, dataset: str, tag: str | None, partition: str | None, as_of: datetime | None
) -> list[Version]:
    """Return the versions to read, one per partition, with their sensitive columns marked.

    With a tag, blocked and superseded versions too. Raises UnknownDataset, UnknownVersion, MissingVersion,
    VersionExpired.
    """
    if tag is not None:
        versions = tagged(engine, dataset, tag, partition)
        for each in versions:
            each.require_rows()
        return versions
    partitions = () if partition is None else (partition,)
    request = InputRequest(dataset=dataset, consumer="this command", partitions=partitions, as_of=as_of)
    try:
        return marked(engine, [choice.version for choice in resolve(engine, [request])[0]])
    except MissingVersion as error:
        if partition is None or as_of is not None:
            raise
        everything = choose(engine, [replace(request, partitions=())])[0]
        there = described([choice.version for choice in everything]) if everything else "none"
        raise MissingVersion(
            f"{dataset} has no published version in partition {partition}; published: {there}."
            f" `headrace materialize {dataset} --stale` computes missing partitions, or"
            f" `headrace observe {dataset}` registers them if another system writes it."
        ) from error


def described(versions: Sequence[Version]) -> str:
    """Describe the versions in a few words."""
    if len(versions) == 1:
        place = f"partition {versions[0].partition}, " if versions[0].partition is not None else ""
        return f"{place}version {versions[0].tag}"
    keys = sorted(str(version.partition) for version in versions)
    return f"{len(versions):,} partitions from {keys[0]} to {keys[-1]}"
