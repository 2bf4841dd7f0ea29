"""A run that dies between two steps: catalog and table agree again after the next run, or `headrace manifests`."""

from __future__ import annotations

import pkgutil
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitStateUnknownException

from headrace.orchestration.garbage import garbage
from headrace.settings import settings
from headrace.stores.store import OpenStores
from headrace.stores.tags import new_tag
from tests.platform.children import kill_at
from tests.platform.projects import failure
from tests.platform.stores.conformance.conftest import ORDERS, Shop, ask, refused
from tests.platform.stores.conformance.guarantees import guarantee
from tests.platform.stores.conformance.test_guarantees import FIVE, THREE, ids

BEFORE_STAGING = {
    "iceberg": "headrace.stores.iceberg.store.stage",
    "postgresql": "headrace.stores.jdbc.store._append",
}
BEFORE_PUBLISHING = "headrace.execution.materialization._publish"
BEFORE_REFERENCES = "headrace.execution.reporting.update_references"


def kill(shop: Shop, step: str) -> None:
    """Materialize FIVE in a process that is killed when it begins a step."""
    shop.declare(FIVE)
    kill_at(step, shop.root, shop.root / "output")


@pytest.mark.slow
@pytest.mark.parametrize("staged", [False, True])
@guarantee("is garbage after a kill -9 before its publish", without=["files", "delta", "derby", "ledger"])
def test_a_run_killed_before_its_publish_leaves_garbage(shop: Shop, *, staged: bool) -> None:
    first = shop.publish(THREE)
    kill(shop, BEFORE_PUBLISHING if staged else BEFORE_STAGING[shop.name])
    assert ids(shop.rows_outside) == ids(ask("read", ORDERS)["rows"]) == [0, 1, 2]
    stores = OpenStores(shop.spark, settings().warehouse_uri)
    left = garbage(shop.engine, stores, now=datetime.now(UTC) + timedelta(days=2))
    assert [each.store for each in left] == [shop.kind]
    second = shop.publish(FIVE)
    assert ids(shop.rows_outside) == [0, 1, 2, 3, 4]
    shop.store.delete(ORDERS, left[0].tag)
    assert set(shop.store.tags(ORDERS)) == {first.tag, second.tag}
    assert ids(shop.rows_outside) == [0, 1, 2, 3, 4]


@pytest.mark.slow
@guarantee(
    "is published after a kill -9 between publish and reference, which `headrace manifests` moves",
    without=["files", "derby", "ledger"],
)
def test_a_run_killed_after_its_publish_is_completed(shop: Shop) -> None:
    shop.publish(THREE)
    kill(shop, BEFORE_REFERENCES)
    assert ids(ask("read", ORDERS)["rows"]) == [0, 1, 2, 3, 4]
    assert ids(shop.rows_outside) == [0, 1, 2]
    assert shop.refreshed() == 1
    assert ids(shop.rows_outside) == [0, 1, 2, 3, 4]
    assert shop.refreshed() == 0


@guarantee(
    "is published by the run, or the next one, if the catalog's database cuts all connections at any step; "
    "`headrace manifests` moves the reference",
    without=["derby", "ledger"],
)
def test_a_database_that_restarts_loses_nothing(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.publish(THREE)
    steps = [BEFORE_STAGING[shop.name]] if shop.name in BEFORE_STAGING else []
    for rows, step in enumerate([*steps, BEFORE_PUBLISHING, BEFORE_REFERENCES], start=5):
        cut, sql = cutting_connections(step), THREE.replace("3", str(rows))
        with monkeypatch.context() as restarting:
            restarting.setattr(step, cut)
            [result] = shop.run(sql)
        assert cut.calls > 0
        if not result.success:
            assert "connection" in failure(result)
            shop.publish(sql)
        assert ids(ask("read", ORDERS)["rows"]) == list(range(rows))
        assert shop.refreshed() == int(step == BEFORE_REFERENCES)
        assert ids(shop.rows_outside) == list(range(rows))


class cutting_connections:
    """The function of this name, before whose first call the server ends all connections, as if it restarted."""

    def __init__(self, name: str) -> None:
        self.original = pkgutil.resolve_name(name)
        self.calls = 0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.calls += 1
        if self.calls == 1:
            with psycopg.connect(str(settings().database_url), autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
        return self.original(*arguments, **named)


@guarantee("is staged once by each of several runs at the same time", without=["ledger"])
def test_runs_stage_at_the_same_time(shop: Shop) -> None:
    shop.publish(THREE)
    tags = [new_tag() for _ in range(4)]
    store = shop.store

    def write(number: int) -> int:
        frame = shop.spark.range(number).withColumnRenamed("id", f"column_{number}")
        [written] = store.write(frame, dataset=ORDERS, tag=tags[number])
        return written.row_count

    with ThreadPoolExecutor(4) as runs:
        assert list(runs.map(write, range(4))) == [0, 1, 2, 3]
    assert set(store.tags(ORDERS)) == {*tags, shop.published.tag}
    assert ids(shop.rows_outside) == [0, 1, 2]
    for tag in tags:
        store.delete(ORDERS, tag)
    assert shop.refreshed() == 0


@guarantee(
    "is garbage if the answer to the commit that stages it is lost, and published if that to the next is",
    without=["files", "delta", "derby", "postgresql", "ledger"],
)
def test_a_lost_answer_leaves_garbage_or_a_published_version(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.publish(THREE)
    commit, lost = SqlCatalog.commit_table, iter([True, False, True])

    def commit_and_lose(*arguments: Any) -> Any:
        answer = commit(*arguments)
        if next(lost, False):
            raise CommitStateUnknownException("the connection broke")
        return answer

    monkeypatch.setattr(SqlCatalog, "commit_table", commit_and_lose)
    [result] = shop.run(FIVE)
    assert "The Iceberg catalog cannot be used: the connection broke." in failure(result)
    assert ids(shop.rows_outside) == [0, 1, 2]
    shop.publish(FIVE)
    assert ids(shop.rows_outside) == [0, 1, 2, 3, 4]
    assert shop.refreshed() == 0


@guarantee("stays at the version before if its files are gone", without=["ledger"])
def test_files_that_are_gone_are_not_published_as_no_rows(shop: Shop) -> None:
    first = shop.publish(THREE)
    shop.publish(FIVE)
    shop.store.delete(ORDERS, first.tag)
    shop.outside.drop(ORDERS)
    problem = refused("rollback", ORDERS, "--reason", "wrong")
    assert re.search(
        r"external readers still find .*(materialize it again|materialize the dataset again)", problem
    )
