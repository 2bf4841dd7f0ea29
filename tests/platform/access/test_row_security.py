"""PostgreSQL restricts callers to their organisation's rows and their domains' datasets, whatever they query."""

from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa

from headrace import queries
from headrace.catalog.records import DatasetRecord
from headrace.context import Principal, act_as, current_context, organisation_named
from headrace.database.connection import migrate, reading, transaction
from headrace.database.row_security import NARROW_ROLE, ROLE
from headrace.errors import Forbidden, UnknownDataset
from headrace.publishing.pins import pin
from headrace.registration.declarations import register
from headrace.slas.queries import sla_statuses
from tests.platform.access.conftest import principal_of

_TABLES = """
SELECT relname AS name, relrowsecurity AS secured,
       EXISTS (SELECT FROM pg_attribute WHERE attrelid = class.oid AND attname = 'organisation_id') AS owned,
       ARRAY(SELECT polname::text FROM pg_policy WHERE polrelid = class.oid ORDER BY polname) AS policies,
       has_table_privilege('headrace_caller', class.oid, 'SELECT') AS readable
FROM pg_class class
WHERE relnamespace = 'catalog'::regnamespace AND relkind IN ('r', 'p', 'm') AND NOT relispartition
ORDER BY relname
"""
CLOSED = {"access_grant", "page_session", "saved_link", "service_token", "task_token"}
OWNERLESS = {"alembic_version", "repeatable_script"}  # readable, and without personal data


@pytest.fixture
def tables(two: Any) -> Any:
    with transaction(two) as cursor:
        return {row["name"]: row for row in cursor.execute(_TABLES).fetchall()}


def test_every_table_is_protected(tables: Any) -> None:
    for name, table in tables.items():
        if not table["owned"]:
            assert not table["readable"] or name in OWNERLESS, (
                f"{name} has no organisation_id, and callers read it"
            )
            continue
        assert table["secured"], name
        assert table["readable"] == (name not in CLOSED), name
        assert table["policies"] == ([] if name in CLOSED else [ROLE, NARROW_ROLE]), name


def test_every_view_shows_only_what_its_reader_may_see(two: Any) -> None:
    with transaction(two) as cursor:
        rows = cursor.execute(
            "SELECT relname, reloptions FROM pg_class WHERE relnamespace = 'catalog'::regnamespace AND relkind = 'v'"
        ).fetchall()
    assert rows
    assert [row["relname"] for row in rows if "security_invoker=true" not in (row["reloptions"] or [])] == []


@pytest.mark.parametrize("narrow", [False, True])
def test_no_table_shows_rows_of_another_organisation(two: Any, tables: Any, narrow: Any) -> None:
    domains = frozenset({"mart", "hr"}) if narrow else None
    filled = 0
    for name, table in tables.items():
        if not table["owned"] or name in CLOSED:
            continue
        with transaction(two) as cursor:
            mine = _count(cursor, name, "acme", of_acme=True)
            others = _count(cursor, name, "acme", of_acme=False)
        filled += others > 0
        with act_as(principal_of("acme", domains=domains)), transaction(two) as cursor:
            assert _count(cursor, name, "acme", of_acme=False) == 0, name
            if not narrow:
                assert _count(cursor, name, "acme", of_acme=True) == mine, name
    assert filled >= 10


def _count(cursor: Any, table: str, organisation: str, *, of_acme: bool) -> int:
    compared = "=" if of_acme else "<>"
    row = cursor.execute(
        f"SELECT count(*) AS n FROM catalog.{table} WHERE organisation_id {compared} %s",  # noqa: S608
        [organisation_named(organisation)],
    ).fetchone()
    return row["n"]


def test_no_row_is_written_into_another_organisation(two: Any) -> None:
    with act_as(principal_of("acme")):
        with pytest.raises(Forbidden, match="user:test may not"), transaction(two) as cursor:
            cursor.execute(
                "INSERT INTO catalog.outbox (organisation_id, topic, payload_json) VALUES (%s, 'x', '{}')",
                [organisation_named("default")],
            )
        with pytest.raises(Forbidden), transaction(two) as cursor:
            cursor.execute("UPDATE catalog.dataset SET organisation_id = %s", [organisation_named("default")])
        with transaction(two) as cursor:
            cursor.execute(
                "UPDATE catalog.dataset SET description = 'x' WHERE organisation_id = %s",
                [organisation_named("default")],
            )
            assert cursor.rowcount == 0
            cursor.execute("DELETE FROM catalog.quality_check_def")
            assert cursor.rowcount == 0


