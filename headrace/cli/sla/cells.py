"""How what was promised of datasets stands, in a few words: what the engine said last, judged by nobody else."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from headrace.cli.common.output import STYLES, moment
from headrace.slas.status import State

if TYPE_CHECKING:
    from rich.text import Text
    from sqlalchemy import Engine

    from headrace.catalog.queries.rows import DatasetStatus
    from headrace.slas.queries import SlaStanding

_ALL = 1_000_000
_WORST_FIRST = (
    State.LATE, State.MISSED, State.AT_RISK, State.PAUSED, State.UNKNOWN, State.MET_LATE, State.ON_TRACK
)  # fmt: skip


def promises(engine: Engine, keys: Collection[str] = ()) -> dict[str, list[SlaStanding]]:
    """The promises of these datasets, of none given all, by key: the one that stands worst first."""
    from headrace.slas.queries import sla_standings

    found: dict[str, list[SlaStanding]] = {}
    for each in sla_standings(engine, keys=keys, limit=_ALL):
        if each.subject_type == "DATASET":
            found.setdefault(each.key, []).append(each)
    for several in found.values():
        several.sort(key=lambda each: _WORST_FIRST.index(each.state))
    return found


def promise_words(standing: DatasetStatus, promised: Sequence[SlaStanding]) -> Text:
    """How the worst of a dataset's promises stands."""
    from rich.text import Text

    if standing.sla is None:
        return Text("no SLA", style="dim")
    if not promised:
        return Text("not judged yet", style="dim")
    worst = promised[0]
    words = worst.state.value.lower().replace("_", " ")
    if worst.state is State.ON_TRACK and worst.deadline is not None and worst.met_at is None:
        return Text(f"{words}, due {moment(worst.deadline)}", style=STYLES[worst.state])
    return Text(f"{words}: {worst.reason}", style=STYLES[worst.state])
