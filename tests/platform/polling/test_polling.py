"""Runs that a system keeps in its own tables or behind an endpoint are polled, and reported like any others."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent
from time import sleep
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from typer.testing import CliRunner

from headrace.cli import app
from headrace.connections.database import Database
from headrace.connections.failures import StatementFailed
from headrace.database.connection import transaction
from headrace.orchestration.completions.intake import take_in
from headrace.orchestration.completions.opening import folder_at
from headrace.orchestration.sensors.polls import poll_once, polls_sensor, state_of
from headrace.polling.checking import check_legacy
from headrace.polling.polling import Polled, PollState, run_poll
from headrace.polling.polls import Poll, load_polls
from headrace.polling.reading import PollFailed
from headrace.polling.reports import reports
from headrace.settings import settings
from headrace.spark.errors import StoreUnavailable
from tests.paths import REPOSITORY
from tests.platform.connections.conftest import database  # noqa: F401 - a fixture
from tests.platform.connections.databases import configured, derby
from tests.platform.test_outgoing import dripping

QUEUE = """
CREATE TABLE shop.request (
    id INTEGER NOT NULL PRIMARY KEY, service VARCHAR(40), state VARCHAR(20), started TIMESTAMP, ended TIMESTAMP,
    business_date DATE, params VARCHAR(200), note VARCHAR(200), changed_at TIMESTAMP NOT NULL)
