"""Repeat the notifications of published versions, as their declaration lists them."""

from __future__ import annotations

from sqlalchemy import Engine

from headrace.declarations.loading.code import project_code
from headrace.execution.notices import Notice, notify
from headrace.execution.plan import ProcessPlan
from headrace.publishing.unreported import record_delivered
from headrace.queries import published


class NoticeRefused(Exception):
    """Nothing can be repeated; the message says why."""


def repeat_notices(engine: Engine, dataset: str, partition: str | None) -> tuple[list[str], list[str]]:
    """Send the notifications of the published versions, of one partition or all; returns the delivered and the failed.

    Raises NoticeRefused if there are none to send.
    """
    declared = _notices(dataset)
    versions = [
        row.version for row in published(engine, [dataset]) if partition in (None, row.version.partition)
    ]
    if not versions:
        where = f", partition {partition}" if partition else ""
        raise NoticeRefused(f"{dataset} has no published version{where}")
    notified = notify(declared, versions)
    for each in notified:
        record_delivered(engine, each.version.version_id, each.delivered)
    return (
        [notice for each in notified for notice in each.delivered],
        [problem for each in notified for problem in each.failed],
    )


def _notices(dataset: str) -> tuple[Notice, ...]:
    outputs = {
        output.record.key: output
        for plan in project_code().loaded.plans
        if isinstance(plan, ProcessPlan)
        for output in plan.outputs
    }
    if dataset not in outputs:
        raise NoticeRefused(f"{dataset} is not declared; `headrace datasets` lists datasets")
    if not outputs[dataset].notices:
        raise NoticeRefused(
            f"{dataset} has no notifications: {outputs[dataset].record.declared_at} has no `notify`"
        )
    return outputs[dataset].notices
