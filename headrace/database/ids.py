"""Deterministic ids: the organisation, a run, an attempt's lock."""

import hashlib
from functools import cache, lru_cache
from uuid import UUID, uuid5

from headrace.database.principal import current_principal
from headrace.settings import settings

_NAMESPACE = UUID("5d0c8a54-6f2e-5b0f-9a53-8f0c1d7a4e21")


def organisation_id() -> UUID:
    """Return the id of the caller's organisation; without a caller, that of the configured one."""
    caller = current_principal()
    return caller.organisation_id if caller else organisation_named(settings().organisation)


def organisation() -> str:
    """Return the name of that organisation."""
    caller = current_principal()
    return caller.organisation if caller else settings().organisation


@cache
def organisation_named(name: str) -> UUID:
    """Return the id of an organisation by name, whether it exists or not."""
    return uuid5(_NAMESPACE, f"organisation/{name}")


def run_id(root_dagster_run_id: str, process_key: str) -> UUID:
    """Return the run of `process_key` in a Dagster run; step retries and re-executions of the root run share it."""
    return uuid5(_NAMESPACE, f"run/{root_dagster_run_id}/{process_key}")


def external_run_id(technology: str, instance: str, process: str, run: str) -> UUID:
    """Return the id of an external run of a process; all its attempts share it, whichever source reports them."""
    return _named(organisation_id(), f"run/{technology}/{instance}/{process}/{run}")


def external_version_id(dataset: str, partition: str, tag: str) -> UUID:
    """Return the id of a version written by another system; repeated reports get the same one."""
    return uuid5(organisation_id(), f"version/{dataset}/{partition}/{tag}")


@lru_cache(maxsize=10_000)  # ingesting a batch asks for the run of each event several times
def _named(namespace: UUID, name: str) -> UUID:
    return uuid5(namespace, name)


def lock_key(run: UUID, attempt: int) -> int:
    """Return the PostgreSQL advisory lock (a signed 64-bit number) that the attempt holds while it is alive."""
    digest = hashlib.sha256(f"attempt/{run}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
