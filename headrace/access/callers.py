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
    """A caller's permission. `ROLES` maps roles to permissions."""

    READ = "read"  # see datasets, versions, lineage, processes, runs, SLAs, checks
    READ_SENSITIVE = "read-sensitive"  # see what the service masks
    REPORT = "report"  # send run events and OpenLineage events
    REGISTER = "register"  # propose datasets, and changes of owners, tags and columns; deprecate and retire
    REVIEW = "review"  # approve or reject proposals
    PUBLISH = "publish"  # choose the version readers get: materialize, roll back, pin, unpin
    ACKNOWLEDGE = "acknowledge"  # acknowledge alerts, which stops their escalation, and plan outages
    AUDIT = "audit"  # read the audit trail
    GRANT = "grant"  # give and take roles, issue and revoke service tokens
    OPERATE = "operate"  # read the service's metrics


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
    Permission.PUBLISH,
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
    """Kind of caller."""

    USER = "user"  # a person, by a JWT
    SERVICE = "service"  # a program, by a service token
    TASK = "task"  # one run, by its task token
    LOCAL = "local"  # a local process, on a deployment that is not in production


@dataclass(frozen=True, slots=True)
class Grant:
    """Permissions in one domain, or in all of them (`*`)."""

    domain: str
    permissions: frozenset[Permission]
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class Capability:
    """Restriction of a task token: one run, and the keys of its output and input datasets."""

    token_id: UUID
    run_id: UUID
    outputs: frozenset[str]
    inputs: frozenset[str]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of an organisation's datasets that a permission applies to; `domains` None: all of them."""

    domains: frozenset[str] | None
    datasets: frozenset[str] = frozenset()

    def covers(self, dataset: str) -> bool:
        """Return True if the dataset with this key is in scope."""
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
        """Return the scope of the permission; None if the caller does not have it anywhere."""
        domains = {grant.domain for grant in self.grants if permission in grant.permissions}
        if self.capability is not None and permission in (Permission.READ, Permission.READ_SENSITIVE):
            return Scope(frozenset(), self.capability.outputs | self.capability.inputs)
        if not domains:
            return None
        return Scope(None if EVERY_DOMAIN in domains else frozenset(domains))

    def admitting(self, permission: Permission, dataset: str) -> tuple[Grant, ...]:
        """Return the grants by which the caller has the permission for the dataset with this key."""
        return tuple(
            each
            for each in self.grants
            if permission in each.permissions and each.domain in (EVERY_DOMAIN, domain_of(dataset))
        )

    def may(self, permission: Permission, dataset: str | None = None) -> bool:
        """Return True if the caller has the permission for the dataset with this key; without one, for any."""
        scope = self.scope(permission)
        return scope is not None and (dataset is None or scope.covers(dataset))

    def may_everywhere(self, permission: Permission) -> bool:
        """Return True if the caller has the permission in all domains."""
        scope = self.scope(permission)
        return scope is not None and scope.domains is None

    def require(self, permission: Permission, *datasets: str) -> None:
        """Raise Forbidden, naming the permission and the first dataset for which the caller lacks it."""
        if self.scope(permission) is None:
            raise Forbidden(
                f"{self.subject} may not {permission} in organisation {self.organisation}: {_who_may(permission)}"
            )
        for dataset in datasets:
            if not self.may(permission, dataset):
                raise Forbidden(
                    f"{self.subject} may not {permission} {dataset}: for the domain {domain_of(dataset)}, "
                    f"{_who_may(permission)}"
                )

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles that the caller has in any domain, highest first."""
        mine = {grant.role for grant in self.grants}
        return tuple(role for role in Role if role in mine)


def domain_of(dataset: str) -> str:
    """Return the domain of a dataset key: `mart` of `mart/delays`, `s3://lake` of `s3://lake#raw/flights`."""
    namespace, separator, _ = dataset.partition("#")
    if separator:
        return namespace
    scheme, separator, rest = dataset.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if separator else dataset.partition("/")[0]


def roles_with(permission: Permission) -> tuple[Role, ...]:
    """Return the roles that have the permission, highest first."""
    return tuple(role for role in Role if permission in ROLES[role])


def _who_may(permission: Permission) -> str:
    return f"it requires {' or '.join(roles_with(permission))}, or a service token with `--may {permission}`"
