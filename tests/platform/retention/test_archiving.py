"""No row is lost or duplicated, whatever is archived, reported late, repeated, locked or killed."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from headrace import queries
from headrace.access.grants import add_organisation
from headrace.catalog.records import InputRequest, RunState
from headrace.catalog.run_events import RunEvent
from headrace.context import Principal, act_as, current_context, organisation_named
from headrace.database.connection import transaction
from headrace.database.locks import alone
from headrace.job_reports.ingestion import ingest
from headrace.publishing.pins import resolve
from headrace.publishing.publication import publish
from headrace.publishing.runs import attempt, record_inputs
from headrace.retention.archiving import archive, archive_everywhere, cold, cold_everywhere
from headrace.retention.files import ArchiveUnavailable
from headrace.retention.history import events, runs
from headrace.retention.registry import ArchivingElsewhere, Kind
from headrace.retention.run_reports import why as explain_run
from headrace.settings import settings
from tests.paths import REPOSITORY, WAIT_SECONDS
from tests.platform.conftest import Draft
from tests.platform.events.run_events import START, contents, histories, job_event, output, wipe
from tests.platform.retention.archiving import archive_folder, daily, everything, later

DAY = 24 * 60  # minutes
OLD = -200 * DAY


def nights(process: str, *days: int, state: RunState = RunState.SUCCESS) -> list[RunEvent]:
    """Return runs of a job, each started and ended so many days before START."""
    return [
        job_event(process, each, -day * DAY + minutes, run=str(day))
        for day in days
        for minutes, each in ((0, RunState.RUNNING), (5, state))
    ]


def deliver_all(engine: Engine) -> None:
    """Mark everything as reported to Dagster."""
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM catalog.pending_materialization"))


def count(engine: Engine, table: str) -> int:
    with engine.connect() as connection:
        return int(connection.scalar(sa.text(f"SELECT count(*) FROM catalog.{table}")))  # noqa: S608


@pytest.fixture
def estate(engine: Engine) -> Engine:
    """Nights of three jobs, from 200 days ago to 2: one only fails, one has succeeded once, long ago."""
    ingest(engine, nights("LOAD", 200, 199, 160, 100, 2))
    ingest(engine, nights("FAILING", 180, 150, 3, state=RunState.FAILED))
    ingest(engine, [*nights("CHECK", 170), *nights("CHECK", 140, 120, 1, state=RunState.FAILED)])
    deliver_all(engine)
    return engine


def test_what_is_old_is_in_files_and_found_there_as_it_was(estate: Engine) -> None:
    before = everything(estate)
    found = runs(estate), events(estate)
    why = {run.run_id: explain_run(estate, run.run_id) for run in found[0]}

    done = archive(estate)

    assert everything(estate) == before
    assert done.rows[Kind.RUN] == 8
    assert done.rows[Kind.EVENT] == 16
    again = runs(estate), events(estate)
    for was, now in zip((*found[0], *found[1]), (*again[0], *again[1]), strict=True):
        assert {**fields(was), "location": None} == {**fields(now), "location": None}
    assert {run.run_id: explain_run(estate, run.run_id) for run in again[0]} == why
    assert sum(run.location is not None for run in again[0]) == 8


def fields(of: object) -> dict[str, object]:
    return {name: getattr(of, name) for name in of.__slots__}  # type: ignore[attr-defined]


def test_the_newest_run_and_the_newest_success_of_each_process_stay(estate: Engine) -> None:
    archive(estate)

    stayed = sorted((run.process_key, run.external_run) for run in runs(estate, archived=False))
    assert stayed == [
        ("AUTOSYS/CHECK", "1"),
        ("AUTOSYS/CHECK", "170"),
        ("AUTOSYS/FAILING", "3"),
        ("AUTOSYS/LOAD", "2"),
    ]


def test_daily_sums_outlive_the_rows(estate: Engine) -> None:
    before = daily(estate)
    assert before["run_daily"]
    archive(estate)
    assert daily(estate) == before


def test_a_second_pass_has_nothing_to_do(estate: Engine) -> None:
    archive(estate)
    files = sorted(Path(archive_folder()).rglob("*"))

    assert cold(estate) == []
    assert archive(estate).rows == {}
    assert sorted(Path(archive_folder()).rglob("*")) == files


def test_a_dry_run_reports_what_would_be_archived(estate: Engine) -> None:
    foretold = cold(estate)
    done = archive(estate)
    for kind in (Kind.RUN, Kind.EVENT):
        assert sum(each.rows for each in foretold if each.kind is kind) == done.rows[kind]


def test_what_has_not_ended_stays_for_a_year(engine: Engine) -> None:
    ingest(
        engine,
        [
            *(job_event("LONG", RunState.RUNNING, -300 * DAY, run="going on"), *nights("LONG", 10)),
            *(job_event("LONG", RunState.QUEUED, -500 * DAY, run="forgotten"),),
        ],
    )
    deliver_all(engine)
    archive(engine)
    assert [run.external_run for run in runs(engine, archived=False)] == ["10", "going on"]
    assert [run.external_run for run in runs(engine)] == ["10", "going on", "forgotten"]


def test_a_living_attempt_stays_however_old(catalog: Engine) -> None:
    with attempt(catalog, run_id=uuid4(), process_key="mart/delays"):
        archive(catalog, now=later() + timedelta(days=500))
        assert count(catalog, "run_attempt") == 1


def test_pending_materializations_are_not_archived(engine: Engine) -> None:
    ingest(engine, [job_event("LOAD", RunState.SUCCESS, OLD, outputs=(output(),)), *nights("LOAD", 2)])
    with engine.begin() as connection:
        connection.execute(
            sa.text("DELETE FROM catalog.pending_materialization WHERE subject_type = 'PROCESS'")
        )
    archive(engine)
    assert len(runs(engine, archived=False)) == 2

    deliver_all(engine)
    archive(engine)
    assert len(runs(engine, archived=False)) == 1


@pytest.fixture
def published(catalog: Engine, draft: Draft) -> tuple[Engine, UUID]:
    """A run that has read a version and published one, and a newer run of the same process; the first one's id."""
    raw = publish(catalog, None, [draft("raw/flights", "2026-01-01")])[0].version
    run_id = uuid4()
    for each in (run_id, uuid4()):
        with attempt(
            catalog, run_id=each, process_key="mart/delays", dagster_run_id=f"dagster-{each}"
        ) as begun:
            (inputs,) = resolve(catalog, [InputRequest("raw/flights", "mart/delays", ("2026-01-01",))])
            record_inputs(catalog, each, begun.number, inputs)
            generation = 0 if each == run_id else 1
            publish(catalog, each, [draft(generation=generation, inputs=(raw.version_id,))])
    return catalog, run_id


