"""Row-level security: PostgreSQL restricts rows to the current principal, and the audit trail names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import to_json

from headrace.context import current_context

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


def is_narrow() -> bool:
    """Return True if the principal is restricted to some domains by row-level security."""
    caller = current_context().principal
    return caller is not None and not caller.audit_only and caller.domains is not None


def keep_to_caller(connection: Connection) -> None:
    """Apply the principal's row-level security to the transaction that is starting; the platform is unrestricted.

    Raises RuntimeError for a connection in autocommit mode, where the restriction would end with one statement.
    """
    caller = current_context().principal
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