@pytest.mark.parametrize("table", sorted(CLOSED))
def test_grants_and_tokens_are_out_of_a_callers_reach(two: Any, table: Any) -> None:
    with act_as(principal_of("default")), pytest.raises(Forbidden), transaction(two) as cursor:
        cursor.execute(f"SELECT * FROM catalog.{table}")  # noqa: S608


def test_queries_return_rows_of_the_callers_organisation(two: Any) -> None:
    ours = [row.key for row in queries.datasets(two).rows]
    assert ours == ["crm/people", "mart/delays", "mart/report", "raw/flights"]
    with act_as(principal_of("acme")):
        assert current_context().organisation_id == organisation_named("acme")
        assert [row.key for row in queries.datasets(two).rows] == ["hr/people", "mart/delays"]
        assert queries.dataset(two, "mart/delays").upstream == ("hr/people",)
        assert queries.versions(two, "mart/delays") == []
        with pytest.raises(UnknownDataset):
            queries.dataset(two, "crm/people")
    assert [row.key for row in queries.datasets(two).rows] == ours


def test_an_id_of_another_organisation_finds_nothing(two: Any) -> None:
    by_dataset = "SELECT 1 FROM catalog.dataset_version WHERE dataset_id = %(dataset_id)s"
    by_version = "SELECT 1 FROM catalog.dataset_version WHERE dataset_version_id = %(dataset_version_id)s"
    with transaction(two) as cursor:
        foreign = cursor.execute(
            "SELECT dataset_id, dataset_version_id FROM catalog.dataset_version"
        ).fetchone()
        assert cursor.execute(by_version, foreign).fetchone()
    with act_as(principal_of("acme")), transaction(two) as cursor:
        for query in (by_dataset, by_version):
            assert cursor.execute(query, foreign).fetchone() is None


def test_without_an_organisation_nothing_is_seen(two: Any) -> None:
    with transaction(two) as cursor:
        cursor.execute(f"SET LOCAL ROLE {ROLE}")
        assert cursor.execute("SELECT count(*) AS n FROM catalog.dataset").fetchone() == {"n": 0}


def test_the_next_transaction_of_the_connection_is_the_platforms_again(two: Any) -> None:
    with act_as(principal_of("acme")), transaction(two) as cursor:
        assert cursor.execute("SELECT current_user AS who").fetchone() == {"who": ROLE}
    with transaction(two) as cursor:
        row = cursor.execute(
            "SELECT current_user AS who, current_setting('headrace.organisation_id', true) AS organisation"
        ).fetchone()
    assert row["who"] != ROLE
    assert not row["organisation"]


def test_also_sqlalchemys_transactions_are_kept_to_the_caller(two: Any) -> None:
    with act_as(principal_of("acme")), reading(two) as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM catalog.dataset")) == 2
        connection.commit()
        assert connection.scalar(sa.text("SELECT count(*) FROM catalog.dataset")) == 2  # its next one too
    with act_as(principal_of("acme")), pytest.raises(RuntimeError, match="autocommit"):
        two.connect().execution_options(isolation_level="AUTOCOMMIT").execute(sa.text("SELECT 1"))


# Domains


def narrow(*domains: str, datasets: Any = ()) -> Principal:
    return principal_of("default", domains=frozenset(domains), datasets=frozenset(datasets))


def test_who_has_one_domain_sees_its_datasets_only(two: Any) -> None:
    with act_as(narrow("mart")):
        assert [row.key for row in queries.datasets(two).rows] == ["mart/delays", "mart/report"]
        with pytest.raises(UnknownDataset):
            queries.dataset(two, "crm/people")
        detail = queries.dataset(two, "mart/delays")
        assert (detail.upstream, detail.downstream) == ((), ("mart/report",))
        walked = queries.lineage(two, "mart/report", queries.Direction.UP, depth=9)
        assert [node.key for node in walked.nodes] == ["mart/report", "mart/delays"]
        assert [row.version.dataset for row in queries.versions(two, "mart/delays")] == ["mart/delays"]


def test_the_bottleneck_is_shown_only_to_callers_who_may_see_it(two: Any) -> None:
    with transaction(two) as cursor:
        cursor.execute(
            "UPDATE catalog.sla_objective objective SET waits_for = full_name, waits_for_id = dataset.dataset_id, "
            "waits_minutes = 5 FROM catalog.dataset WHERE full_name = 'raw/flights'"
        )
        assert cursor.rowcount >= 1
    for caller, named in ((narrow("crm"), None), (narrow("crm", "raw"), "raw/flights")):
        with act_as(caller):
            [objective] = sla_statuses(two)
        assert (objective.key, objective.waits_for, objective.waits_minutes) == ("crm/people", named, 5)


