"""The context of the current task: in which organisation, on whose behalf and with which settings it works.

Requests set the principal. Without one it is the platform itself: runs, sensors and commands, which see every row of
the configured organisation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from uuid import UUID, uuid5

from headrace.settings import Settings, settings

NAMESPACE = UUID("5d0c8a54-6f2e-5b0f-9a53-8f0c1d7a4e21")  # of all ids that are derived from names


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller on whose behalf the current task works, as PostgreSQL sees it.

    domains: visible domains, None for all. datasets: additional visible dataset keys. audit_only: only recorded in the
    audit trail; row-level security does not apply.
    """

    organisation_id: UUID
    organisation: str
    subject: str
    domains: frozenset[str] | None = None
    datasets: frozenset[str] = frozenset()
    request_id: str = ""
    audit_only: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """The settings of this process, and the current principal; None for the platform itself."""

    settings: Settings
    principal: Principal | None

    @property
    def organisation(self) -> str:
        """The name of the principal's organisation; without a principal, of the configured one."""
        return self.principal.organisation if self.principal else self.settings.organisation

    @property
    def organisation_id(self) -> UUID:
        """The id of that organisation."""
        return (
            self.principal.organisation_id
            if self.principal
            else organisation_named(self.settings.organisation)
        )


_PRINCIPAL: ContextVar[Principal | None] = ContextVar("principal", default=None)


def current_context() -> Context:
    """Return the context of the current task (a request is a task).

    Raises the errors of `settings`.
    """
    return Context(settings(), _PRINCIPAL.get())


def set_principal(principal: Principal) -> None:
    """Set the principal for the rest of this task."""
    _PRINCIPAL.set(principal)


@contextmanager
def act_as(principal: Principal | None) -> Iterator[None]:
    """Work as this principal within the block; None: as the platform itself."""
    token = _PRINCIPAL.set(principal)
    try:
        yield
    finally:
        _PRINCIPAL.reset(token)


@contextmanager
def without_row_security() -> Iterator[None]:
    """Lift row-level security within the block, for an action that the caller has been authorised for.

    Callers must restrict queries to the organisation themselves. The audit trail still names the caller.
    """
    principal = _PRINCIPAL.get()
    with act_as(principal and replace(principal, audit_only=True)):
        yield


@cache
def organisation_named(name: str) -> UUID:
    """Return the id of an organisation by name, whether it exists or not."""
    return uuid5(NAMESPACE, f"organisation/{name}")
