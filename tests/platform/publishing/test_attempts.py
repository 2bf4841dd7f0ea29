"""Runs and attempts: their ends, and the detection of dead ones."""

import os
import signal
import subprocess
import sys
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from headrace import queries
from headrace.catalog.records import InputRequest, PinReason, RunState
from headrace.database.connection import transaction
from headrace.database.ids import run_id as run_id_of
from headrace.errors import AttemptLost, MissingVersion, UnknownProcess
from headrace.publishing.pins import resolve
from headrace.publishing.publication import publish
from headrace.publishing.runs import attempt, reap, record_inputs
from headrace.retention.run_reports import why

HOLD = """
import sys, time
from uuid import UUID
from headrace.database.connection import connect
from headrace.publishing.runs import attempt
with attempt(connect(), run_id=UUID(sys.argv[1]), process_key="mart/delays"):
    print("held", flush=True)
    time.sleep(60)
"""


def attempts(engine: Engine, run_id: Any) -> Any:
    (report,) = why(engine, run_id)
    return [(each.number, each.state, each.failure_kind) for each in report.attempts]


def test_a_block_that_ends_is_a_success(catalog: Engine) -> None:
    run_id = uuid4()
    with attempt(
        catalog, run_id=run_id, process_key="mart/delays", partitions=["a"], log_location="/logs/1"
    ) as current:
        assert why(catalog, run_id)[0].state is RunState.RUNNING
    assert current.state is RunState.SUCCESS
    (report,) = why(catalog, run_id)
    assert (report.state, report.partitions, report.attempts[0].log_location) == (
        RunState.SUCCESS,
        ("a",),
        "/logs/1",
    )
    assert report.ended_at >= report.started_at


def test_an_attempt_leaves_the_pool_the_connection_that_knows_the_statements(catalog: Engine) -> None:
    def connection() -> Any:
        with transaction(catalog) as cursor:
            return cursor.connection.info.backend_pid

    before = connection()
    with attempt(catalog, run_id=uuid4(), process_key="mart/delays"):
        assert connection() == before
    assert connection() == before


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("no"), "CODE"),
        (OSError("disk"), "INFRASTRUCTURE"),
        (KeyboardInterrupt(), "INTERRUPTED"),
        (MissingVersion("gone"), "INPUT"),
    ],
)
def test_an_exception_is_the_reason(catalog: Engine, error: Any, kind: Any) -> None:
    run_id = uuid4()
    with pytest.raises(type(error)), attempt(catalog, run_id=run_id, process_key="mart/delays"):
        raise error
    (report,) = why(catalog, run_id)
    assert report.state is RunState.FAILED
    assert report.attempts[0].failure_kind == kind
    message = str(error) or "its process was asked to stop"
    assert str(report.attempts[0].reason).startswith(f"{type(error).__name__}: {message}")


def test_a_retry_is_the_next_attempt_of_the_run(catalog: Engine) -> None:
    run_id = run_id_of("dagster-1", "mart/delays")
    with pytest.raises(ZeroDivisionError), attempt(catalog, run_id=run_id, process_key="mart/delays"):
        _ = 1 / 0
    with attempt(catalog, run_id=run_id, process_key="mart/delays"):
        pass
    assert attempts(catalog, run_id) == [(1, "FAILED", "CODE"), (2, "SUCCESS", None)]
    assert why(catalog, run_id)[0].state is RunState.SUCCESS


def test_a_reported_end_is_kept(catalog: Engine) -> None:
    run_id = uuid4()

    def block() -> None:
        with attempt(catalog, run_id=run_id, process_key="mart/delays") as current:
            current.end(RunState.BLOCKED, "failed check: x", "CHECK")
            with pytest.raises(ValueError, match="ended already"):
                current.end(RunState.SUCCESS)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        block()
    assert attempts(catalog, run_id) == [(1, "BLOCKED", "CHECK")]


def test_running_and_lost_are_no_ends(catalog: Engine) -> None:
    with attempt(catalog, run_id=uuid4(), process_key="mart/delays") as current:
        for state in (RunState.RUNNING, RunState.LOST):
            with pytest.raises(ValueError, match="is not a final state"):
                current.end(state)


def test_an_unknown_process_is_refused(catalog: Engine) -> None:
    with (
        pytest.raises(UnknownProcess, match="no/such"),
        attempt(catalog, run_id=uuid4(), process_key="no/such"),
    ):
        pass


