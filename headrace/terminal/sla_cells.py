"""SLA status of datasets in a few words, as of the last evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.slas.status import SlaStatus
from headrace.terminal.output import STYLES, moment

if TYPE_CHECKING:
    from rich.text import Text

    from headrace.queries.rows import DatasetStatus
    from headrace.slas.queries import SlaObjectiveStatus


def sla_status_text(objective: DatasetStatus, objectives: Sequence[SlaObjectiveStatus]) -> Text:
    """Return the worst SLA status of a dataset in words."""
    from rich.text import Text

    if objective.sla is None:
        return Text("no SLA", style="dim")
    if not objectives:
        return Text("not evaluated yet", style="dim")
    worst = objectives[0]
    words = worst.state.value.lower().replace("_", " ")
    if worst.state is SlaStatus.ON_TRACK and worst.deadline is not None and worst.met_at is None:
        return Text(f"{words}, due {moment(worst.deadline)}", style=STYLES[worst.state])
    return Text(f"{words}: {worst.reason}", style=STYLES[worst.state])
