"""Secrets and values that logs must not contain."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from headrace.access.redaction import RedactingFormatter, redact_logs
from headrace.access.tokens import issue_task_token
from headrace.database.connection import transaction
from headrace.publishing.runs import attempt
from headrace.service import server as serving

TOKEN = "hrt_" + "a" * 32 + "_abc-DEF_ghi"


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    logger, written = logging.getLogger("headrace.test-of-logs"), io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.propagate = False
    redact_logs(logger.name)
    redact_logs(logger.name)  # again, which changes nothing
    yield logger, written
    logger.removeHandler(handler)


def test_secrets_are_in_no_line(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, written = log
    logger.warning("sent %s to %s", TOKEN, "postgresql://bob:hunter2@db/x?password=hunter3")
    output = written.getvalue()
    assert output.startswith("WARNING sent hrt_*** to postgresql://bob:***@db/x?password=***")


def test_statements_and_their_values_are_in_no_traceback(
    engine: Engine, log: tuple[logging.Logger, io.StringIO]
) -> None:
    logger, written = log
    who, query = f"{'ann'}@example.com", text("SELECT :who FROM nothing_like_it")
    try:
        with engine.connect() as connection:
            connection.execute(query, {"who": who})
    except DBAPIError:
        logger.exception("request 7 failed")
    try:
        with transaction(engine) as cursor:
            for _ in range(2):
                cursor.execute("INSERT INTO catalog.organisation VALUES (gen_random_uuid(), %s)", [who])
    except psycopg.errors.UniqueViolation:
        logger.exception("request 8 failed")
    output = written.getvalue()
    for reported in ("request 7 failed", "UndefinedTable", "request 8 failed", "UniqueViolation"):
        assert reported in output
    assert "example.com" not in output


def test_the_service_writes_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    loggers = [logging.getLogger(name) for name in ("headrace", "headrace.access")]
    before = [list(logger.handlers) for logger in loggers]
    for logger in loggers:
        monkeypatch.setattr(logger, "handlers", [])
    serving._log_to_standard_error()
    for logger, earlier in zip(loggers, before, strict=True):
        assert logger.handlers
        assert all(isinstance(handler.formatter, RedactingFormatter) for handler in logger.handlers)
        assert logger.handlers is not earlier
    assert logging.lastResort is not None
    assert isinstance(logging.lastResort.formatter, RedactingFormatter)


def test_no_password_is_kept_of_what_a_run_failed_of(catalog: Engine) -> None:
    run_id = uuid4()
    token = issue_task_token(catalog, run_id, [], by="test")
    message = f"jdbc:postgresql://bob:hunter2@db does not answer {token}"
    with (
        pytest.raises(ValueError, match="hunter2"),
        attempt(catalog, run_id=run_id, process_key="mart/delays"),
    ):
        raise ValueError(message)
    with transaction(catalog) as cursor:
        attempts = str(cursor.execute("SELECT reason FROM catalog.run_attempt").fetchall())
        events = str(cursor.execute("SELECT payload_json FROM catalog.run_event").fetchall())
    for kept in (attempts, events):
        assert "does not answer" in kept
        assert "hunter2" not in kept
        assert token not in kept
