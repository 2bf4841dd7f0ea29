"""How datasets stand against their SLAs now."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy import Engine

from catalog.database import transaction
from catalog.freshness import FreshnessState, freshness
from catalog.identity import organisation_id
from catalog.sql import statement

_AT_ONCE = 500  # datasets of a query


@dataclass(frozen=True, slots=True)
class SlaStanding:
    """A dataset with an SLA. deadline: when it turns LATE, or since when it has been."""

    dataset_id: UUID
    key: str
    owners: tuple[str, ...]
    state: FreshnessState
    deadline: datetime
    newest_at: datetime | None
    newest_tag: str | None
    sla: dict[str, Any]


def sla_standings(
    engine: Engine,
    states: Collection[FreshnessState] = (),
    *,
    after: str = "",
    limit: int = 100,
) -> list[SlaStanding]:
    """Datasets whose SLA promises something, in the order of their keys, those after the key `after`.

    states: only those that stand so; none given: all.
    """
    found = (standing for standing in _standings(engine, after) if not states or standing.state in states)
    return list(islice(found, limit))


def _standings(engine: Engine, after: str) -> Iterator[SlaStanding]:
    now = datetime.now(UTC)
    while True:
        parameters = {"organisation": organisation_id(), "after": after, "limit": _AT_ONCE}
        with transaction(engine) as cursor:
            rows = statement("sla_standings").execute(cursor, parameters).fetchall()
        for row in rows:
            stands = freshness(row["sla"], row["newest_at"], now)
            if stands is not None:
                yield SlaStanding(
                    **{**row, "owners": tuple(row["owners"])}, state=stands.state, deadline=stands.deadline
                )
        if len(rows) < _AT_ONCE:
            return
        after = rows[-1]["key"]