def test_what_produced_a_version_is_known_when_its_run_is_archived(published: tuple[Engine, UUID]) -> None:
    catalog, run_id = published
    before = explain_run(catalog, run_id)
    (tag,) = [each.version.tag for each in before[0].outputs]
    detail = queries.version(catalog, "mart/delays", tag)

    archive(catalog, now=later())

    assert str(run_id) not in {str(run.run_id) for run in runs(catalog, archived=False)}
    assert queries.version(catalog, "mart/delays", tag) == detail
    assert explain_run(catalog, run_id) == before
    assert explain_run(catalog, str(run_id)[:8]) == before
    assert [each.version.dataset for each in before[0].inputs] == ["raw/flights"]


def test_a_run_that_runs_again_long_after_is_there_with_both(
    published: tuple[Engine, UUID], draft: Draft
) -> None:
    catalog, run_id = published
    archive(catalog, now=later())
    with attempt(catalog, run_id=run_id, process_key="mart/delays"):
        pass
    assert len(runs(catalog, run=str(run_id))) == 2
    assert len(explain_run(catalog, run_id)) == 1


HOT_RETENTION = timedelta(hours=1)  # the histories of hypothesis are of two days ago


@given(history=histories(), cut=st.integers(0, 12), repeated=st.integers(0, 12))
@hypothesis_settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_late_and_repeated_events_give_the_same_result(
    engine: Engine, history: Sequence[RunEvent], cut: int, repeated: int
) -> None:
    clear(engine)
    ingest(engine, history)
    deliver_all(engine)
    expected, sums, versions = comparable(engine), totals(engine), contents(engine)["versions"]
    archive(engine, hot=HOT_RETENTION)
    assert comparable(engine) == expected

    clear(engine)
    for part in (history[:cut], [*history[cut:], *history[:repeated]]):
        ingest(engine, part)
        deliver_all(engine)
        archive(engine, hot=HOT_RETENTION)
    archive(engine, hot=HOT_RETENTION)  # what was of late in the second one

    assert comparable(engine) == expected
    assert totals(engine) == sums
    assert contents(engine)["versions"] == versions


def comparable(engine: Engine) -> dict[Kind, Counter[str]]:
    """All rows, but for when they arrived."""
    import json

    def stripped(text: str) -> str:
        row = json.loads(text)
        return json.dumps(
            {name: value for name, value in row.items() if name != "received_at"}, sort_keys=True
        )

    return {
        kind: Counter({stripped(text): times for text, times in rows.items()})
        for kind, rows in everything(engine).items()
    }


