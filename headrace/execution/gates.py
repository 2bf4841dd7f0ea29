"""Let the written versions of an output pass the gates, before they are published."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.execution.plan import OutputPlan, ProcessPlan
from headrace.gates import Candidate, Moment, gate_results, is_gated
from headrace.stores.writes import WrittenVersion


def gated(
    engine: Engine, plan: ProcessPlan, output: OutputPlan, written: tuple[str, list[WrittenVersion]]
) -> tuple[str, list[WrittenVersion]]:
    """Add the results of all gates to the versions of an output, which a failed one blocks."""
    if not is_gated(Moment.PUBLISH):
        return written
    tag, versions = written
    candidate = Candidate(
        Moment.PUBLISH,
        output.record.key,
        output.record,
        "dataset",
        [each.dataset for each in plan.inputs],
        {
            "rows": sum(each.row_count for each in versions),
            "bytes": sum(each.byte_size for each in versions),
            "partitions": [each.partition for each in versions if each.partition is not None],
        },
    )
    with transaction(engine) as cursor:
        [results] = gate_results(cursor, [candidate])
    return tag, [replace(each, check_results=(*each.check_results, *results)) for each in versions]