def test_objectives_of_processes_are_seen_by_those_who_see_the_process(two: Any) -> None:
    with transaction(two) as cursor:
        cursor.execute(
            "UPDATE catalog.sla_objective SET dataset_id = NULL, process_id = process.process_id "
            "FROM catalog.process WHERE process_key = 'mart/report' AND process.organisation_id = %s",
            [current_context().organisation_id],
        )
        assert cursor.rowcount >= 1
    with act_as(narrow("mart")):
        assert [each.key for each in sla_statuses(two)] == ["mart/report"]
    with act_as(narrow("crm")):
        assert sla_statuses(two) == []


def test_who_has_no_domain_sees_the_datasets_that_are_named(two: Any) -> None:
    with act_as(narrow(datasets=["raw/flights", "mart/delays"])):
        assert [row.key for row in queries.datasets(two).rows] == ["mart/delays", "raw/flights"]
    with act_as(narrow()):
        assert queries.datasets(two).rows == ()


_OF_DATASETS = {
    "dataset": "full_name",
    "dataset_version": "(SELECT full_name FROM catalog.dataset d WHERE d.dataset_id = t.dataset_id)",
    "published_pointer": "(SELECT full_name FROM catalog.dataset d WHERE d.dataset_id = t.dataset_id)",
    "sla": "(SELECT full_name FROM catalog.dataset d WHERE d.dataset_id = t.dataset_id)",
}


def test_the_rows_of_other_domains_are_hidden_with_their_datasets(two: Any) -> None:
    for table, key in _OF_DATASETS.items():
        with act_as(narrow("mart")), transaction(two) as cursor:
            rows = cursor.execute(f"SELECT {key} AS key FROM catalog.{table} t").fetchall()  # noqa: S608
        assert rows, table
        assert {row["key"].split("/")[0] for row in rows} == {"mart"}, table
    with act_as(narrow("raw")), transaction(two) as cursor:
        # mart/delays reads raw/flights, so that its process is seen; mart/report's is not, nor are runs of it.
        keys = cursor.execute("SELECT process_key FROM catalog.process").fetchall()
        assert [row["process_key"] for row in keys] == ["mart/delays"]
    with act_as(narrow("nothing")), transaction(two) as cursor:
        for table in (
            "process",
            "process_run",
            "run_attempt",
            "lineage_edge",
            "run_event",
            "outbox",
            "version_input",
        ):
            assert cursor.execute(f"SELECT count(*) AS n FROM catalog.{table}").fetchone() == {"n": 0}, table  # noqa: S608


def test_who_has_one_domain_writes_into_no_other(two: Any) -> None:
    with act_as(narrow("mart")):
        register(two, [DatasetRecord("mart/new", "csv")], [])
        with pytest.raises(Forbidden):
            register(two, [DatasetRecord("crm/new", "csv")], [])
        with pytest.raises(UnknownDataset):
            pin(two, "crm/people", "v1", by="test", reason="")
    assert "mart/new" in [row.key for row in queries.datasets(two).rows]


def test_partitions_are_made_for_a_caller(two: Any) -> None:
    with act_as(principal_of("acme")), transaction(two) as cursor:
        row = cursor.execute("SELECT catalog.make_partitions('2019-01-01', 1) AS made").fetchone()
    assert row == {"made": 2}


def test_what_later_revisions_make_is_protected_as_well(two: Any) -> None:
    with transaction(two) as cursor:
        cursor.execute("CREATE TABLE catalog.later (organisation_id uuid, dataset_id uuid)")
        cursor.execute("CREATE VIEW catalog.later_view AS SELECT * FROM catalog.later")
        cursor.execute("INSERT INTO catalog.later VALUES (%s, %s)", [organisation_named("default"), uuid4()])
    migrate(two)
    migrate(two)  # again, which changes nothing
    for relation in ("later", "later_view"):
        with act_as(principal_of("default")), transaction(two) as cursor:
            assert cursor.execute(f"SELECT count(*) AS n FROM catalog.{relation}").fetchone() == {"n": 1}  # noqa: S608
        for other in (principal_of("acme"), narrow("mart")):
            with act_as(other), transaction(two) as cursor:
                assert cursor.execute(f"SELECT count(*) AS n FROM catalog.{relation}").fetchone() == {"n": 0}  # noqa: S608