def totals(engine: Engine) -> list[tuple[object, ...]]:
    """The daily sums."""
    with engine.connect() as connection:
        return sorted(
            tuple(row)
            for row in connection.execute(
                sa.text("SELECT process_key, day, state, runs, attempts, timed, seconds, longest "
                        "FROM catalog.run_daily JOIN catalog.process USING (process_id)")
            )
        )  # fmt: skip


def clear(engine: Engine) -> None:
    with engine.begin() as connection:
        for table in ("archive_file", "archived_run", "run_day", "event_day"):
            connection.execute(sa.text(f"DELETE FROM catalog.{table}"))  # noqa: S608
    wipe(engine)


def test_runs_with_late_events_are_updated_in_the_archive(engine: Engine) -> None:
    ingest(engine, [*nights("LOAD", 200, 2)])
    deliver_all(engine)
    archive(engine)
    ingest(engine, [job_event("LOAD", RunState.FAILED, OLD + 9, run="200", attempt=2, exit_code=3)])
    deliver_all(engine)

    assert archive(engine).late == 1

    (run,) = runs(engine, until=datetime(2026, 11, 1, tzinfo=UTC))
    assert (run.state, run.attempt) == (RunState.FAILED, 2)
    assert run.location is not None
    (report,) = explain_run(engine, run.run_id)
    assert [(each.number, each.state) for each in report.attempts] == [(1, "SUCCESS"), (2, "FAILED")]


def test_a_run_reported_again_after_it_was_archived_is_counted_once_at_once(engine: Engine) -> None:
    def rolled_up() -> list[tuple[object, ...]]:
        query = (
            "SELECT state, runs, attempts, timed, longest FROM catalog.run_daily WHERE day < '2026-10-01' "
            "ORDER BY state"
        )
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(query))]

    ingest(engine, [*nights("LOAD", 200, 2), *nights("OTHER", 200, 2)])
    deliver_all(engine)
    archive(engine)
    before = rolled_up()
    assert sum(int(str(row[1])) for row in before) == 2
    ingest(engine, [job_event("LOAD", RunState.FAILED, OLD + 9, run="200", attempt=2, exit_code=3)])
    deliver_all(engine)
    late = rolled_up()
    assert [(state, number) for state, number, *_ in late] == [("FAILED", 1), ("SUCCESS", 1)]
    archive(engine)
    after = rolled_up()
    assert [row[:2] for row in after] == [row[:2] for row in late]
    assert after[1] == late[1]


@pytest.mark.parametrize("days", [-160, -152, -140, -100, -5, 0])
def test_an_archived_run_counts_once_whatever_the_time_of_a_late_report(estate: Engine, days: int) -> None:
    """At once, and after every pass: on the day when it started."""

    def counted() -> list[tuple[object, ...]]:
        query = """
            SELECT state, sum(runs), min(day) FROM catalog.run_daily JOIN catalog.process USING (process_id)
            WHERE process_key LIKE '%LOAD' GROUP BY state ORDER BY state
        """
        with estate.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(query))]

    archive(estate)
    ((_, runs_before, _),) = counted()
    assert runs_before == 5
    (archived,) = [
        run for run in runs(estate, until=START - timedelta(days=150)) if run.external_run == "160"
    ]
    ingest(estate, [job_event("LOAD", RunState.FAILED, days * DAY + 9, run="160")])
    deliver_all(estate)

    assert [row[:2] for row in counted()] == [("FAILED", 1), ("SUCCESS", 4)]
    for late in (1, 0):
        assert archive(estate).late == late
        assert counted()[0] == ("FAILED", 1, archived.started_at.date())
        assert counted()[1][:2] == ("SUCCESS", 4)
    archive(estate, now=later())
    assert counted()[0] == ("FAILED", 1, archived.started_at.date())


def test_the_longest_of_a_day_is_one_that_is_still_of_it(engine: Engine) -> None:
    """Not a run that was reported late to have ended otherwise."""
    long, short = nights("LOAD", 200, state=RunState.FAILED), nights("LOAD", 2)
    ends = [job_event("LOAD", RunState.FAILED, OLD + minutes, run="other") for minutes in (60, 62)]
    ingest(engine, [*long, *short, job_event("LOAD", RunState.RUNNING, OLD + 60, run="other"), ends[1]])
    deliver_all(engine)
    archive(engine)
    ingest(engine, [job_event("LOAD", RunState.SUCCESS, OLD + 9, run="200", attempt=2)])
    deliver_all(engine)

    assert archive(engine).late == 1

    with engine.connect() as connection:
        longest = connection.execute(
            sa.text(
                "SELECT state, runs, longest FROM catalog.run_daily WHERE day < '2026-10-01' ORDER BY state"
            )
        )
        assert [tuple(row) for row in longest] == [("FAILED", 1, 120.0), ("SUCCESS", 1, 540.0)]