"""
POLL = Poll(
    name="requests",
    technology="run_management",
    connection="crm",
    query="SELECT * FROM shop.request WHERE changed_at >= :watermark ORDER BY changed_at -- not :watermark",
    watermark="changed_at",
    since=datetime(2026, 11, 1),  # noqa: DTZ001 - the column has no zone
    timezone="America/New_York",
    fields={
        "process": "service",
        "run": "id",
        "status": "state",
        "started_at": "started",
        "at": "ended",
        "reason": "note",
    },
    statuses={"COMPLETE": "SUCCESS", "REJECTED": "FAILURE", "ENTERED": None},
)


def insert(database: Database, id: int, state: str, minute: int, note: str = "") -> None:  # noqa: F811
    is_postgresql = database.dialect.name == "PostgreSQL"
    moment = "TIMESTAMP '2026-11-28 04:{:02}:00'" if is_postgresql else "TIMESTAMP('2026-11-28 04:{:02}:00')"
    day = "DATE '2026-11-27'" if is_postgresql else "DATE('2026-11-27')"
    at = moment.format(minute)
    database.execute(
        f"DELETE FROM shop.request WHERE id = {id}",  # noqa: S608
        f"INSERT INTO shop.request VALUES ({id}, 'RM.REVAL', '{state}', {moment.format(1)}, {at}, {day}, "  # noqa: S608
        f"'desk=7', '{note}', {at})",
    )


def runs(engine: Engine) -> list[tuple[Any, ...]]:
    """The runs in the catalog, after the folder of completions has been read."""
    folder = folder_at(settings().completions_location)
    while any(Path(folder.location).glob("poll_*")):  # a file counts as complete after a second
        assert take_in(engine, folder, timedelta(minutes=1), patience=0).problems == []
        sleep(0.1)
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT process_key, facets_json ->> 'external_run' AS run, status FROM catalog.process_run "
            "JOIN catalog.process USING (process_id) ORDER BY run"
        ).fetchall()
    return [tuple(row.values()) for row in rows]


def events(engine: Engine) -> int:
    with transaction(engine) as cursor:
        row = cursor.execute(
            "SELECT count(*) AS n FROM catalog.run_event WHERE source = 'SCHEDULER'"
        ).fetchone()
    assert row is not None
    return int(row["n"])


@pytest.fixture
def queue(database: Database) -> Database:  # noqa: F811
    database.execute(QUEUE)
    return database


def test_requests_of_a_queue_are_runs(engine: Engine, queue: Database) -> None:
    instance = dg.DagsterInstance.ephemeral()
    insert(queue, 1, "COMPLETE", 10)
    insert(queue, 2, "REJECTED", 11, "no such desk")
    insert(queue, 3, "ENTERED", 12)

    polled = poll_once(instance, POLL)

    assert polled.rows == 3
    assert polled.reports[0] == {
        "technology": "run_management",
        "run": 1,
        "process": "RM.REVAL",
        "status": "SUCCESS",
        "started_at": "2026-11-28T04:01:00-05:00",
        "at": "2026-11-28T04:10:00-05:00",
        "business_date": "2026-11-27",
        "metadata": {"params": "desk=7", "changed_at": "2026-11-28T04:10:00-05:00"},
    }
    assert runs(engine) == [
        ("RUNMGR/RM.REVAL", "1", "SUCCESS"),
        ("RUNMGR/RM.REVAL", "2", "FAILED"),
    ]


def test_a_poll_continues_where_the_last_one_ended_and_repeats_nothing(
    engine: Engine, queue: Database
) -> None:
    instance = dg.DagsterInstance.ephemeral()
    insert(queue, 1, "COMPLETE", 10)
    poll_once(instance, POLL)
    insert(queue, 2, "COMPLETE", 20)

    assert [report["run"] for report in poll_once(instance, POLL).reports] == [
        1,
        2,
    ]  # at the watermark, and after
    assert [report["run"] for report in poll_once(instance, POLL).reports] == [2]
    assert len(runs(engine)) == 2
    assert events(engine) == 2


def test_an_overlap_finds_rows_that_were_committed_late(engine: Engine, queue: Database) -> None:
    instance = dg.DagsterInstance.ephemeral()
    poll = POLL.model_copy(update={"overlap": timedelta(minutes=15)})
    insert(queue, 2, "COMPLETE", 30)
    poll_once(instance, poll)
    insert(queue, 1, "COMPLETE", 20)
    assert [report["run"] for report in poll_once(instance, poll).reports] == [1, 2]


def test_a_poll_that_dies_before_it_stored_its_watermark_reports_nothing_twice(
    engine: Engine, queue: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = dg.DagsterInstance.ephemeral()
    insert(queue, 1, "COMPLETE", 10)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(instance.daemon_cursor_storage, "set_cursor_values", die)
        with pytest.raises(KeyboardInterrupt):
            poll_once(instance, POLL)
    poll_once(instance, POLL)
    assert len(runs(engine)) == 1


def test_more_rows_than_a_poll_reads_are_left_for_the_next(
    queue: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.polling.reading.MAX_ROWS", 2)
    for id in range(1, 4):
        insert(queue, id, "COMPLETE", 10 + id)
    first = run_poll(POLL, PollState(POLL.since), lambda: spark, None, datetime.now(UTC))
    assert (first.rows, first.state.is_behind) == (2, True)
    second = run_poll(POLL, first.state, lambda: spark, None, datetime.now(UTC))
    assert [report["run"] for report in second.reports] == [2, 3]
    for id in range(4, 8):
        insert(queue, id, "COMPLETE", 13)
    with pytest.raises(PollFailed, match="2 rows have the watermark"):
        run_poll(POLL, PollState(datetime(2026, 11, 28, 4, 13)), lambda: spark, None, datetime.now(UTC))  # noqa: DTZ001


def test_the_sensor_goes_on_with_other_polls_when_one_fails(
    engine: Engine, queue: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def poll_or_break(instance: dg.DagsterInstance, poll: Poll) -> Polled:
        if poll.name == "unforeseen":
            raise OverflowError("date value out of range")
        return poll_once(instance, poll)

    monkeypatch.setattr("headrace.orchestration.sensors.polls.poll_once", poll_or_break)
    instance = dg.DagsterInstance.ephemeral()
    insert(queue, 1, "COMPLETE", 10)
    broken = POLL.model_copy(update={"name": "broken", "query": "SELECT 1 FROM missing WHERE 1 = :watermark"})
    context = dg.build_sensor_context(instance=instance)
    result: Any = polls_sensor([broken, POLL.model_copy(update={"name": "unforeseen"}), POLL])(context)
    assert result.skip_reason.skip_message == "requests: 1 report"
    again: Any = polls_sensor([POLL])(dg.build_sensor_context(instance=instance))
    assert again.skip_reason.skip_message == "No poll is due."
    assert state_of(instance, POLL).watermark == datetime(2026, 11, 28, 4, 10)  # noqa: DTZ001


@pytest.mark.usefixtures("queue")
def test_a_connection_that_is_unknown_is_named() -> None:
    with pytest.raises(StoreUnavailable, match="There is no connection 'other'"):
        poll_once(dg.DagsterInstance.ephemeral(), POLL.model_copy(update={"connection": "other"}))


class Requests(BaseHTTPRequestHandler):
    """A request system with two pages, which knows one token."""

    status = 200

    def do_GET(self) -> None:
        if self.headers["Authorization"] != "Bearer s3cret":
            self.send_response(401)
            self.end_headers()
            return
        page = "second" if "page=2" in self.path else "first"
        body = {
            "first": {
                "data": [{"Id": 7, "Service": "FX", "State": "done", "changed": 41}],
                "links": {"next": "/r?page=2"},
            },
            "second": {"data": [{"Id": 8, "Service": "FX", "State": "failed", "changed": 42}], "links": {}},
        }[page]
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def endpoint() -> Iterator[Poll]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Poll(
        name="fx",
        technology="run_management",
        url=f"http://127.0.0.1:{server.server_address[1]}/r?since={{watermark}}&token=hidden",
        headers={"Authorization": "Bearer ${RM_TOKEN}"},
        items="data",
        next_page="links.next",
        watermark="changed",
        since=0,
        fields={"process": "Service", "run": "Id", "status": "State"},
        statuses={"done": "SUCCESS", "failed": "FAILURE"},
    )
    server.shutdown()


def test_an_endpoint_is_polled_page_by_page(
    engine: Engine, endpoint: Poll, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RM_TOKEN", "s3cret")
    polled = poll_once(dg.DagsterInstance.ephemeral(), endpoint)
    assert (polled.rows, polled.state.watermark) == (2, 42)
    assert runs(engine) == [("RUNMGR/FX", "7", "SUCCESS"), ("RUNMGR/FX", "8", "FAILED")]


def test_an_endpoint_that_refuses_is_explained_without_its_secrets(
    engine: Engine, endpoint: Poll, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = dg.DagsterInstance.ephemeral()
    with pytest.raises(PollFailed, match="the environment variable RM_TOKEN"):
        poll_once(instance, endpoint)
    monkeypatch.setenv("RM_TOKEN", "wrong")
    with pytest.raises(PollFailed, match=r"/r answers with HTTP 401; check `headers`") as refused:
        poll_once(instance, endpoint)
    assert "hidden" not in str(refused.value)
    assert "wrong" not in str(refused.value)
    monkeypatch.setenv("RM_TOKEN", "s3cret")
    with pytest.raises(PollFailed, match="has no list of objects at 'rows'"):
        poll_once(instance, endpoint.model_copy(update={"items": "rows"}))
    with pytest.raises(PollFailed, match="a row has no missing, which `watermark` names"):
        poll_once(instance, endpoint.model_copy(update={"watermark": "missing"}))
    assert state_of(instance, endpoint).polled_at is None


DECLARED = """
- name: requests
  technology: run_management
  connection: crm
  query: requests.sql
  watermark: changed_at
  since: 2026-11-01T00:00:00
  every: 5m