def test_a_live_attempt_is_not_reaped_and_one_that_was_killed_is(catalog: Engine) -> None:
    run_id = uuid4()
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(run_id)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        assert reap(catalog) == []
        assert attempts(catalog, run_id) == [(1, "RUNNING", None)]
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    _until_its_session_ended(catalog)
    (lost,) = reap(catalog)
    assert (lost.run_id, lost.number, lost.process_key) == (run_id, 1, "mart/delays")
    assert attempts(catalog, run_id) == [(1, "LOST", "INFRASTRUCTURE")]
    assert why(catalog, run_id)[0].state is RunState.LOST
    assert reap(catalog) == []


def test_an_attempt_that_was_given_up_publishes_nothing(catalog: Engine, draft: Any) -> None:
    """Its session ended, it was marked LOST, and retention may have deleted its files; it goes on all the same."""
    run_id = uuid4()

    def block() -> None:
        with attempt(catalog, run_id=run_id, process_key="mart/delays") as current:
            _end_sessions_with_locks(catalog)
            assert [each.run_id for each in reap(catalog)] == [run_id]
            publish(catalog, run_id, [draft("mart/delays")], attempt=current.number)

    with pytest.raises(AttemptLost, match="given up as lost"):
        block()
    assert queries.versions(catalog, "mart/delays") == []
    assert attempts(catalog, run_id) == [(1, "FAILED", "INFRASTRUCTURE")]


def test_the_attempt_after_one_that_was_given_up_publishes(catalog: Engine, draft: Any) -> None:
    run_id = uuid4()
    with attempt(catalog, run_id=run_id, process_key="mart/delays") as first:
        _end_sessions_with_locks(catalog)
        with attempt(catalog, run_id=run_id, process_key="mart/delays") as second:
            with pytest.raises(AttemptLost):
                publish(catalog, run_id, [draft("mart/delays", tag="one")], attempt=first.number)
            [published] = publish(catalog, run_id, [draft("mart/delays", tag="two")], attempt=second.number)
    assert published.version.tag == "two"


def test_a_retry_marks_the_dead_attempt_before_it(catalog: Engine) -> None:
    run_id = uuid4()
    with attempt(catalog, run_id=run_id, process_key="mart/delays") as first:
        _end_sessions_with_locks(catalog)
        with attempt(catalog, run_id=run_id, process_key="mart/delays"):
            pass
        assert attempts(catalog, run_id) == [(1, "LOST", "INFRASTRUCTURE"), (2, "SUCCESS", None)]
        first.end(RunState.FAILED, "alive after all")
    assert attempts(catalog, run_id) == [(1, "FAILED", None), (2, "SUCCESS", None)]
    assert why(catalog, run_id)[0].state is RunState.SUCCESS


def test_a_failure_that_cannot_be_recorded_is_still_raised(catalog: Engine) -> None:
    def fail_unrecorded() -> None:
        with attempt(catalog, run_id=uuid4(), process_key="mart/delays"):
            with transaction(catalog) as cursor:
                cursor.execute("ALTER TABLE catalog.run_attempt RENAME TO gone")
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError) as raised:
        fail_unrecorded()
    assert "The catalog does not know of this failure" in raised.value.__notes__[0]


def test_an_attempt_does_not_use_the_pool_up(catalog: Engine) -> None:
    held = [attempt(catalog, run_id=uuid4(), process_key="mart/delays") for _ in range(20)]
    for each in held:
        each.__enter__()
    assert catalog.pool.checkedout() == 0  # type: ignore[attr-defined]
    for each in held:
        each.__exit__(None, None, None)


def test_inputs_of_a_running_attempt_are_recorded_with_their_reason(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft("raw/flights", "a")])
    run_id = uuid4()
    with attempt(catalog, run_id=run_id, process_key="mart/delays") as current:
        ((resolved,),) = resolve(catalog, [InputRequest("raw/flights", "mart/delays", ("a",))])
        for _ in range(2):
            record_inputs(catalog, run_id, current.number, [resolved])
        (read,) = why(catalog, run_id)[0].inputs
    assert (read.version.dataset, read.version.partition, read.reason) == (
        "raw/flights",
        "a",
        PinReason.PUBLISHED,
    )


def _until_its_session_ended(engine: Engine) -> None:
    """The server notices a killed client when it next looks at its socket: at once, on a unix socket."""
    query = sa.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
    for _ in range(200):
        with engine.connect() as connection:
            if connection.scalar(query) == 0:
                return
            connection.execute(sa.text("SELECT pg_sleep(0.02)"))
    pytest.fail("the killed process's session did not end")


def _end_sessions_with_locks(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.execute(
            sa.text(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' AND database = "
                "(SELECT oid FROM pg_database WHERE datname = current_database())"
            )
        )
