"""The current principal: PostgreSQL restricts rows to it, and the audit trail names it.

Unless a caller is set, it is the platform itself: runs, sensors and commands, to which PostgreSQL shows everything.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from uuid import UUID

from psycopg import Connection
from pydantic_core import to_json

ROLE = "headrace_caller"  # sees the rows of one organisation
NARROW_ROLE = "headrace_narrow_caller"  # and of these only what belongs to some datasets
PARAMETERS = (
    "organisation_id",
    "domains",
    "datasets",
    "subject",
    "request_id",
)  # of PostgreSQL: headrace.<name>

_SET = ", ".join(f"set_config('headrace.{name}', %s, true)" for name in PARAMETERS)
_SETTINGS = ", ".join(f"set_config('headrace.{name}', %s, true)" for name in PARAMETERS)
_BEGIN = f"SELECT {_SETTINGS}, set_config('role', %s, true)"

_SIGN = "SELECT set_config('headrace.subject', %s, true), set_config('headrace.request_id', %s, true)"


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller as PostgreSQL gets to know him.

    domains: the domains whose datasets he sees, None for all; datasets: keys that he sees beside these. signs: he is
    only named in what is noted, and PostgreSQL shows everything.
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
    """Who is set; None: the platform itself."""
    return _PRINCIPAL.get()


def is_narrow() -> bool:
    """Whether it is a caller with some domains only, to whom PostgreSQL shows what belongs to these."""
    caller = _PRINCIPAL.get()
    return caller is not None and not caller.audit_only and caller.domains is not None


def set_principal(caller: Principal) -> None:
    """Work for the caller from now on, to the end of this task (a request is a task)."""
    _PRINCIPAL.set(caller)


@contextmanager
def act_as(caller: Principal | None) -> Iterator[None]:
    """Work for the caller within the block; None: as the platform itself."""
    token = _PRINCIPAL.set(caller)
    try:
        yield
    finally:
        _PRINCIPAL.reset(token)


@contextmanager
def without_row_security() -> Iterator[None]:
    """Work within the block on rows that the caller does not see, for him who has been allowed what follows from it.

    Whoever does so keeps to the organisation itself. Changes are noted as the caller's.
    """
    caller = _PRINCIPAL.get()
    with act_as(caller and replace(caller, audit_only=True)):
        yield


def keep_to_caller(connection: Connection) -> None:
    """Keep the transaction that begins on the connection to the caller's rows; the platform's is left as it is.

    Raises RuntimeError for a connection that commits each statement by itself: nothing would keep the next one.
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
