"""The datasets downstream of an alert's subject with their deadlines, and its runbook."""

from __future__ import annotations

from typing import Any

from psycopg import Cursor

from headrace.alerts.records import Alert
from headrace.alerts.sql import statement
from headrace.alerts.wording import MAX_LISTED, AffectedSubject, AffectedSubjects
from headrace.context import current_context
from headrace.slas.events import SubjectType
from headrace.slas.status import SlaStatus

MAX_NODES = 20_000  # datasets and processes; the traversal stops there


def affected(cursor: Cursor[Any], alert: Alert, limit: int = MAX_LISTED) -> AffectedSubjects:
    """Return the affected subjects, those whose deadline is next first, and the runbook of the alert's subject."""
    parameters = {
        "organisation": current_context().organisation_id,
        "subject_id": alert.subject.id,
        "keys": sorted(alert.affected),
        "nodes": MAX_NODES,
        "limit": limit,
    }
    found = statement("affected_datasets").execute(cursor, parameters).fetchall()
    runbook = statement("runbooks").execute(cursor, parameters).fetchone()
    return AffectedSubjects(
        tuple(
            AffectedSubject(
                row["key"],
                tuple(row["owners"]),
                row["deadline"],
                row["timezone"],
                SlaStatus(row["state"]) if row["state"] else None,
                SubjectType(row["subject_type"]),
            )
            for row in found
        ),
        found[0]["total"] if found else 0,
        str(runbook["runbook"]) if runbook else None,
    )