- name: requests
  technology: shell
  url: https://rm.example.com/api?after={watermark}
  watermark: id
  since: 0
- name: both
  technology: shell
  url: https://rm.example.com/api
  query: SELECT 1
  watermark: id
  since: 0
- technology: cobol
  name: odd
  query: SELECT 1
  connection: crm
  watermark: id
  since: 0
- name: outside
  technology: shell
  connection: crm
  query: ../../secret.sql
  watermark: id
  since: 0
- name: everything
  technology: shell
  connection: crm
  query: SELECT 1 AS id, 'a' AS job_name, 'SUCCESS' AS state -- :watermark
  watermark: id
  since: 0
- name: elsewhere
  technology: shell
  connection: crn
  query: SELECT id, process, status FROM t WHERE id > :watermark
  watermark: id
  since: 0
- name: always_all
  technology: shell
  url: https://rm.example.com/api
  watermark: id
  since: 0
- name: misspelt
  technology: shell
  connection: crm
  query: SELECT id, service, state FROM t WHERE id > :watermark
  watermark: idd
  since: 0
  fields:
    process: servce
- name: words
  technology: shell
  connection: crm
  query: SELECT * FROM t WHERE id > :watermark
  watermark: id
  since: 0
  fields: {proces: service}
  statuses:
    COMPLETE: SUCESS
    IDLE: INACTIVE
- name: anonymous
  technology: shell
  connection: crm
  query: SELECT id, service AS svc, state FROM t WHERE id > :watermark
  watermark: id
  since: 0
