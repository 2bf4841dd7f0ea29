"""Candidate datasets inferred from processes, and the decisions people make about them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, NamedTuple

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog.locks import lock_registrations
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb
from headrace.errors import CatalogError, DecisionRefused, UnknownCandidate
from headrace.estates.sql import statement
from headrace.registration.declarations import link

_DECLARED = """
SELECT full_name FROM catalog.dataset
WHERE organisation_id = %s AND full_name = ANY (%s) AND declaration_hash <> ''
ORDER BY full_name
"""


_NAMES = """
SELECT external_name AS name, process_key AS key FROM catalog.process
WHERE organisation_id = %s AND external_name IS NOT NULL AND lifecycle <> 'RETIRED'
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

    def facts(self) -> dict[str, object]:
        """Return the candidate with its evidence, as JSON values."""
        return {
            "instance": self.instance,
            "pattern": self.pattern,
            "status": self.status,
            "dataset": self.dataset,
            "decided_by": self.decided_by,
            "decided_at": self.decided_at,
            "evidence": [each._asdict() for each in self.evidence],
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision.

    dataset: the key of the confirmed dataset, created with format and owners if it does not exist. written_by, read_by:
    its processes, by name or key, in addition to those in the evidence. line: of the decision in a file.
    """

    pattern: str
    status: Status
    instance: str = ""
    dataset: str | None = None
    format: str = "csv"
    owners: tuple[str, ...] = ()
    written_by: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()
    line: int = 0

    def __post_init__(self) -> None:
        if (self.dataset is not None) != (self.status is Status.CONFIRMED):
            raise DecisionRefused(
                f"{self.pattern}: a dataset is required if confirmed, and not allowed otherwise"
            )


def candidates(engine: Engine, status: Status | None = None) -> tuple[CandidateRow, ...]:
    """Return candidates by instance and pattern; pending ones only while they have evidence."""
    with transaction(engine) as cursor:
        rows = statement("candidates").execute(
            cursor,
            {"organisation": current_context().organisation_id, "status": status.value if status else None},
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


def decide(engine: Engine, decision: Decision, by: str) -> None:
    """Apply a decision.

    Raises UnknownCandidate for a pattern that no scan has found, DecisionRefused for one that cannot be.
    """
    _, refused = decide_each(engine, [decision], by)
    for _, why in refused:
        raise why


def decide_each(
    engine: Engine, decisions: Sequence[Decision], by: str
) -> tuple[int, list[tuple[Decision, CatalogError]]]:
    """Apply the possible decisions; returns the number of new ones, and the others with the reasons."""
    known = {(row.instance, row.pattern): row for row in candidates(engine)}
    with transaction(engine) as cursor:
        lock_registrations(cursor)
        refused = list(_refusals(cursor, decisions, known))
        lost = {(each.instance, each.pattern) for each, _ in refused}
        new = [
            each
            for each in decisions
            if (each.instance, each.pattern) not in lost
            and _differs(each, known[each.instance, each.pattern])
        ]
        if new:
            _store(cursor, new, by)
    return len(new), refused


def _store(cursor: Cursor[Any], decisions: Sequence[Decision], by: str) -> None:
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
        for each in decisions
    ]
    parameters = {"organisation": current_context().organisation_id, "decisions": jsonb(rows), "by": by}
    statement("decide_candidates").execute(cursor, parameters)
    link(cursor)


def _refusals(
    cursor: Cursor[Any], decisions: Sequence[Decision], known: Mapping[tuple[str, str], CandidateRow]
) -> Iterator[tuple[Decision, CatalogError]]:
    """Yield the decisions that cannot be applied, each with the reason."""
    datasets = [each.dataset for each in decisions if each.dataset]
    cursor.execute(_DECLARED, [current_context().organisation_id, datasets])
    declared = {row["full_name"] for row in cursor}
    rows = statement("computed_here").execute(
        cursor, {"organisation": current_context().organisation_id, "datasets": datasets}
    )
    computed = {row["full_name"]: row["declared_at"] for row in rows}
    names: set[str] = set()
    if any(each.written_by or each.read_by for each in decisions):
        cursor.execute(_NAMES, [current_context().organisation_id])
        names = {name for row in cursor for name in (row["name"], row["key"])}
    for each in decisions:
        jobs = (*each.written_by, *each.read_by)
        unknown = [job for job in jobs if job not in names]
        if (each.instance, each.pattern) not in known:
            yield each, _unknown(each, known)
        elif each.dataset in computed:
            yield (
                each,
                DecisionRefused(
                    f"{each.dataset} is computed by Spark here{_at(computed[each.dataset])}, and takes no versions "
                    "from elsewhere; choose another key"
                ),
            )
        elif each.dataset in declared and jobs:
            yield (
                each,
                DecisionRefused(
                    f"{each.dataset}: it is declared; name its producer there, with `produced_by`"
                ),
            )
        elif unknown:
            yield each, DecisionRefused("; ".join(_no_process(job, names) for job in unknown))


def _at(place: str | None) -> str:
    return f" ({place})" if place else ""


def _no_process(name: str, names: Collection[str]) -> str:
    near = get_close_matches(name, names, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`headrace legacy processes` lists the names"
    return f"no process is named {name}; {hint}"


def _differs(decision: Decision, known: CandidateRow) -> bool:
    named = bool(decision.written_by or decision.read_by)
    return named or (decision.status, decision.dataset) != (known.status, known.dataset)


def _unknown(decision: Decision, known: Mapping[tuple[str, str], CandidateRow]) -> UnknownCandidate:
    elsewhere = sorted({instance for instance, pattern in known if pattern == decision.pattern})
    if elsewhere:
        if elsewhere == [""]:
            return UnknownCandidate(f"{decision.pattern} was found without an instance; omit `--instance`")
        names = " or ".join(f"`--instance {name}`" if name else "no `--instance`" for name in elsewhere)
        return UnknownCandidate(f"{decision.pattern} was found in another instance; use {names}")
    near = get_close_matches(decision.pattern, [pattern for _, pattern in known], 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`headrace legacy review` lists the candidates"
    return UnknownCandidate(f"no scan has found {decision.pattern}; {hint}")