def test_a_run_whose_box_is_archived_stays_in_it(engine: Engine) -> None:
    ingest(engine, nights("NIGHT_BOX", 200, 2))
    ingest(
        engine, [job_event("LOAD", RunState.RUNNING, OLD + 1, run="200", box="NIGHT_BOX"), *nights("LOAD", 2)]
    )
    deliver_all(engine)
    ingest(engine, [job_event("LOAD", RunState.SUCCESS, OLD + 3, run="200", box="NIGHT_BOX")])
    deliver_all(engine)
    (before,) = [
        run.parent_run_id
        for run in runs(engine, process="AUTOSYS/LOAD", run=None)
        if run.external_run == "200"
    ]
    assert before is not None
    archive(engine)

    ingest(engine, [job_event("LOAD", RunState.FAILED, OLD + 9, run="200", attempt=2)])
    deliver_all(engine)
    archive(engine)

    (after,) = [
        run.parent_run_id for run in runs(engine, process="AUTOSYS/LOAD") if run.external_run == "200"
    ]
    assert after == before


def test_small_files_of_a_month_become_one(engine: Engine) -> None:
    for day in (200, 199, 198):
        ingest(engine, [*nights("LOAD", day), *nights("LOAD", 2)])
        deliver_all(engine)
        last = archive(engine)
    assert last.merged > 0
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT kind, month, count(*) AS files, sum(row_count) AS rows FROM catalog.archive_file "
            "WHERE state = 'KEPT' GROUP BY kind, month ORDER BY kind"
        ).fetchall()
        states = cursor.execute(
            "SELECT count(*) AS left FROM catalog.archive_file WHERE state <> 'KEPT'"
        ).fetchone()
        locations = cursor.execute("SELECT location FROM catalog.archive_file").fetchall()
    assert [(row["kind"], row["files"], row["rows"]) for row in rows] == [
        ("EVENT", 1, 6),
        ("RUN", 1, 3),
    ]
    assert states == {"left": 0}
    there = {str(file.relative_to(archive_folder())) for file in Path(archive_folder()).rglob("*.parquet")}
    assert there == {row["location"] for row in locations}


def test_partitions_of_the_months_ahead_are_made_and_empty_old_ones_dropped(estate: Engine) -> None:
    with estate.begin() as connection:
        connection.execute(sa.text("SELECT catalog.make_partitions(now() - interval '7 months', 7)"))
        connection.execute(sa.text("DROP TABLE catalog.process_run_2027_01"))
    done = archive(estate)
    assert done.made == 1
    assert done.dropped > 0
    with estate.connect() as connection:
        left = set(
            connection.scalars(sa.text("SELECT relname FROM pg_class WHERE relname ~ '^process_run_20'"))
        )
    assert "process_run_2027_01" in left
    assert not {name for name in left if name < "process_run_2026_06"}


