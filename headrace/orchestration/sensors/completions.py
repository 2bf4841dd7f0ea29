"""The completions sensor: reads completion files and reports completions to Dagster."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import monotonic, sleep

import dagster as dg

from headrace.alerts.heartbeat import record_heartbeat
from headrace.context import current_context
from headrace.database.connection import connect
from headrace.nouns import noun
from headrace.orchestration.completions.folder import Folder
from headrace.orchestration.completions.intake import IntakeResult, take_in
from headrace.orchestration.completions.materializations import report_completions
from headrace.orchestration.completions.opening import folder_at

FILE_TIME_LIMIT = timedelta(seconds=20)  # Dagster cancels a tick at 60 s
REPORT_TIME_LIMIT = timedelta(seconds=15)
DAEMON_INTERVAL_SECONDS = (
    5.0  # seconds between two evaluations of sensors by Dagster's daemon, whatever their intervals
)
_MAX_LOGGED = 20  # logged problems per kind and tick


def completions_sensor() -> dg.SensorDefinition:
    """Create the sensor that ingests completion files and reports all new completions to Dagster, from any source.

    It commits as it goes, and keeps no state of its own: files are moved after ingestion, and pending materializations
    are in the catalog. Its cursor only counts reported completions. With an interval of less than DAEMON_LOOP a tick
    polls several times, until the next one is due.
    """
    folders: dict[
        str, Folder
    ] = {}  # for the life of the process: a folder remembers which files are being written

    @dg.sensor(
        name="completions",
        minimum_interval_seconds=current_context().settings.completions_interval,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Ingests completion files from {current_context().settings.completions_location}.",
    )
    def completions(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        engine = connect()
        location = current_context().settings.completions_location
        if location not in folders:
            folders[location] = folder_at(location)
        repository = context.repository_def
        shown = repository.asset_graph.get_all_asset_keys() if repository else None
        # A tick that is still running at the daemon's next evaluation would skip it.
        last_look = (
            monotonic() + DAEMON_INTERVAL_SECONDS - 2 * current_context().settings.completions_interval
        )
        taken, count = IntakeResult(), 0
        while True:
            taken += take_in(engine, folders[location], FILE_TIME_LIMIT)
            count += report_completions(engine, context.instance, REPORT_TIME_LIMIT, shown)
            if monotonic() >= last_look:
                break
            sleep(current_context().settings.completions_interval)
        _log(context, taken)
        record_heartbeat(engine, "completions", datetime.now(UTC))
        before = int(context.cursor or 0)
        return dg.SensorResult(skip_reason=dg.SkipReason(_summary(taken, count)), cursor=str(before + count))

    return completions


def _log(context: dg.SensorEvaluationContext, taken: IntakeResult) -> None:
    for problem in taken.problems[:_MAX_LOGGED]:
        context.log.warning(f"in quarantine: {problem}")
    if len(taken.problems) > _MAX_LOGGED:
        context.log.warning(
            f"{len(taken.problems) - _MAX_LOGGED} more problems; `headrace legacy quarantine` lists all"
        )
    for missing in taken.ingested.not_measured[:_MAX_LOGGED]:
        context.log.warning(missing)
    for key in taken.ingested.unscanned:
        context.log.info(f"{key} has reported runs, but is not in any scan yet")
    for scheduler in taken.ingested.assumed:
        context.log.info(f"jobs of {scheduler} are matched with those scanned without an instance")
    for dataset in sorted(set(taken.ingested.computed_here)):
        context.log.warning(
            f"{dataset} was reported as an external output, but Spark computes it here: ignored"
        )
    for dataset in taken.ingested.drafts:
        context.log.info(f"{dataset} was reported but is not declared: it is a draft")


def _summary(taken: IntakeResult, reported: int) -> str:
    if taken.busy:
        files = "Another process is reading the folder."
    elif taken.files or taken.problems or taken.waiting:
        new = taken.ingested.new
        files = f"{taken.files} {noun(taken.files, 'file')}, {new} {noun(new, 'new event')}."
        if taken.waiting:
            files += f" Being written: {taken.waiting} {noun(taken.waiting, 'file')}."
    else:
        files = "No new files."
    more = " More is left for the next tick." if taken.more else ""
    return f"{files}{more} {reported} {noun(reported, 'materialization')} reported."