"""


def test_an_endpoint_that_never_ends_its_answer_does_not_hold_the_poll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headrace.polling.reading._ANSWER_SECONDS", 1.0)
    poll = Poll(name="slow", technology="shell", url="http://x/{watermark}", watermark="id", since=0)
    with dripping(b"HTTP/1.1 200 OK\r\n\r\n[", b" ") as url:
        slow = poll.model_copy(update={"url": f"{url}?after={{watermark}}&key=hidden"})
        with pytest.raises(PollFailed, match=r"127.0.0.1:\d+/r has not answered completely within 1 s$"):
            run_poll(slow, PollState(0), pytest.fail, None, datetime.now(UTC))


def test_a_query_that_takes_too_long_is_cancelled(
    queue: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.polling.reading._QUERY_SECONDS", 1)
    columns = "pg_catalog.pg_attribute" if queue.dialect.name == "PostgreSQL" else "sys.syscolumns"
    slow = f"SELECT count(*) AS changed_at FROM {columns} a, {columns} b, {columns} c, {columns} d"  # noqa: S608
    poll = POLL.model_copy(update={"query": f"{slow} WHERE 1 = :watermark", "since": 1})
    with pytest.raises(
        StatementFailed, match="cancelled a statement of the connection crm, which took too long"
    ):
        run_poll(poll, PollState(1), lambda: spark, None, datetime.now(UTC))


@pytest.fixture
def crm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Settings with a connection crm."""
    with configured(monkeypatch, tmp_path, derby("crm")):
        yield


@pytest.mark.usefixtures("crm")
def test_errors_of_the_file_name_the_line_and_the_field_and_the_other_polls_load(tmp_path: Path) -> None:
    (tmp_path / "legacy").mkdir()
    (tmp_path / "legacy" / "polls.yaml").write_text(DECLARED)
    (tmp_path / "legacy" / "requests.sql").write_text(
        "SELECT * FROM shop.request WHERE changed_at >= :watermark"
    )
    loaded = load_polls(tmp_path)
    assert [(poll.name, poll.every) for poll in loaded.polls] == [("requests", timedelta(minutes=5))]
    assert [(problem.line, problem.field) for problem in loaded.problems] == [
        (9, "1.name"),
        (14, "2"),
        (20, "3.technology"),
        (29, "4.query"),
        (35, "5.query"),
        (40, "6.connection"),
        (46, "7.url"),
        (53, "8.watermark"),
        (56, "8.fields.process"),
        (63, "9.fields.proces"),
        (65, "9.statuses.COMPLETE"),
        (66, "9.statuses.IDLE"),
        (70, "10.query"),
    ]
    messages = [str(problem).partition("polls.yaml")[2] for problem in loaded.problems]
    assert messages[5:] == [
        ":40: 6.connection: there is no connection 'crn'\n"
        "  Add [connections.crn] with its `url` to headrace.toml; there are crm.",
        ":46: 7.url: {watermark} is missing\n  Add a parameter such as `?changed_since={watermark}`.",
        ":53: 8.watermark: the query has no column 'idd'\n  Did you mean 'id'?",
        ":56: 8.fields.process: the query has no column 'servce'\n  Did you mean 'service'?",
        ":63: 9.fields.proces: 'proces' is not a field of a report; did you mean 'process'?",
        ":65: 9.statuses.COMPLETE: unknown status 'SUCESS'; did you mean SUCCESS?",
        ":66: 9.statuses.IDLE: INACTIVE means that there is no run: write null, and the row is skipped",
        ":70: 10.query: no column is the process of a run\n"
        "  Select one AS process, or name it: `fields: {process: COLUMN}`.",
    ]


@pytest.mark.usefixtures("crm")
def test_the_folder_is_checked_with_its_descriptions_of_processes(tmp_path: Path) -> None:
    (tmp_path / "legacy").mkdir()
    (tmp_path / "legacy" / "polls.yaml").write_text(
        "- {name: log, technology: db2_procedure, connection: crm, watermark: id, since: 0,\n"
        "   query: \"SELECT id, 'SALES.LOD' AS process, status FROM t WHERE id > :watermark\"}\n"
    )
    (tmp_path / "legacy" / "processes.yaml").write_text(
        "- name: SALES.LOAD\n  technology: db2_procedure\n"
        '  schedule: {at: "02:00", calendar: PAYDAYS}\n'
        "- name: SALES.CLOSE\n  technology: db2_procedure\n"
        "  schedule:\n    at: at night\n"
    )
    (tmp_path / "legacy" / "review.yaml").write_text("- pattern: /data/a\n  decision: pending\n")
    messages = [str(problem).replace(f"{tmp_path}/legacy/", "") for problem in check_legacy(tmp_path)]
    assert messages == [
        "polls.yaml:2: 0.query: no file in legacy/ describes the db2_procedure 'SALES.LOD'\n"
        "  Did you mean 'SALES.LOAD'?",
        "processes.yaml:7: SALES.CLOSE.schedule.at: 'at night' is not a time of day; write it in quotes, as in "
        '"02:00"\n  the entry is skipped, the others are kept',
        "processes.yaml:3: SALES.LOAD.schedule.calendar: unknown calendar 'PAYDAYS': use the code of an exchange "
        "(XLON), of a country or subdivision (GB, US-NY), or the name of a calendar of a scanned estate\n"
        "  until a scan has it, no start is expected",
    ]
    (tmp_path / "legacy" / "calendars.txt").write_text(
        "calendar: PAYDAYS\ndescription: x\n12/31/2026 00:00:00\n"
    )
    assert len(check_legacy(tmp_path)) == 2


