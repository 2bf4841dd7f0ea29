"""The current principal: PostgreSQL restricts rows to it, and the audit trail names it.

Without a principal it is the platform itself: runs, sensors and commands, which see every row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from pydantic_core import to_json

if TYPE_CHECKING:
    from psycopg import Connection

ROLE = "headrace_caller"  # may see the rows of one organisation
NARROW_ROLE = "headrace_narrow_caller"  # and of these only rows of some datasets
PARAMETERS = (
    "organisation_id",
    "domains",
    "datasets",
    "subject",
    "request_id",
)  # of PostgreSQL: headrace.<name>

_SETTINGS = ", ".join(f"set_config('headrace.{name}', %s, true)" for name in PARAMETERS)
_BEGIN = f"SELECT {_SETTINGS}, set_config('role', %s, true)"

_SIGN = "SELECT set_config('headrace.subject', %s, true), set_config('headrace.request_id', %s, true)"


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


_PRINCIPAL: ContextVar[Principal | None] = ContextVar("current_principal", default=None)


def current_principal() -> Principal | None:
    """Return the current principal; None for the platform itself."""
    return _PRINCIPAL.get()


def is_narrow() -> bool:
    """Return True if the principal is restricted to some domains by row-level security."""
    caller = _PRINCIPAL.get()
    return caller is not None and not caller.audit_only and caller.domains is not None


def set_principal(caller: Principal) -> None:
    """Set the principal for the rest of this task (a request is a task)."""
    _PRINCIPAL.set(caller)


@contextmanager
def act_as(caller: Principal | None) -> Iterator[None]:
    """Work as this principal within the block; None: as the platform itself."""
    token = _PRINCIPAL.set(caller)
    try:
        yield
    finally:
        _PRINCIPAL.reset(token)


@contextmanager
def without_row_security() -> Iterator[None]:
    """Lift row-level security within the block, for an action that the caller has been authorised for.

    Callers must restrict queries to the organisation themselves. The audit trail still names the caller.
    """
    caller = _PRINCIPAL.get()
    with act_as(caller and replace(caller, audit_only=True)):
        yield


def keep_to_caller(connection: Connection) -> None:
    """Apply the principal's row-level security to the transaction that is starting; the platform is unrestricted.

    Raises RuntimeError for a connection in autocommit mode, where the restriction would end with one statement.
    """
    caller = _PRINCIPAL.get()
    if caller is None:
        return
    if caller.audit_only:
        connection.execute(_SIGN, [caller.subject, caller.request_id])
        return
    if connection.autocommit:
        raise RuntimeError("a connection in autocommit mode cannot be kept to a caller's rows")
    everything = caller.domains is None
    connection.execute(
        _BEGIN,
        [
            str(caller.organisation_id),
            "*" if caller.domains is None else to_json(sorted(caller.domains)).decode(),
            to_json(sorted(caller.datasets)).decode(),
            caller.subject,
            caller.request_id,
            ROLE if everything else NARROW_ROLE,
        ],
    )
