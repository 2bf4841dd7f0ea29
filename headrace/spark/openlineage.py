"""Configure Spark's OpenLineage listener to report with a run's token."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.catalog.published_events import namespace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Environment variables of the processes that a run starts.
TOKEN, RUN_ID, PROCESS, SERVICE_URL = "HEADRACE_TOKEN", "HEADRACE_RUN_ID", "HEADRACE_PROCESS", "HEADRACE_URL"

_LISTENERS = "spark.extraListeners"
_LISTENER = "OpenLineageSparkListener"
_KEY = "spark.openlineage.transport.auth.apiKey"
# Spark's own pattern, and keys: its UI and event log hide the values of such settings.
_REDACTED = {"spark.redaction.regex": "(?i)secret|password|token|access[.]?key|api[._-]?key"}


def listener_conf(conf: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of OpenLineage's listener for reporting to the catalog, with the token of the run that starts
    Spark.

    {} unless `conf` has the listener without a transport, and the environment has a token.
    """
    token = os.environ.get(TOKEN)
    if token is None or not _has_listener(conf) or "spark.openlineage.transport.type" in conf:
        return {}
    return {
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": os.environ[SERVICE_URL],
        "spark.openlineage.transport.endpoint": "/api/v1/lineage",
        "spark.openlineage.transport.auth.type": "api_key",
        _KEY: token,
        "spark.openlineage.parentJobNamespace": namespace(),
        "spark.openlineage.parentJobName": os.environ[PROCESS],
        "spark.openlineage.parentRunId": os.environ[RUN_ID],
        **_REDACTED,
    }


def is_of_another_run(session: SparkSession, conf: Mapping[str, str]) -> bool:
    """Return True if the session's listener has the token of another run than the environment: it reads it at its
    start."""
    token = os.environ.get(TOKEN)
    if token is None or not _has_listener(conf) or not hasattr(session, "_jsparkSession"):
        return False
    given = session.conf.get(_KEY, None)
    return given is not None and given.startswith("hrt_") and given != token


def _has_listener(conf: Mapping[str, str]) -> bool:
    return _LISTENER in conf.get(_LISTENERS, "")
