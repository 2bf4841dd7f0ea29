"""The polls sensor: reports of processes whose state is polled in a database or at an HTTP endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic

import dagster as dg

from headrace.alerts.heartbeat import record_heartbeat
from headrace.context import current_context
from headrace.database.connection import connect
from headrace.database.locks import alone
from headrace.nouns import counted
from headrace.orchestration.completions.opening import folder_at
from headrace.polling.polling import Polled, PollState, run_poll
from headrace.polling.polls import Poll
from headrace.polling.reading import PollFailed
from headrace.spark.errors import ResourceError
from headrace.spark.session import file_session

TIME_LIMIT = timedelta(seconds=30)  # Dagster cancels a tick at 60 s
_STATE = "headrace/poll/"  # of each poll, in Dagster's storage


def polls_sensor(polls: Sequence[Poll]) -> dg.SensorDefinition:
    """Create the sensor over the polls of a project. A poll that fails is tried at the next tick; the others go on."""

    @dg.sensor(
        name="polls",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Polls {', '.join(poll.name for poll in polls)}.",
    )
    def polls_(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        engine = connect()
        done: list[str] = []
        deadline = monotonic() + TIME_LIMIT.total_seconds()
        for poll in polls:
            with alone(engine, f"poll {poll.name}") as mine:
                try:
                    if not mine or not state_of(context.instance, poll).is_due(poll, datetime.now(UTC)):
                        continue
                    polled = poll_once(context.instance, poll)
                except (PollFailed, ResourceError, OSError) as error:
                    context.log.warning(f"poll {poll.name}: {error}")
                    continue
                except Exception:  # a value that no poll expects: the others go on
                    context.log.exception(f"poll {poll.name}")
                    continue
                done.append(f"{poll.name}: {counted(len(polled.reports), 'report')}")
            if monotonic() >= deadline:
                break
        record_heartbeat(engine, "polls", datetime.now(UTC))
        return dg.SensorResult(skip_reason=dg.SkipReason("; ".join(done) or "No poll is due."))

    return polls_


def poll_once(instance: dg.DagsterInstance, poll: Poll, *, dry_run: bool = False) -> Polled:
    """Poll, drop the reports into the folder of completions, and store where the next poll starts.

    dry_run: only read. Raises PollFailed, ResourceError, OSError.
    """
    drop = None if dry_run else folder_at(current_context().settings.completions_location).drop
    polled = run_poll(poll, state_of(instance, poll), file_session, drop, datetime.now(UTC))
    if not dry_run:
        instance.daemon_cursor_storage.set_cursor_values({f"{_STATE}{poll.name}": polled.state.stored})
    return polled


def state_of(instance: dg.DagsterInstance, poll: Poll) -> PollState:
    """Return where the next poll starts."""
    key = f"{_STATE}{poll.name}"
    return PollState.of(poll, instance.daemon_cursor_storage.get_cursor_values({key}).get(key))
