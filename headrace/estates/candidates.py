"""Candidate datasets inferred from processes, and the decisions people make about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, NamedTuple

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog.links import link
from headrace.catalog.registry import REGISTRATION_LOCK
from headrace.database.connection import transaction
from headrace.database.ids import organisation_id
from headrace.database.jsonb import jsonb
from headrace.errors import DecisionRefused, UnknownCandidate
from headrace.estates.sql import statement

_DECLARED = """
SELECT full_name FROM catalog.dataset
WHERE organisation_id = %s AND full_name = ANY (%s) AND declaration_hash <> ''
ORDER BY full_name
"""


class Status(StrEnum):
    """Decision about a candidate."""

    PENDING = "PENDING"
    CONFIRMED = "CONFIRMED"
    REJECTED = "REJECTED"


class EvidenceRow(NamedTuple):
    """Evidence that a process reads or writes a candidate; place is file:line, if known."""

    name: str
    process: str
    direction: str
    attribute: str
    excerpt: str
    confidence: float
    place: str | None


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """Files or a table that processes seem to use, the best evidence first; dataset: that of a confirmed candidate."""

    instance: str
    pattern: str
    status: Status
    dataset: str | None
    decided_by: str | None
    decided_at: datetime | None
    evidence: tuple[EvidenceRow, ...]

    def processes(self, direction: str) -> tuple[str, ...]:
        """Return the names of processes that seem to read it (`reads`) or write it (`writes`)."""
        return tuple(dict.fromkeys(each.name for each in self.evidence if each.direction == direction))


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision.

    dataset: the key of the confirmed dataset, created with format and owners if it does not exist. written_by, read_by:
    its processes, by name or key, in addition to those in the evidence.
    """

    pattern: str
    status: Status
    instance: str = ""
    dataset: str | None = None
    format: str = "csv"
    owners: tuple[str, ...] = ()
    written_by: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.dataset is not None) != (self.status is Status.CONFIRMED):
            raise DecisionRefused(
                f"{self.pattern}: a dataset is required if confirmed, and not allowed otherwise"
            )


def candidates(engine: Engine, status: Status | None = None) -> tuple[CandidateRow, ...]:
    """Return candidates by instance and pattern; pending ones only while they have evidence."""
    with transaction(engine) as cursor:
        rows = statement("candidates").execute(
            cursor, {"organisation": organisation_id(), "status": status.value if status else None}
        )
        return tuple(
            CandidateRow(
                **{
                    **row,
                    "status": Status(row["status"]),
                    "evidence": tuple(
                        EvidenceRow._make([*each[:6], f"{each[6]}:{each[7]}" if each[6] else None])
                        for each in row["evidence"] or ()
                    ),
                }
            )
            for row in rows
        )


def decide(engine: Engine, decisions: Sequence[Decision], by: str) -> int:
    """Apply decisions, all or none; returns the number of new ones.

    Raises UnknownCandidate for a pattern that no scan has found, DecisionRefused if a declaration states the producers.
    """
    known = {(row.instance, row.pattern): row for row in candidates(engine)}
    for decision in decisions:
        if (decision.instance, decision.pattern) not in known:
            raise _unknown(decision, known)
    new = [each for each in decisions if _differs(each, known[each.instance, each.pattern])]
    if not new:
        return 0
    rows = [
        {
            "instance": each.instance,
            "pattern": each.pattern,
            "status": each.status,
            "dataset": each.dataset,
            "namespace": (each.dataset or "").rpartition("/")[0],
            "name": (each.dataset or "").rpartition("/")[2],
            "format": each.format,
            "owners": each.owners,
            "metadata": {
                "external": True,
                "location": each.pattern,
                **({"produced_by": each.written_by} if each.written_by else {}),
                **({"consumed_by": each.read_by} if each.read_by else {}),
            },
        }
        for each in new
    ]
    with transaction(engine) as cursor:
        parameters = {"organisation": organisation_id(), "decisions": jsonb(rows), "by": by}
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [REGISTRATION_LOCK])
        declared = _declared(cursor, [each.dataset for each in new if each.written_by or each.read_by])
        if declared:
            raise DecisionRefused(
                f"{', '.join(declared)}: it is declared; name its producer there, with `produced_by`"
            )
        statement("decide_candidates").execute(cursor, parameters)
        link(cursor)
    return len(new)


def _differs(decision: Decision, known: CandidateRow) -> bool:
    named = bool(decision.written_by or decision.read_by)
    return named or (decision.status, decision.dataset) != (known.status, known.dataset)


def _declared(cursor: Cursor[Any], datasets: Sequence[str | None]) -> list[str]:
    """Return those of the datasets that are declared."""
    cursor.execute(_DECLARED, [organisation_id(), list(datasets)])
    return [row["full_name"] for row in cursor]


def _unknown(decision: Decision, known: dict[tuple[str, str], CandidateRow]) -> UnknownCandidate:
    elsewhere = sorted({instance for instance, pattern in known if pattern == decision.pattern})
    if elsewhere:
        if elsewhere == [""]:
            return UnknownCandidate(
                f"{decision.pattern} was found without an instance; leave `--instance` out"
            )
        names = " or ".join(f"`--instance {name}`" if name else "no `--instance`" for name in elsewhere)
        return UnknownCandidate(f"{decision.pattern} was found in another instance; use {names}")
    near = get_close_matches(decision.pattern, [pattern for _, pattern in known], 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`headrace legacy review` lists those that were"
    return UnknownCandidate(f"no scan has found {decision.pattern}; {hint}")