@pytest.mark.parametrize("name", ["polls", "run-management", "db2-procedures"])
def test_the_polls_of_the_docs_are_valid(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (REPOSITORY / "docs" / f"{name}.md").read_text()
    blocks = [dedent(each) for each in re.findall(r"```\w+\n(.*?)```", page, re.DOTALL)]
    polls = [each for each in blocks if "watermark: " in each and "technology: " in each]
    assert polls
    (tmp_path / "legacy").mkdir()
    for each in blocks:
        if "legacy/run_requests.sql" in each:
            (tmp_path / "legacy" / "run_requests.sql").write_text(each)
    with configured(monkeypatch, tmp_path, derby("opsdb") + derby("salesdb")):
        for text in polls:
            (tmp_path / "legacy" / "polls.yaml").write_text(text)
            loaded = load_polls(tmp_path)
            assert (loaded.problems, len(loaded.polls)) == ((), 1)


def test_the_command_shows_what_a_poll_would_report(
    engine: Engine, queue: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert(queue, 1, "COMPLETE", 10)
    (tmp_path / "legacy").mkdir()
    (tmp_path / "legacy" / "polls.yaml").write_text(
        "- {name: requests, technology: shell, connection: crm, query: requests.sql, watermark: changed_at,\n"
        "   since: '2026-11-01T00:00:00'}\n"
    )
    (tmp_path / "legacy" / "requests.sql").write_text(
        "SELECT id AS run, service AS process, state AS status, changed_at\n"
        "FROM shop.request WHERE changed_at >= :watermark"
    )
    instance = dg.DagsterInstance.ephemeral()
    monkeypatch.setattr("headrace.local.environment.dagster_instance", lambda: nullcontext(instance))
    shown = CliRunner().invoke(app, ["legacy", "poll", "--dry-run", "--json"])
    assert shown.exit_code == 0, shown.output
    [found] = json.loads(shown.stdout)["polls"]
    assert (found["rows"], found["reports"][0]["process"]) == (1, "RM.REVAL")
    assert state_of(instance, POLL).polled_at is None
    unknown = CliRunner().invoke(app, ["legacy", "poll", "other"])
    assert unknown.exit_code == 1
    assert "has no poll other; it has: requests" in unknown.stderr


def test_rows_that_are_not_in_order_do_not_move_the_watermark(
    queue: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.polling.reading.MAX_ROWS", 2)
    for id in range(1, 4):
        insert(queue, id, "COMPLETE", 10 + id)
    newest_first = POLL.model_copy(
        update={"query": "SELECT * FROM shop.request WHERE changed_at >= :watermark ORDER BY changed_at DESC"}
    )
    with pytest.raises(PollFailed, match="not in the order of changed_at"):
        run_poll(newest_first, PollState(POLL.since), lambda: spark, None, datetime.now(UTC))


def test_times_of_an_endpoint_without_a_zone_are_in_that_of_the_poll() -> None:
    poll = POLL.model_copy(update={"fields": {}})
    rows: list[dict[str, Any]] = [
        {"process": "a", "status": "x", "started_at": "2026-11-02T09:00:00", "at": "2026-11-02T10:00:00Z"},
        {"process": "b", "status": "x", "metadata": "text", "other": 1},
    ]
    first, second = reports(poll, rows)
    assert (first["started_at"], first["at"]) == ("2026-11-02T09:00:00-05:00", "2026-11-02T10:00:00+00:00")
    assert second["metadata"] == "text"


def test_a_watermark_of_another_kind_begins_anew() -> None:
    stored = PollState(datetime(2026, 11, 3), polled_at=datetime.now(UTC)).stored  # noqa: DTZ001
    assert PollState.of(POLL, stored).watermark == datetime(2026, 11, 3)  # noqa: DTZ001
    for since in (datetime(2026, 11, 1, tzinfo=UTC), 5):
        assert PollState.of(POLL.model_copy(update={"since": since}), stored).watermark == since
