"""The caller of the catalog as a value: identity, organisation, and permissions by domain.

A domain is the part of a dataset key before the first `/`. For externally named datasets it is the namespace, before a
`#`; for keys that are URIs, scheme and host.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from headrace.errors import Forbidden

EVERY_DOMAIN = "*"


class Permission(StrEnum):
    """What a caller may do. `ROLES` maps roles to permissions."""

    READ = "read"  # see datasets, versions, lineage, processes, runs, SLAs, checks
    READ_SENSITIVE = "read-sensitive"  # see what `masking` hides
    REPORT = "report"  # send run events and OpenLineage events
    REGISTER = "register"  # propose datasets, and other owners, tags and columns of them
    REVIEW = "review"  # approve or reject what is proposed
    ACKNOWLEDGE = "acknowledge"  # say that one is at an alert, which then escalates no further
    AUDIT = "audit"  # read the audit trail
    OPERATE = "operate"  # read the service's own measures


class Role(StrEnum):
    """The four roles of people, granted by organisation and domain."""

    PLATFORM_ADMIN = "PLATFORM_ADMIN"
    DATA_STEWARD = "DATA_STEWARD"
    DATA_OWNER = "DATA_OWNER"
    DATA_CONSUMER = "DATA_CONSUMER"


_CONSUMER = frozenset({Permission.READ})
_OWNER = _CONSUMER | {
    Permission.READ_SENSITIVE,
    Permission.REPORT,
    Permission.REGISTER,
    Permission.ACKNOWLEDGE,
}
_STEWARD = _CONSUMER | {
    Permission.READ_SENSITIVE,
    Permission.REGISTER,
    Permission.REVIEW,
    Permission.ACKNOWLEDGE,
    Permission.AUDIT,
}
ROLES: dict[Role, frozenset[Permission]] = {
    Role.PLATFORM_ADMIN: frozenset(Permission),
    Role.DATA_STEWARD: _STEWARD,
    Role.DATA_OWNER: _OWNER,
    Role.DATA_CONSUMER: _CONSUMER,
}


class CallerKind(StrEnum):
    """What a caller is."""

    USER = "user"  # a person, by a JWT
    SERVICE = "service"  # a program, by a service token
    TASK = "task"  # one run, by its capability token
    LOCAL = "local"  # a process of this machine, on a deployment that is not in production


@dataclass(frozen=True, slots=True)
class Grant:
    """Permissions in one domain, or in every one (`*`)."""

    domain: str
    permissions: frozenset[Permission]
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class Capability:
    """What a task token is bound to: one run, and the keys of the datasets that it may write, and of those it reads."""

    token_id: UUID
    run_id: UUID
    outputs: frozenset[str]
    inputs: frozenset[str]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Scope:
    """What part of an organisation's datasets something is allowed for; `domains` None: for all of them."""

    domains: frozenset[str] | None
    datasets: frozenset[str] = frozenset()

    def covers(self, dataset: str) -> bool:
        """Whether the dataset of this key belongs to it."""
        return self.domains is None or domain_of(dataset) in self.domains or dataset in self.datasets


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller. subject: `user:<sub>`, `service:<name>` or `task:<run id>`, unique within the organisation."""

    subject: str
    kind: CallerKind
    organisation_id: UUID
    organisation: str
    grants: tuple[Grant, ...]
    capability: Capability | None = None

    def scope(self, permission: Permission) -> Scope | None:
        """Where the caller has the permission; None: nowhere."""
        domains = {grant.domain for grant in self.grants if permission in grant.permissions}
        if self.capability is not None and permission in (Permission.READ, Permission.READ_SENSITIVE):
            return Scope(frozenset(), self.capability.outputs | self.capability.inputs)
        if not domains:
            return None
        return Scope(None if EVERY_DOMAIN in domains else frozenset(domains))

    def may(self, permission: Permission, dataset: str | None = None) -> bool:
        """Whether the caller has the permission for the dataset of this key; without one: for any."""
        scope = self.scope(permission)
        return scope is not None and (dataset is None or scope.covers(dataset))

    def require(self, permission: Permission, *datasets: str) -> None:
        """Raises Forbidden, naming the permission and the first of the datasets for which the caller lacks it."""
        if self.scope(permission) is None:
            raise Forbidden(
                f"{self.subject} may not {permission} in organisation {self.organisation}: {_who_may(permission)}"
            )
        for dataset in datasets:
            if not self.may(permission, dataset):
                raise Forbidden(
                    f"{self.subject} may not {permission} {dataset}: {_who_may(permission)} for the domain "
                    f"{domain_of(dataset)}"
                )

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles that the caller has in any domain, the highest first."""
        mine = {grant.role for grant in self.grants}
        return tuple(role for role in Role if role in mine)


def domain_of(dataset: str) -> str:
    """The domain of a dataset key: `mart` of `mart/delays`, `s3://lake` of `s3://lake#raw/flights`."""
    namespace, separator, _ = dataset.partition("#")
    if separator:
        return namespace
    scheme, separator, rest = dataset.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if separator else dataset.partition("/")[0]


def roles_with(permission: Permission) -> tuple[Role, ...]:
    """The roles that have the permission, the highest first."""
    return tuple(role for role in Role if permission in ROLES[role])


def _who_may(permission: Permission) -> str:
    return (
        f"it takes {' or '.join(roles_with(permission))}, or a service token made with `--may {permission}`,"
    )
