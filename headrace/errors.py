"""Errors of the catalog; each message states the problem, the place and the solution."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from difflib import get_close_matches


class CatalogError(Exception):
    """Base class of the catalog's errors.

    failure_kind: the failure kind of a failed attempt (`run_attempt.failure_kind`); exceptions of other packages may
    have one too.
    """

    failure_kind = "CATALOG"


class CatalogUnavailable(CatalogError):
    """The catalog's database cannot be reached, started or written."""

    failure_kind = "INFRASTRUCTURE"


class SchemaOutdated(CatalogError):
    """The database's schema does not match this version of the code."""


class Forbidden(CatalogError):
    """The caller is known but lacks the permission. Over HTTP: 403."""

    failure_kind = "ACCESS"


class UnknownDataset(CatalogError):
    """A dataset key that was never registered."""

    @classmethod
    def among(cls, keys: Iterable[str], known: Iterable[str]) -> "UnknownDataset":
        """Create the error for `keys`, with the closest of the `known` ones as a hint."""
        names, there = sorted(set(keys)), list(known)
        near = [match for name in names for match in get_close_matches(name, there, n=1)]
        hint = f" Did you mean {', '.join(sorted(set(near)))}?" if near else ""
        listed = "`headrace datasets` lists registered datasets" if there else "No dataset is registered"
        return cls(
            f"not registered in the catalog: {', '.join(names)}.{hint} {listed};"
            " `headrace materialize 'key:\"*\"' --dry-run` registers the declared datasets."
        )

    @classmethod
    def renamed(cls, keys: Mapping[str, str]) -> "UnknownDataset":
        """Create the error for former keys, with the present ones."""
        return cls("; ".join(f"{former} was renamed to {key}" for former, key in sorted(keys.items())))


class DeclaredElsewhere(CatalogError):
    """A key that another project of the same catalog declares."""

    def __init__(self, key: str, project: str, here: str) -> None:
        super().__init__(
            f"{key} is already declared by the project {project}, so the project {here} cannot declare it. Rename it "
            f"here; or, if it has moved here, remove it there and run `headrace catalog transfer {key}`."
        )


class ProjectNameTaken(CatalogError):
    """Another project of the same catalog has this project's name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"another project with the name {name} uses this catalog. Give this project another `name` in "
            "headrace.toml; or, if both are the same project, give both the same `project_id`."
        )


class UnknownColumn(CatalogError):
    """A column that a dataset never had."""

    @classmethod
    def among(cls, key: str, column: str, known: Iterable[str]) -> "UnknownColumn":
        """Create the error for a column of a dataset, with the closest existing ones."""
        there = sorted(known)
        near = get_close_matches(column, there, n=3) or there[:10]
        more = ", ..." if len(near) == 10 < len(there) else ""
        return cls(f"{key} has no column {column}. Its columns: {', '.join(near)}{more}.")


class UnknownProcess(CatalogError):
    """A process key that was never registered."""


class UnknownVersion(CatalogError):
    """A version tag, or a version's id, that the dataset does not have."""


class UnknownRun(CatalogError):
    """A run id (or a prefix of one) that matches no run, or more than one."""


class AttemptLost(CatalogError):
    """An attempt that was given up as lost may not publish: its files may be deleted already."""

    failure_kind = "INFRASTRUCTURE"


class UnknownSla(CatalogError):
    """No SLA covers a dataset or process."""


class UnknownAlert(CatalogError):
    """An alert's id (or a prefix of one) that matches no alert, or more than one."""


class UnknownIncident(CatalogError):
    """The id of an incident that does not exist."""


class NotAcknowledged(CatalogError):
    """An alert that no one has acknowledged, or that is closed, cannot be handed over."""


class MissingVersion(CatalogError):
    """An input has no version to read."""

    failure_kind = "INPUT"


class VersionExpired(CatalogError):
    """A version whose rows retention or an erasure deleted."""

    failure_kind = "INPUT"

    def __init__(self, dataset: str, partition: str | None, tag: str, expired_at: datetime) -> None:
        place = dataset if partition is None else f"{dataset}, partition {partition},"
        super().__init__(
            f"version {tag} of {place} expired at {expired_at:%Y-%m-%d %H:%M} UTC, and its rows were deleted; "
            f"`headrace retention {dataset}` lists the versions that can be read"
        )


class UnpublishedInput(CatalogError):
    """A draft names an input version that was never published."""

    failure_kind = "INPUT"


class IdempotencyConflict(CatalogError):
    """An idempotency key, or a version tag, that was used before for something else."""


class RollbackRefused(CatalogError):
    """There is no version to roll back to, or it may not be published."""


class PinRefused(CatalogError):
    """The version may not be pinned, or there is no such pin."""


class RetirementRefused(CatalogError):
    """The dataset already has the status, or does not have the one that it should lose."""


class ScanRefused(CatalogError):
    """A scan of another system's files that cannot be stored."""


class UnknownScan(CatalogError):
    """A scan that does not exist."""


class UnknownCandidate(CatalogError):
    """A file pattern that no scan has found."""


class RefusedByGate(CatalogError):
    """A registration that a gate refuses, such as a policy that it does not meet. Over HTTP: 422."""


class DecisionRefused(CatalogError):
    """A candidate or process for which this decision is not possible."""
