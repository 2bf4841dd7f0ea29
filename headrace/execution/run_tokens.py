"""The token that a run passes to its child processes, with which they report on its behalf while it is alive."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from uuid import UUID

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from headrace.access.tokens import TASK_LEASE, issue_task_token, renew_task_token
from headrace.context import current_context
from headrace.errors import CatalogError
from headrace.execution.plan import ProcessPlan
from headrace.spark.openlineage import PROCESS, RUN_ID, SERVICE_URL, TOKEN

_LOG = logging.getLogger("headrace.runs")
_RENEWED = TASK_LEASE.total_seconds() / 3
# The settings of OpenLineage's Python client, and the variables derived from them.
_OPENLINEAGE = "OPENLINEAGE_"


@contextmanager
def run_environment(engine: Engine, plan: ProcessPlan, run_id: UUID) -> Iterator[None]:
    """Set the token of the run, its id, and the service's URL in the environment within the block.

    HEADRACE_TOKEN, HEADRACE_RUN_ID, HEADRACE_PROCESS and HEADRACE_URL; also OPENLINEAGE_URL and OPENLINEAGE_API_KEY,
    unless OpenLineage is configured. The token is valid for TASK_LEASE and renewed until the block ends.
    """
    outputs = [output.record.key for output in plan.outputs]
    inputs = [item.dataset for item in plan.inputs]
    token = issue_task_token(
        engine, run_id, outputs, inputs, lifetime=TASK_LEASE, by=f"process:{plan.record.key}"
    )
    before = _reporting()
    named = {
        TOKEN: token,
        RUN_ID: str(run_id),
        PROCESS: plan.record.key,
        SERVICE_URL: current_context().settings.service_url,
    }
    if not any(name.startswith(_OPENLINEAGE) for name in before):
        named |= {"OPENLINEAGE_URL": current_context().settings.service_url, "OPENLINEAGE_API_KEY": token}
    ended = Event()
    renewing = Thread(target=_renew, args=(engine, token, ended), daemon=True)
    os.environ.update(named)
    renewing.start()
    try:
        yield
    finally:
        ended.set()
        for name in _reporting():
            del os.environ[name]
        os.environ.update(before)


def _reporting() -> Mapping[str, str]:
    """Return the environment variables for reporting: URL and token."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in (TOKEN, RUN_ID, PROCESS, SERVICE_URL) or name.startswith(_OPENLINEAGE)
    }


def _renew(engine: Engine, token: str, ended: Event) -> None:
    """Renew the token until the block ends. A failed renewal is retried before the lease expires."""
    while not ended.wait(_RENEWED):
        try:
            if not renew_task_token(engine, token):
                return
        except (CatalogError, SQLAlchemyError) as error:
            _LOG.warning("the run's token could not be renewed yet: %s", error)