def test_partitions_with_rows_of_another_organisation_stay(
    estate: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_ORGANISATION", "another")
    settings.cache_clear()
    ingest(estate, nights("LOAD", 200, 2))
    deliver_all(estate)
    monkeypatch.setenv("HEADRACE_ORGANISATION", "default")
    settings.cache_clear()
    with estate.begin() as connection:
        connection.execute(sa.text("SELECT catalog.make_partitions(now() - interval '7 months', 7)"))
    other = {"other": current_context().organisation_id}

    archive(estate)

    with estate.connect() as connection:
        counted = sa.text("SELECT count(*) FROM catalog.process_run WHERE organisation_id <> :other")
        assert connection.scalar(counted, other) == 2


def test_every_organisation_is_archived_for_itself(estate: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    add_organisation(estate, "another", by="test")
    another = Principal(organisation_named("another"), "another", "user:test")
    with act_as(another):
        ingest(estate, nights("LOAD", 300, 200, 2))
        deliver_all(estate)
    waiting, own = (
        sum(each.rows for each in found if each.kind is Kind.RUN)
        for found in (cold_everywhere(estate), cold(estate))
    )
    assert waiting == own + 2

    assert archive_everywhere(estate).rows[Kind.RUN] == own + 2
    with act_as(another):
        places = [run.location for run in runs(estate)]
        assert places[0] is None
        assert [str(place).startswith("another/runs/") for place in places[1:]] == [True, True]
    assert not any(str(run.location).startswith("another/") for run in runs(estate))
    assert archive_everywhere(estate).files == 0


def test_who_is_changing_a_row_is_not_disturbed(estate: Engine) -> None:
    with transaction(estate) as cursor:
        cursor.execute(
            "SELECT FROM catalog.process_run WHERE facets_json ->> 'external_run' = '199' FOR UPDATE"
        )
        assert archive(estate).rows[Kind.RUN] == 7
    assert archive(estate).rows[Kind.RUN] == 1


def test_one_pass_at_a_time(estate: Engine) -> None:
    with alone(estate, "archive"), pytest.raises(ArchivingElsewhere, match="another process"):
        archive(estate)


def test_storage_that_refuses_costs_nothing(
    estate: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = everything(estate)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HEADRACE_ARCHIVE", str(tmp_path / "file"))
    settings.cache_clear()
    with pytest.raises(ArchiveUnavailable, match="cannot be written"):
        archive(estate)
    monkeypatch.delenv("HEADRACE_ARCHIVE")
    settings.cache_clear()

    assert everything(estate) == before
    archive(estate)
    assert everything(estate) == before


def test_a_lost_file_is_named(estate: Engine) -> None:
    archive(estate)
    for file in Path(archive_folder()).rglob("runs/*/*.parquet"):
        file.unlink()
    with pytest.raises(ArchiveUnavailable, match=r"runs/month=.*parquet is missing.*HEADRACE_ARCHIVE"):
        runs(estate)


@pytest.mark.parametrize("place", ["memory://{name}", "s3://{bucket}/archive"])
def test_any_filesystem_will_do(
    estate: Engine, monkeypatch: pytest.MonkeyPatch, bucket: str, place: str
) -> None:
    found = [run.run_id for run in runs(estate)]
    monkeypatch.setenv("HEADRACE_ARCHIVE", place.format(name=uuid4(), bucket=bucket))
    settings.cache_clear()
    assert archive(estate).files > 0
    assert [run.run_id for run in runs(estate)] == found


def test_unread_outbox_messages_are_deleted(catalog: Engine, draft: Draft) -> None:
    publish(catalog, None, [draft()])
    messages = count(catalog, "outbox")
    assert archive(catalog).outbox == 0
    assert archive(catalog, now=later()).outbox == messages > 0
    assert count(catalog, "outbox") == 0


def test_messages_wait_for_a_reader_that_still_comes(catalog: Engine, draft: Draft) -> None:
    publish(catalog, None, [draft()])
    read = sa.text(
        "INSERT INTO catalog.outbox_reader (organisation_id, reader, transaction_id, outbox_id) "
        "VALUES (:of, 'graph', 0, 0)"
    )
    with catalog.begin() as connection:
        connection.execute(read, {"of": current_context().organisation_id})
    messages = count(catalog, "outbox")
    assert archive(catalog, now=later()).outbox == 0
    assert archive(catalog, now=later() + timedelta(days=365)).outbox == messages


# The pass has some 220 steps; each of these is now before something and now after it.
@pytest.mark.slow
@pytest.mark.parametrize("step", range(2, 222, 23))
def test_killed_anywhere_nothing_is_lost_or_doubled(estate: Engine, step: int) -> None:
    ingest(estate, nights("LOAD", 198, 197))
    deliver_all(estate)
    archive(estate, now=datetime.now(UTC) - timedelta(days=65))  # small files, to be merged
    ingest(estate, [job_event("LOAD", RunState.FAILED, OLD + 9, run="200", attempt=2)])
    deliver_all(estate)
    before, sums = everything(estate), daily(estate)

    done = subprocess.run(
        [sys.executable, "-m", "tests.platform.retention.archiving", str(step)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_SECONDS,
    )

    assert done.returncode in (-9, 0), done.stderr
    if done.returncode == -9:
        between = everything(estate)
        assert set(between[Kind.EVENT]) == set(before[Kind.EVENT])
        archive(estate, now=later())
    after = everything(estate)
    assert set(after[Kind.EVENT].values()) == {1}
    assert after[Kind.EVENT] == before[Kind.EVENT]
    found = runs(estate)
    assert len({run.run_id for run in found}) == len(found) == 14
    assert [run.state for run in found if run.external_run == "200"] == [RunState.FAILED]
    assert len(daily(estate)["event_daily"]) == len(sums["event_daily"])
