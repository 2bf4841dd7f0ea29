"""The catalog in OpenMetadata: complete, once, and without what others wrote being lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import Engine

from headrace.catalog.column_lineage import ColumnLineage, ColumnSource, How, LineageOfOutput, Subtype
from headrace.catalog.records import CheckResult, CheckStatus, Column, DatasetRecord
from headrace.database.connection import transaction
from headrace.openlineage.renames import follow_declarations
from headrace.openmetadata.client import OpenMetadataUnavailable
from headrace.publishing.publication import publish
from headrace.publishing.runs import attempt
from headrace.registration.declarations import register
from headrace.registration.retirement import restore, retire
from tests.platform.conftest import Draft
from tests.platform.openmetadata.conftest import ORDERS, PROCESSES, SALES, SERVICE, Sync, both_generations
from tests.platform.openmetadata.server import Contract, Refused, Request

TABLE = f"{SERVICE}.orders"


def names(server: Contract, kind: str) -> set[str]:
    return {each["fullyQualifiedName"] for each in server.all(kind)}


def changed(server: Contract) -> list[str]:
    """The requests that change something, since the last call."""
    found = [each for each in server.requests if not each.startswith("GET")]
    server.requests.clear()
    return found


@both_generations
def test_datasets_are_tables_with_all_that_is_declared(sync: Sync, server: Contract) -> None:
    result = sync()
    assert result.problems == []
    orders = server.find("table", TABLE)
    assert orders["description"] == "Orders of the shop"
    assert [each["dataType"] for each in orders["columns"]] == ["BIGINT", "STRING", "ARRAY"]
    assert [each["name"] for each in orders["columns"][2]["children"]] == ["sku", "price"]
    assert orders["columns"][0]["constraint"] == "NOT_NULL"
    assert orders["columns"][0]["description"] == "Number of the order"
    assert [each["tagFQN"] for each in orders["columns"][1]["tags"]] == ["PII.Sensitive"]
    assert orders["tableConstraints"] == [{"constraintType": "UNIQUE", "columns": ["id"]}]
    assert {each["tagFQN"] for each in orders["tags"]} == {"Tier.Tier1", "Headrace.layer=clean"}
    assert {each["type"] for each in orders["owners"]} == {"team", "user"}
    assert [each["name"] for each in orders["domains"]] == ["shop"]
    assert orders["extension"]["headraceKey"] == "shop/orders"


@both_generations
def test_processes_are_pipelines_and_edges_name_them(sync: Sync, server: Contract) -> None:
    sync()
    assert names(server, "pipeline") == {"headrace.shop/sales", "headrace.AUTOSYS/box/load_orders"}
    orders, sales = (server.find("table", f"{SERVICE}.{name}")["id"] for name in ("orders", "sales"))
    loading = server.find("pipeline", "headrace.AUTOSYS/box/load_orders")["id"]
    assert server.edges.keys() == {(orders, sales), (loading, orders)}
    edge = server.edges[orders, sales]
    assert edge["source"] == "SparkLineage"
    assert edge["pipeline"]["id"] == server.find("pipeline", "headrace.shop/sales")["id"]


@both_generations
def test_checks_are_test_cases(sync: Sync, server: Contract) -> None:
    sync()
    assert names(server, "testCase") == {f"{TABLE}.id.id_unique", f"{TABLE}.email.email_ok"}
    assert names(server, "testDefinition") == {"headrace_unique_column", "headrace_str_matches_column"}


@both_generations
def test_a_second_synchronisation_sends_nothing(sync: Sync, server: Contract) -> None:
    sync()
    changed(server)
    assert sync().counts == {}
    assert len(server.requests) == 4
    assert sync(whole=True).counts == {}
    assert changed(server) == []


def test_a_dry_run_shows_the_changes_and_only_reads(shop: Engine, sync: Sync, server: Contract) -> None:
    result = sync(is_dry=True)
    assert changed(server) == []
    assert {(each.action, each.name) for each in result.changes} >= {
        ("create", "shop/orders"),
        ("create", "shop/sales"),
    }
    sync()
    register(shop, [replace(ORDERS, description="All orders"), SALES], PROCESSES)
    changed(server)
    (change,) = sync(is_dry=True).changes
    assert change.fields == {"description": ("Orders of the shop", "All orders")}
    assert changed(server) == []
    assert sync().counts == {("table", "update"): 1}


@both_generations
def test_only_what_changed_is_sent_as_a_patch(shop: Engine, sync: Sync, server: Contract) -> None:
    sync()
    columns = (*ORDERS.columns[:1], Column("country", "string"), ORDERS.columns[2])
    register(
        shop,
        [replace(ORDERS, columns=columns, checks=ORDERS.checks[:1], tags={"layer": "raw"}), SALES],
        PROCESSES,
    )
    changed(server)
    sync()
    orders = server.find("table", TABLE)
    assert [each["name"] for each in orders["columns"]] == ["id", "country", "lines"]
    assert {each["tagFQN"] for each in orders["tags"]} == {"Headrace.layer=raw"}
    sent = changed(server)
    assert [each for each in sent if "tables" in each] == [f"PATCH tables/{orders['id']}"]
    assert names(server, "testCase") == {f"{TABLE}.id.id_unique"}


@both_generations
def test_retired_datasets_are_deleted_softly_and_restored(shop: Engine, sync: Sync, server: Contract) -> None:
    sync()
    sales = server.find("table", f"{SERVICE}.sales")
    retire(shop, "shop/sales", by="ada", reason="unused")
    assert sync().counts["table", "delete"] == 1
    assert server.find("table", f"{SERVICE}.sales")["deleted"]
    restore(shop, "shop/sales", by="ada", reason="used again")
    assert sync().counts["table", "restore"] == 1
    assert server.find("table", f"{SERVICE}.sales")["id"] == sales["id"]
    assert not sales["deleted"]


def test_a_renamed_dataset_keeps_its_table_and_history(shop: Engine, sync: Sync, server: Contract) -> None:
    sync()
    before = server.find("table", f"{SERVICE}.sales")["id"]
    sales = replace(SALES, key="shop/revenue", renamed_from="shop/sales")
    made = replace(PROCESSES[0], key="shop/revenue", outputs=("shop/revenue",))
    follow_declarations(shop, [sales])
    register(shop, [ORDERS, sales], [made, PROCESSES[1]])
    sync()
    table = server.entities[before]
    assert (table["displayName"], table["extension"]["headraceKey"]) == ("revenue", "shop/revenue")
    assert not table["deleted"]
    assert len(server.all("table")) == 2


def test_names_that_differ_in_case_only_are_two_tables(shop: Engine, sync: Sync, server: Contract) -> None:
    register(shop, [ORDERS, SALES, replace(SALES, key="shop/Sales")], PROCESSES)
    sync()
    assert len({each["fullyQualifiedName"].lower() for each in server.all("table")}) == 3


def test_stale_edges_and_edges_of_deleted_columns_go(
    shop: Engine, sync: Sync, server: Contract, draft: Draft
) -> None:
    columns = (ColumnLineage("id", (ColumnSource("shop/orders", "id", How.DIRECT, Subtype.IDENTITY),)),)
    publish_sales(shop, draft, LineageOfOutput(columns))
    sync()
    orders, sales = (server.find("table", f"{SERVICE}.{name}")["id"] for name in ("orders", "sales"))
    entry = {"fromColumns": [f"{TABLE}.id"], "toColumn": f"{SERVICE}.sales.id"}
    assert server.edges[orders, sales]["columnsLineage"] == [entry]
    register(shop, [replace(ORDERS, columns=ORDERS.columns[1:], checks=()), SALES], PROCESSES)
    assert sync().problems == []
    assert server.edges[orders, sales].get("columnsLineage") == []
    register(shop, [replace(ORDERS, checks=()), SALES], [replace(PROCESSES[0], inputs=())])
    sync()
    assert (orders, sales) not in server.edges


def publish_sales(engine: Engine, draft: Draft, lineage: LineageOfOutput | None = None, **given: Any) -> None:
    run = uuid4()
    with attempt(
        engine, run_id=run, process_key="shop/sales", root_dagster_run_id=None, dagster_run_id=None, partitions=[],
        log_location=None,
    ):  # fmt: skip
        publish(engine, run, [draft("shop/sales", columns=SALES.columns, lineage=lineage, **given)])


def test_edges_of_others_stay(shop: Engine, sync: Sync, server: Contract) -> None:
    sync()
    orders, sales = (server.find("table", f"{SERVICE}.{name}")["id"] for name in ("orders", "sales"))
    server.write_edge(orders, sales, source="Manual", description="Checked", updatedBy="ada")
    server.write_edge(sales, orders, source="DbtLineage", updatedBy="dbt")
    register(shop, [ORDERS, SALES], [replace(PROCESSES[0], inputs=())])
    sync(whole=True)
    assert server.edges[orders, sales]["description"] == "Checked"
    assert server.edges[sales, orders] == {"source": "DbtLineage", "updatedBy": "dbt"}


@both_generations
def test_profiles_results_and_statuses_follow_versions(
    shop: Engine, sync: Sync, server: Contract, draft: Draft
) -> None:
    sync()
    failed = CheckResult("email_ok", CheckStatus.WARN, 2, {"examples": [{"id": 7, "email": "x"}]})
    publish(
        shop, None,
        [draft("shop/orders", columns=ORDERS.columns, checks=(failed,), partition="2026-01-01",
               statistics={
                   "id": {"null_count": 0, "min": 1, "max": 9, "distinct_count": 8, "mean": 4.5,
                          "quantiles": {"p25": 2, "p50": 4, "p75": 7}},
                   "email": {"null_count": 1, "min": "a", "distinct_count": 2},
               })],
    )  # fmt: skip
    publish_sales(shop, draft)
    sync(settings={"send_values": True})
    (profile,) = [each for (fqn, _), each in server.profiles.items() if fqn == TABLE]
    measured = {each["name"]: each for each in profile["columnProfile"]}
    assert profile["tableProfile"]["rowCount"] == 10
    at = profile["tableProfile"]["timestamp"]
    assert profile["systemProfile"] == [{"timestamp": at, "operation": "WRITE", "rowsAffected": 10}]
    assert (measured["id"]["min"], measured["id"]["max"]) == (1, 9)
    assert (measured["id"]["distinctCount"], measured["id"]["mean"], measured["id"]["median"]) == (8, 4.5, 4)
    assert (measured["id"]["firstQuartile"], measured["id"]["thirdQuartile"]) == (2, 7)
    assert not {"min", "distinctCount"} & measured["email"].keys(), "the column is sensitive"
    ((_, result),) = server.results.items()
    assert (result["testCaseStatus"], result["failedRows"], result["passedRows"]) == ("Failed", 2, 8)
    assert server.samples[f"{TABLE}.email.email_ok"] == {"columns": ["email", "id"], "rows": [["***", 7]]}
    assert [each["testCaseResolutionStatusType"] for each in server.incidents] == ["New"]
    ((address, _), status) = next(iter(server.statuses.items()))
    assert (address, status["executionStatus"]) == ("headrace.shop/sales", "Successful")
    changed(server)
    sync()
    assert changed(server) == []


def test_appended_rows_are_sent_as_an_insert(
    shop: Engine, sync: Sync, server: Contract, draft: Draft
) -> None:
    sync()
    first = draft("shop/orders", columns=ORDERS.columns)
    publish(shop, None, [first])
    appended = [{"tag": first.tag, "location": first.location}]
    second = draft("shop/orders", columns=ORDERS.columns, metadata={"appended_to": appended})
    publish(shop, None, [replace(second, row_count=13, expected_generation=1)])
    sync()
    written = [each["systemProfile"][0] for each in server.profiles.values()]
    assert [(each["operation"], each["rowsAffected"]) for each in written] == [("WRITE", 10), ("INSERT", 3)]


def test_no_values_are_sent_unless_the_setting_says_so(
    shop: Engine, sync: Sync, server: Contract, draft: Draft
) -> None:
    failed = CheckResult("email_ok", CheckStatus.WARN, 1, {"examples": [{"id": 7}]})
    sync()
    statistics = {"id": {"null_count": 0, "min": 1, "max": 9, "distinct_count": 8, "mean": 4.5}}
    publish(
        shop,
        None,
        [
            draft(
                "shop/orders", columns=ORDERS.columns, checks=(failed,), partition="p", statistics=statistics
            )
        ],
    )
    sync()
    assert server.samples == {}
    (profile,) = server.profiles.values()
    assert not {"min", "mean"} & profile["columnProfile"][0].keys()
    assert profile["columnProfile"][0]["distinctCount"] == 8


@both_generations
def test_datasets_of_other_systems_are_tables_by_their_names(
    shop: Engine, sync: Sync, server: Contract
) -> None:
    odd = 'postgres://host:5432#dwh.public."odd::name>"'
    register(shop, [ORDERS, SALES, DatasetRecord(odd.replace("/", "-"), "jdbc")], PROCESSES)
    assert sync().problems == []
    assert len(server.all("table")) == 3


def test_owners_that_openmetadata_does_not_have_are_reported(
    shop: Engine, sync: Sync, server: Contract
) -> None:
    register(shop, [replace(ORDERS, owners=("team:nobody", "ops@example.com")), SALES], PROCESSES)
    assert sync().problems == ["OpenMetadata has no team 'nobody': the owner team:nobody is left out"]
    assert [each["type"] for each in server.find("table", TABLE)["owners"]] == ["user"]


def test_a_wrong_token_changes_nothing(sync: Sync, server: Contract, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: Request) -> None:
        if request.path != "system/version":
            raise Refused(401, "Token is expired")

    server.before = refuse
    with pytest.raises(
        OpenMetadataUnavailable, match=r"refuses the token of the bot .*HEADRACE_OPENMETADATA__TOKEN"
    ):
        sync()


@pytest.mark.parametrize("version", ["1.11.4", "3.0.0", "dev", ""])
def test_servers_of_unknown_versions_get_nothing(sync: Sync, server: Contract, version: str) -> None:
    server.version = version
    with pytest.raises(OpenMetadataUnavailable):
        sync()
    assert server.requests == ["GET system/version"]


def test_one_entity_that_is_refused_does_not_stop_the_others(sync: Sync, server: Contract) -> None:
    def refuse(request: Request) -> None:
        if request.method == "PUT" and request.path == "tables" and request.body["name"] == "orders":
            raise Refused(400, "too long")

    server.before = refuse
    (problem, *_) = sync().problems
    assert "shop/orders" in problem
    assert names(server, "table") == {f"{SERVICE}.sales"}
    assert "shop/orders" in sync().problems[0], "it is reported until it passes"
    server.before = lambda _: None
    assert sync().problems == []
    assert names(server, "table") == {f"{SERVICE}.sales", TABLE}
    assert names(server, "testCase") == {f"{TABLE}.id.id_unique", f"{TABLE}.email.email_ok"}
    assert len(server.edges) == 2
    server.requests.clear()
    assert sync().counts == {}
    assert len(server.requests) == 4


@pytest.mark.parametrize("failure", ["busy", "broken", "timeout"])
def test_a_busy_server_is_asked_again(sync: Sync, server: Contract, failure: str) -> None:
    seen: set[str] = set()

    def fail(request: Request) -> None:
        if str(request) in seen or request.method == "GET":
            return
        seen.add(str(request))
        if failure == "timeout":
            raise httpx.ReadTimeout("slow")
        raise Refused(429, "busy", **{"Retry-After": "1"}) if failure == "busy" else Refused(503, "starting")

    server.after = fail  # the change has its effect, and the answer is lost
    assert sync().problems == []
    assert len(server.all("table")) == 2
    assert len(server.all("testCase")) == 2


def test_a_patch_that_meets_another_change_is_merged_again(
    shop: Engine, sync: Sync, server: Contract
) -> None:
    sync()
    table = server.find("table", TABLE)
    register(shop, [replace(ORDERS, description="All orders"), SALES], PROCESSES)
    raced: list[Request] = []

    def race(request: Request) -> None:
        if request.method == "PATCH" and not raced:
            raced.append(request)
            label = {
                "tagFQN": "Tier.Tier2",
                "source": "Classification",
                "labelType": "Manual",
                "state": "Confirmed",
            }
            server.steward(table, tags=[*table["tags"], label])

    server.before = race
    sync()
    assert raced
    table = server.find("table", TABLE)
    assert table["description"] == "All orders"
    assert "Tier.Tier2" in {each["tagFQN"] for each in table["tags"]}


def test_a_table_that_was_deleted_there_is_left_so(shop: Engine, sync: Sync, server: Contract) -> None:
    sync()
    table = server.find("table", TABLE)
    server._update(table, {**table, "deleted": True}, "ada", "entitySoftDeleted")
    register(shop, [replace(ORDERS, description="All orders"), SALES], PROCESSES)
    changed(server)
    (problem, *_) = sync().problems
    assert "shop/orders: deleted in OpenMetadata" in problem
    assert table["deleted"]


def test_what_is_there_already_is_found_page_by_page(
    shop: Engine, sync: Sync, server: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync()
    table = server.find("table", TABLE)
    server.steward(table, description="By a steward")
    with transaction(shop) as cursor:  # as after the catalog was restored from a backup
        cursor.execute("DELETE FROM catalog.openmetadata_sent")
        cursor.execute("DELETE FROM catalog.openmetadata_position")
    monkeypatch.setattr("headrace.openmetadata.client.PAGE", 1)
    changed(server)
    result = sync(settings={"fields": {"description": "steward"}})
    assert result.counts == {}
    assert [each for each in changed(server) if "metadata/types" not in each] == []
    assert server.find("table", TABLE)["description"] == "By a steward"


@both_generations
def test_long_names_are_shortened_and_shown_whole(shop: Engine, sync: Sync, server: Contract) -> None:
    long = DatasetRecord(f"shop/{'a' * 300}", "parquet", columns=(Column("b" * 300, "int"),))
    register(shop, [ORDERS, SALES, long], PROCESSES)
    assert sync().problems == []
    (table,) = [each for each in server.all("table") if len(each["name"]) > 100]
    assert len(table["name"]) == 256
    assert table["displayName"] == "a" * 300


def test_columns_by_the_thousand_are_sent(shop: Engine, sync: Sync, server: Contract) -> None:
    wide = DatasetRecord("shop/wide", "parquet", columns=tuple(Column(f"c{n}", "int") for n in range(2000)))
    register(shop, [ORDERS, SALES, wide], PROCESSES)
    assert sync().problems == []
    assert len(server.find("table", f"{SERVICE}.wide")["columns"]) == 2000
    assert sync(whole=True).counts == {}


def test_an_edge_that_is_refused_is_sent_the_next_time(sync: Sync, server: Contract) -> None:
    def refuse(request: Request) -> None:
        if request.path == "lineage":
            raise Refused(500, "no index")

    server.before = refuse
    assert len(sync().problems) == 2
    server.before = lambda _: None
    assert sync().problems == []
    assert len(server.edges) == 2


def test_a_tag_that_was_renamed_there_is_made_again(shop: Engine, sync: Sync, server: Contract) -> None:
    sync()
    tag = server.entities[server.names.pop(("tag", "Headrace.layer=clean"))]
    tag["name"], tag["fullyQualifiedName"] = "cleaned", "Headrace.cleaned"
    server.names["tag", "Headrace.cleaned"] = tag["id"]
    for each in server.all("table"):
        each["tags"] = [each for each in each.get("tags") or () if each["tagFQN"] != "Headrace.layer=clean"]
    register(
        shop, [replace(ORDERS, description="All orders"), replace(SALES, tags={"layer": "clean"})], PROCESSES
    )
    problems = sync().problems
    assert problems
    assert all("sync --whole` makes tags" in each for each in problems)
    assert sync(whole=True).problems == []
    assert "Headrace.layer=clean" in {
        each["tagFQN"] for each in server.find("table", f"{SERVICE}.sales")["tags"]
    }


def test_a_cyclic_glossary_does_no_harm(shop: Engine, sync: Sync, server: Contract) -> None:
    for name, parent in (("A", "B"), ("B", "A")):
        server.seed("glossaryTerms", name=name, fullyQualifiedName=name, parent=parent)
    register(
        shop, [replace(ORDERS, tags={"glossary": "A"}), replace(SALES, tags={"glossary": "C"})], PROCESSES
    )
    assert sync().problems == ["OpenMetadata has no glossary term 'C': it is left out"]
    assert [each["tagFQN"] for each in server.find("table", TABLE)["tags"]] == ["A"]


def test_a_patch_that_is_always_too_late_ends_as_a_problem(
    shop: Engine, sync: Sync, server: Contract
) -> None:
    sync()
    register(shop, [replace(ORDERS, description="All orders"), SALES], PROCESSES)
    patches = 0

    def stale(request: Request) -> None:
        nonlocal patches
        if request.method == "PATCH":
            patches += 1
            assert patches < 50
            raise Refused(412, "stale")

    server.before = stale
    (problem,) = sync().problems
    assert "shop/orders: another changed it each time" in problem
    server.before = lambda _: None
    assert sync().problems == []
    assert server.find("table", TABLE)["description"] == "All orders"


def test_a_check_of_another_column_moves_with_its_results(
    shop: Engine, sync: Sync, server: Contract, draft: Draft
) -> None:
    sync()
    for column in ("email", "id", "email"):
        moved = replace(ORDERS.checks[0], column=column)
        register(shop, [replace(ORDERS, checks=(moved, ORDERS.checks[1])), SALES], PROCESSES)
        assert sync().problems == []
    passed = CheckResult("id_unique", CheckStatus.PASS, 0)
    publish(shop, None, [draft("shop/orders", columns=ORDERS.columns, checks=(passed,), partition="p")])
    assert sync().problems == []
    (result,) = server.results
    assert result[0] == f"{TABLE}.email.id_unique"
    assert server.find("testCase", f"{TABLE}.id.id_unique")["deleted"]
    assert not server.find("testCase", f"{TABLE}.email.id_unique")["deleted"]


def test_a_changed_check_is_sent_though_another_changed_it_meanwhile(
    shop: Engine, sync: Sync, server: Contract
) -> None:
    sync()
    case = server.find("testCase", f"{TABLE}.email.email_ok")
    checks = (ORDERS.checks[0], replace(ORDERS.checks[1], parameters={"pattern": "@@"}))
    register(shop, [replace(ORDERS, checks=checks), SALES], PROCESSES)

    def race(request: Request) -> None:
        if request.method == "PATCH" and "testCases" in str(request):
            server.before = lambda _: None
            server.steward(case, displayName="Addresses")

    server.before = race
    assert sync().problems == []
    case = server.find("testCase", f"{TABLE}.email.email_ok")
    assert (case["parameterValues"][0]["value"], case["displayName"]) == ("@@", "Addresses")


def test_columns_that_others_wrote_for_fields_of_structs_stay(
    shop: Engine, sync: Sync, server: Contract
) -> None:
    field = Column("lines", "array<struct<sku:string>>")
    sales = replace(SALES, columns=(*SALES.columns, field))
    register(shop, [ORDERS, sales], PROCESSES)
    sync()
    ends = tuple(server.find("table", f"{SERVICE}.{name}")["id"] for name in ("orders", "sales"))
    theirs = {"fromColumns": [f"{TABLE}.lines.sku"], "toColumn": f"{SERVICE}.sales.lines.sku"}
    server.edges[ends] = {**server.edges[ends], "columnsLineage": [theirs]}
    register(shop, [ORDERS, replace(sales, columns=(*sales.columns, Column("more", "int")))], PROCESSES)
    sync(whole=True)
    assert server.edges[ends]["columnsLineage"] == [theirs]


def test_example_rows_name_sensitive_columns_in_many_ways(
    shop: Engine, sync: Sync, server: Contract, draft: Draft
) -> None:
    row = {"ID": 7, "EMAIL": "x", "mail": "x", "lines": {"sku": "a"}}
    failed = CheckResult("email_ok", CheckStatus.WARN, 1, {"examples": [row]})
    sync()
    publish(shop, None, [draft("shop/orders", columns=ORDERS.columns, checks=(failed,), partition="p")])
    sync(settings={"send_values": True})
    (sample,) = server.samples.values()
    found = dict(zip(sample["columns"], sample["rows"][0], strict=True))
    assert found == {"ID": 7, "EMAIL": "***", "mail": "***", "lines": {"sku": "a"}}


@pytest.mark.parametrize("is_sent", [False, True])
def test_the_sql_of_checks_is_sent_only_if_the_setting_says_so(
    shop: Engine, sync: Sync, server: Contract, is_sent: bool
) -> None:
    check = replace(ORDERS.checks[0], kind="sql", column=None, parameters={"expression": "id <> 13"})
    register(shop, [replace(ORDERS, checks=(check,)), SALES], PROCESSES)
    assert sync(settings={"send_sql": is_sent}).problems == []
    case = server.find("testCase", f"{TABLE}.id_unique")
    assert ("id <> 13" in str(case)) is is_sent


def test_measures_that_a_failing_server_refuses_are_sent_the_next_time(
    shop: Engine, sync: Sync, server: Contract, draft: Draft
) -> None:
    sync()
    failed = CheckResult("email_ok", CheckStatus.WARN, 1, {})
    publish(shop, None, [draft("shop/orders", columns=ORDERS.columns, checks=(failed,), partition="p")])

    def fail(request: Request) -> None:
        if "tableProfile" in request.path or "testCaseResults" in request.path:
            raise Refused(500, "no index")

    server.before = fail
    assert any("measures of" in problem for problem in sync().problems)
    assert (server.profiles, server.results) == ({}, {})
    server.before = lambda _: None
    assert sync().problems == []
    assert len(server.profiles) == 1
    assert len(server.results) == 1
