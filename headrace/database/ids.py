"""Deterministic ids: of runs, versions and the locks of attempts."""

import hashlib
from functools import lru_cache
from uuid import UUID, uuid5

from headrace.context import NAMESPACE, current_context


def run_id(root_dagster_run_id: str, process_key: str) -> UUID:
    """Return the run of `process_key` in a Dagster run; step retries and re-executions of the root run share it."""
    return uuid5(NAMESPACE, f"run/{root_dagster_run_id}/{process_key}")


def external_run_id(technology: str, instance: str, process: str, run: str) -> UUID:
    """Return the id of an external run of a process; all its attempts share it, whichever source reports them."""
    return _named(current_context().organisation_id, f"run/{technology}/{instance}/{process}/{run}")


def external_version_id(dataset: str, partition: str, tag: str) -> UUID:
    """Return the id of a version written by another system; repeated reports get the same one."""
    return uuid5(current_context().organisation_id, f"version/{dataset}/{partition}/{tag}")


@lru_cache(maxsize=10_000)  # ingesting a batch asks for the run of each event several times
def _named(namespace: UUID, name: str) -> UUID:
    return uuid5(namespace, name)


def lock_key(run: UUID, attempt: int) -> int:
    """Return the PostgreSQL advisory lock (a signed 64-bit number) that the attempt holds while it is alive."""
    digest = hashlib.sha256(f"attempt/{run}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
