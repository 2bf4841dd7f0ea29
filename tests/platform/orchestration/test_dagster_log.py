"""Dagster's log is pruned, and Dagster answers as before."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
import sqlalchemy as sa
from dagster import DagsterEventType, DagsterInstance, DagsterRunStatus
from dagster._core.test_utils import instance_for_test
from sqlalchemy import Engine, make_url

from headrace.orchestration.jobs import dagster_log
from headrace.orchestration.jobs.dagster_log import prune
from headrace.orchestration.jobs.retention import catalog_retention
from tests.conftest import Databases

BEFORE = datetime.now(UTC) - timedelta(days=90)
DAYS = dg.StaticPartitionsDefinition(["a", "b"])


@dg.asset(partitions_def=DAYS)
def parts(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    context.log.info("working")
    return dg.MaterializeResult(metadata={"rows": 1}, data_version=dg.DataVersion(context.run.run_id))


@dg.asset(deps=[parts], check_specs=[dg.AssetCheckSpec("fine", asset="whole")])
def whole(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    context.log.info("working too")
    return dg.MaterializeResult(check_results=[dg.AssetCheckResult(passed=True, check_name="fine")])


@dg.asset
def failing() -> None:
    raise ValueError("no good")


@pytest.fixture(scope="module")
def template(databases: Databases) -> Iterator[str]:
    """A database of Dagster's, with everything materialized twice, by now 100 days ago."""
    with databases.created("dagster_template") as url:
        with dagster_on(url) as instance:
            for _ in range(2):
                work(instance)
            age(instance)
        yield url


@pytest.fixture
def instance(template: str, databases: Databases, engine: Engine) -> Iterator[DagsterInstance]:
    """Dagster on a copy of the template; the catalog is in its own database."""
    with databases.created("dagster_copy", template="dagster_template") as url, dagster_on(url) as found:
        yield found


@contextmanager
def dagster_on(url: str) -> Iterator[DagsterInstance]:
    address = make_url(url).set(drivername="postgresql+psycopg2").render_as_string(hide_password=False)
    with instance_for_test(overrides={"storage": {"postgres": {"postgres_url": address}}}) as found:
        yield found


def work(instance: DagsterInstance) -> None:
    for key in ("a", "b"):
        assert dg.materialize([parts], instance=instance, partition_key=key).success
    assert dg.materialize([parts, whole], instance=instance, selection=["whole"]).success
    assert not dg.materialize([failing], instance=instance, raise_on_error=False).success
    instance.report_runless_asset_event(dg.AssetObservation("elsewhere", metadata={"rows": 3}))


def age(instance: DagsterInstance) -> None:
    with instance.event_log_storage.index_transaction() as connection:  # type: ignore[attr-defined]
        connection.execute(sa.text("UPDATE event_logs SET timestamp = timestamp - interval '100 days'"))
        connection.execute(
            sa.text(
                "UPDATE asset_check_executions SET create_timestamp = create_timestamp - interval '100 days'"
            )
        )


def answers(instance: DagsterInstance) -> dict[str, object]:
    """Queries of the UI and automation on the log."""
    key, whole_key = dg.AssetKey("parts"), dg.AssetKey("whole")
    check = dg.AssetCheckKey(whole_key, "fine")
    storage = instance.event_log_storage
    return {
        "latest": [instance.get_latest_materialization_event(each) for each in (key, whole_key)],
        "observed": instance.fetch_observations(dg.AssetKey("elsewhere"), limit=1).records,
        "partitions": instance.get_materialized_partitions(key),
        "versions": instance.get_latest_data_version_record(key, partition_key="b"),
        "by partition": storage.get_latest_storage_id_by_partition(
            key, DagsterEventType.ASSET_MATERIALIZATION
        ),
        "tags": storage.get_latest_tags_by_partition(
            key, DagsterEventType.ASSET_MATERIALIZATION, tag_keys=["dagster/data_version"]
        ),
        "attempts": storage.get_latest_asset_partition_materialization_attempts_without_materializations(key),
        "checks": storage.get_latest_asset_check_execution_by_key([check]),
        "runs": [(run.run_id, run.status) for run in instance.get_runs()],
        "failures": [
            event.dagster_event and event.dagster_event.event_type
            for run in instance.get_runs()
            if run.status is DagsterRunStatus.FAILURE
            for event in instance.all_logs(run.run_id, of_type=DagsterEventType.STEP_FAILURE)
        ],
        "asset keys": sorted(instance.get_asset_keys()),
    }


def size(instance: DagsterInstance, table: str = "event_logs") -> int:
    with instance.event_log_storage.index_connection() as connection:  # type: ignore[attr-defined]
        return int(connection.scalar(sa.text(f"SELECT count(*) FROM {table}")))  # noqa: S608


def test_dagster_answers_as_before(instance: DagsterInstance) -> None:
    before, rows = answers(instance), size(instance)

    pruned = prune(instance, BEFORE)

    assert answers(instance) == before
    assert pruned.events == rows - size(instance) > rows / 2
    assert pruned.check_results == 1
    assert size(instance, "asset_check_executions") == 1
    with instance.event_log_storage.index_connection() as connection:  # type: ignore[attr-defined]
        orphans = "SELECT count(*) FROM asset_event_tags WHERE event_id NOT IN (SELECT id FROM event_logs)"
        assert connection.scalar(sa.text(orphans)) == 0
    assert prune(instance, BEFORE).events == 0


def test_what_is_not_old_stays(instance: DagsterInstance) -> None:
    old = size(instance)
    work(instance)
    recent, before = size(instance) - old, answers(instance)

    prune(instance, BEFORE)

    assert answers(instance) == before
    with instance.event_log_storage.index_connection() as connection:  # type: ignore[attr-defined]
        counted = sa.text(
            "SELECT count(*) FROM event_logs WHERE timestamp > now() AT TIME ZONE 'UTC' - interval '1 day'"
        )
        assert connection.scalar(counted) == recent


def test_a_run_that_goes_on_keeps_its_log(instance: DagsterInstance) -> None:
    (run, *_) = instance.get_runs()
    instance.report_engine_event("still there", run)
    with instance.event_log_storage.index_transaction() as connection:  # type: ignore[attr-defined]
        connection.execute(
            sa.text("UPDATE runs SET status = 'STARTED' WHERE run_id = :id"), {"id": run.run_id}
        )
    age(instance)
    logs = len(instance.all_logs(run.run_id))
    prune(instance, BEFORE)
    assert len(instance.all_logs(run.run_id)) == logs


def test_a_dry_run_counts_and_deletes_nothing(instance: DagsterInstance) -> None:
    rows = size(instance)
    foretold = prune(instance, BEFORE, dry_run=True)
    assert size(instance) == rows
    assert prune(instance, BEFORE) == foretold


def test_piece_by_piece_it_is_the_same(instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    foretold = prune(instance, BEFORE, dry_run=True)
    monkeypatch.setattr(dagster_log, "BATCH_SIZE", 7)
    assert prune(instance, BEFORE) == foretold


def test_the_nightly_job_does_both(instance: DagsterInstance) -> None:
    result = catalog_retention.execute_in_process(instance=instance)
    assert result.success
    metadata = result.get_step_success_events()
    assert metadata
    assert prune(instance, BEFORE).events == 0


@pytest.mark.parametrize(("days", "stays"), [(89, True), (91, False)])
def test_the_nightly_job_prunes_after_90_days(instance: DagsterInstance, days: int, stays: bool) -> None:
    with instance.event_log_storage.index_transaction() as connection:  # type: ignore[attr-defined]
        connection.execute(
            sa.text(
                "UPDATE event_logs SET timestamp = now() AT TIME ZONE 'UTC' - make_interval(days => :days)"
            ),
            {"days": days},
        )
    old, failures = size(instance), answers(instance)["failures"]

    assert catalog_retention.execute_in_process(instance=instance).success

    with instance.event_log_storage.index_connection() as connection:  # type: ignore[attr-defined]
        left = connection.scalar(
            sa.text(
                "SELECT count(*) FROM event_logs WHERE timestamp < now() AT TIME ZONE 'UTC' - interval '1 day'"
            )
        )
    assert (left == old) is stays
    assert answers(instance)["failures"] == failures
