"""Commands that query the catalog: their text, the shape of their JSON, and every error."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine
from typer.testing import Result

from headrace import queries
from headrace.catalog.records import CheckResult, CheckStatus, DatasetRecord, RunState
from headrace.database.connection import transaction
from headrace.files.filesystem import local_path
from headrace.publishing.runs import attempt
from headrace.registration.declarations import record_load, register
from headrace.settings import settings
from headrace.slas.tick import evaluate
from headrace.terminal import frames
from tests.platform.cli.conftest import put

Invoke = Callable[..., Result]
Ask = Callable[..., Any]
Stocked = tuple[Engine, UUID]


def complaint(result: Result, code: int = 1) -> str:
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return " ".join(result.stderr.split())


# --- datasets


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ((), ["lab/other", "shop/clean", "shop/raw"]),
        (("--domain", "shop"), ["shop/clean", "shop/raw"]),
        (("--domain", "sho"), []),
        (("--tag", "layer"), ["shop/clean", "shop/raw"]),
        (("--tag", "layer=raw"), ["shop/raw"]),
        (("--owner", "DATA"), ["shop/clean"]),
        (("--search", "delivers"), ["shop/raw"]),
        (("--search", "raw", "--owner", "data"), []),
    ],
)
def test_datasets(shop: Engine, ask: Ask, options: tuple[str, ...], keys: list[str]) -> None:
    assert [row["key"] for row in ask("datasets", *options)["datasets"]] == keys


def test_datasets_row(shop: Engine, ask: Ask) -> None:
    row = ask("datasets", "--search", "delivers")["datasets"][0]
    assert row.pop("updated_at").endswith("Z")
    assert row == {
        "key": "shop/raw",
        "description": "What the shop delivers.",
        "format": "parquet",
        "owners": ["team:shop"],
        "tags": {"layer": "raw"},
        "partitions": None,
        "status": "ACTIVE",
        "declared_at": None,
        "known_columns": None,
        "lineage_columns": None,
    }


def test_datasets_for_people(shop: Engine, invoke: Invoke) -> None:
    assert re.search(
        r"shop/raw +What the shop delivers\. +- +team:shop +layer=raw", invoke("datasets").stdout
    )
    assert invoke("datasets", "--domain", "no").stdout == "No matching dataset.\n"


def test_no_datasets(engine: Engine, invoke: Invoke) -> None:
    assert "`headrace materialize 'key:\"*\"' --dry-run` registers the declared" in invoke("datasets").stdout
    message = complaint(invoke("show", "shop/raw"))
    assert (
        "shop/raw. No dataset is registered; `headrace materialize 'key:\"*\"' --dry-run` registers"
        in message
    )


# --- show, versions


def test_show(stocked: Stocked, ask: Ask, invoke: Invoke) -> None:
    assert "not evaluated yet" in invoke("show", "shop/clean").stdout
    evaluate(stocked[0])
    found = ask("show", "shop/clean")
    assert set(found) == {"dataset", "status", "objectives", "quality"}
    assert found["dataset"]["upstream"] == ["shop/raw"]
    assert found["dataset"]["columns"][1]["tags"] == ["pii"]
    assert found["status"]["partition_count"] == 2
    assert [each["state"] for each in found["objectives"]] == ["ON_TRACK"]


def test_show_has_the_columns_of_the_published_version_where_none_are_declared(
    shop: Engine, ask: Ask
) -> None:
    assert ask("show", "lab/other")["dataset"]["columns"] == []
    put(shop, "lab/other", "other-1")
    assert [column["name"] for column in ask("show", "lab/other")["dataset"]["columns"]] == ["id", "name"]


def test_show_for_people(stocked: Stocked, invoke: Invoke) -> None:
    invoke("pin", "shop/raw", "raw-1", "--consumer", "shop/clean", "--reason", "wrong prices")
    message = invoke("show", "shop/clean").stdout
    for line in (
        r"published +2 partitions, 6 rows, 2\.5 kB, newest clean-1, ",
        r"sla +never older than 1 h",
        r"made from +shop/raw",
        r"declared at +assets/shop/defs\.yaml:3",
        r"name +string +yes +pii +Who\.",
        r"id_unique +unique +- +ERROR +PASS",
        r"name_short +str_length +name +WARNING +WARN",
    ):
        assert re.search(line, message), line
    assert re.search(
        r"pins +raw-1 for shop/clean, by \w+ .* ago: wrong prices", invoke("show", "shop/raw").stdout
    )
    other = invoke("show", "lab/other").stdout
    assert re.search(r"published +nothing yet", other)
    assert re.search(r"sla +by 06:00 UTC each day", other)


@pytest.mark.parametrize("command", ["show", "versions", "lineage", "rollback", "unpin", "read"])
def test_unknown_dataset(shop: Engine, invoke: Invoke, command: str) -> None:
    message = complaint(invoke(command, "shop/raww"))
    assert "error: not registered in the catalog: shop/raww. Did you mean shop/raw?" in message


def test_versions(stocked: Stocked, ask: Ask, invoke: Invoke) -> None:
    engine, run_id = stocked
    put(engine, "shop/raw", "raw-3", checks=(CheckResult("id_unique", CheckStatus.FAIL, 7),))
    found = ask("versions", "shop/raw")
    assert found["dataset"] == "shop/raw"
    assert [
        (row["version"]["tag"], row["version"]["outcome"], row["published"]) for row in found["versions"]
    ] == [
        ("raw-3", "BLOCKED", False),
        ("raw-2", "PUBLISHED", True),
        ("raw-1", "PUBLISHED", False),
    ]
    assert [row["version"]["tag"] for row in ask("versions", "shop/raw", "--limit", "1")["versions"]] == [
        "raw-3"
    ]
    message = invoke("versions", "shop/raw", "--limit", "2").stdout
    assert re.search(r"raw-3 .* BLOCKED .* failed check: id_unique \(7 rows\)", message)
    assert re.search(r"raw-2 .* published now", message)
    assert "Showing the newest 2; use --limit for more." in message
    days = ask("versions", "shop/clean", "--partition", "2026-01-02")["versions"]
    assert [(row["version"]["partition"], row["warning"]) for row in days] == [("2026-01-02", ["name_short"])]
    assert str(run_id)[:8] in invoke("versions", "shop/clean").stdout


def test_no_versions(shop: Engine, invoke: Invoke) -> None:
    message = invoke("versions", "shop/raw").stdout
    assert message == "shop/raw has no version; `headrace materialize shop/raw` creates one.\n"


# --- lineage


def test_lineage_of_datasets(stocked: Stocked, ask: Ask, invoke: Invoke) -> None:
    found = ask("lineage", "shop/clean")
    assert (found["key"], found["direction"], found["truncated"]) == ("shop/clean", "up", False)
    assert [(node["key"], node["depth"]) for node in found["nodes"]] == [("shop/clean", 0), ("shop/raw", 1)]
    assert found["edges"] == [{"source": "shop/raw", "target": "shop/clean", "process": "shop/clean"}]
    assert invoke("lineage", "shop/clean").stdout == "shop/clean\n└── shop/raw\n"
    assert invoke("lineage", "shop/raw", "--down").stdout == "shop/raw\n└── shop/clean\n"
    assert invoke("lineage", "shop/raw").stdout == "shop/raw\n"


def test_lineage_of_versions(stocked: Stocked, ask: Ask, invoke: Invoke) -> None:
    one = invoke("lineage", "shop/clean", "--partition", "2026-01-01").stdout
    assert one == "shop/clean [2026-01-01] clean-1\n└── shop/raw raw-2\n"
    down = invoke("lineage", "shop/raw", "--down", "--version", "raw-2").stdout
    assert down == "shop/raw raw-2\n└── shop/clean 2 versions, 2026-01-01 to 2026-01-02\n"
    found = ask("lineage", "shop/clean", "--as-of", "2999-01-01")
    assert {node["version"]["tag"] for node in found["nodes"]} == {"clean-1", "raw-2"}
    assert len(found["edges"]) == 2


def test_lineage_for_graphviz(stocked: Stocked, invoke: Invoke) -> None:
    assert '  "shop/raw" -> "shop/clean";' in invoke("lineage", "shop/clean", "--dot").stdout.splitlines()
    exact = invoke("lineage", "shop/clean", "--dot", "--partition", "2026-01-01").stdout
    assert r'[label="shop/clean\n2026-01-01\nclean-1"];' in exact


def test_lineage_complaints(stocked: Stocked, invoke: Invoke) -> None:
    assert "shop/raw has no version raw-9" in complaint(invoke("lineage", "shop/raw", "--version", "raw-9"))
    too_early = complaint(invoke("lineage", "shop/raw", "--as-of", "2001-01-01"))
    assert "shop/raw has no version published by 2001-01-01T00:00:00+00:00" in too_early
    both = invoke("lineage", "shop/raw", "--version", "raw-1", "--as-of", "2001-01-01")
    assert "--version and --as-of cannot be combined" in complaint(both, 2)
    assert "--dot, --json and --html cannot be combined" in complaint(
        invoke("lineage", "shop/raw", "--dot", "--json"), 2
    )
    wrong = complaint(invoke("lineage", "shop/raw", "--as-of", "yesterday"), 2)
    assert "'yesterday' is not a valid time; write 2026-11-28" in wrong


# --- pin, unpin, rollback


def test_pin_and_unpin(stocked: Stocked, ask: Ask, invoke: Invoke) -> None:
    pinned = {
        "dataset": "shop/raw",
        "partition": None,
        "tag": "raw-1",
        "consumer": "shop/clean",
        "pinned": True,
    }
    assert ask("pin", "shop/raw", "raw-1", "--consumer", "shop/clean") == pinned
    assert [pin["tag"] for pin in ask("show", "shop/raw")["dataset"]["pins"]] == ["raw-1"]
    free = {**pinned, "tag": None, "pinned": False}
    assert ask("unpin", "shop/raw", "--consumer", "shop/clean") == free
    assert invoke("pin", "shop/raw", "raw-1").stdout == "Everyone now reads shop/raw at raw-1.\n"
    assert invoke("unpin", "shop/raw").stdout == "Everyone now reads the published version of shop/raw.\n"
    assert "shop/raw has no pin for all readers" in complaint(invoke("unpin", "shop/raw"))


def test_pin_complaints(stocked: Stocked, invoke: Invoke) -> None:
    engine, _ = stocked
    message = complaint(invoke("pin", "shop/raw", "raw-9"))
    assert "shop/raw has no version raw-9. The newest are: raw-2, raw-1." in message
    put(engine, "shop/raw", "raw-3", checks=(CheckResult("id_unique", CheckStatus.FAIL),))
    assert "version raw-3 of shop/raw is BLOCKED" in complaint(invoke("pin", "shop/raw", "raw-3"))


def test_rollback_asks_and_says_what_is_stale(stocked: Stocked, invoke: Invoke) -> None:
    engine, _ = stocked
    refused = invoke("rollback", "shop/raw", input="n\n")
    assert refused.exit_code == 1
    assert queries.version(engine, "shop/raw").version.tag == "raw-2"
    done = invoke("rollback", "shop/raw", input="y\n")
    assert done.exit_code == 0
    assert re.search(r"from +raw-2 +4 .*\n.*to +raw-1 +3", done.stdout)
    assert (
        "  shop/clean (2 partitions)\nRebuild them with: headrace materialize shop/clean --stale"
        in done.stdout
    )
    assert "shop/raw is published at raw-1." in done.stdout
    assert queries.version(engine, "shop/raw").version.tag == "raw-1"


def test_rollback_for_scripts(stocked: Stocked, ask: Ask) -> None:
    assert ask("rollback", "shop/raw", "--to", "raw-1", "--reason", "wrong prices") == {
        "dataset": "shop/raw",
        "partition": None,
        "from": "raw-2",
        "to": "raw-1",
        "generation": 3,
        "stale": [{"dataset": "shop/clean", "partitions": ["2026-01-01", "2026-01-02"]}],
    }


def manifest() -> Path:
    return local_path(f"{settings().warehouse_uri}/shop/raw/_published/current.json")


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def session() -> None:
        raise AssertionError("a warehouse on this machine needs no Spark")

    monkeypatch.setattr(frames, "session", session)


@pytest.mark.usefixtures("no_spark")
def test_rollback_updates_the_manifest(stocked: Stocked, invoke: Invoke) -> None:
    assert invoke("rollback", "shop/raw", "--yes").exit_code == 0
    found = json.loads(manifest().read_text())
    assert (found["tag"], found["generation"]) == ("raw-1", 3)


def test_rollback_reports_an_outdated_manifest(stocked: Stocked, invoke: Invoke) -> None:
    engine, _ = stocked
    manifest().parents[1].mkdir(parents=True)
    manifest().parent.touch()
    result = invoke("rollback", "shop/raw", "--yes", "--json")
    message = complaint(result)
    assert json.loads(result.stdout)["to"] == "raw-1"
    assert "shop/raw is rolled back, but its manifest or other reference could not be updated" in message
    assert "readers still find raw-2" in message
    assert "run `headrace manifests shop/raw`" in message
    assert queries.version(engine, "shop/raw").version.tag == "raw-1"


@pytest.mark.usefixtures("no_spark")
def test_manifests_that_are_behind(stocked: Stocked, ask: Ask, invoke: Invoke, tmp_path: Path) -> None:
    engine, _ = stocked
    found = ask("manifests", "shop/raw")
    assert (found["current"], found["problems"]) == (1, [])
    assert [(each["dataset"], each["tag"]) for each in found["rewritten"]] == [("shop/raw", "raw-2")]
    assert ask("manifests", "shop/raw") == {"current": 1, "rewritten": [], "problems": []}
    put(engine, "shop/raw", "raw-3", location=tmp_path / "files")
    message = invoke("manifests", "shop/raw")
    assert "1 of 1 manifests were out of date and have been rewritten." in message.stdout
    assert json.loads(manifest().read_text())["tag"] == "raw-3"


@pytest.mark.usefixtures("no_spark")
def test_manifests_of_all_datasets_but_those_that_have_problems(stocked: Stocked, invoke: Invoke) -> None:
    result = invoke("manifests")
    assert "error: shop/clean: Nothing is at file:///nowhere" in complaint(result)
    assert "1 of 1 manifests were out of date" in result.stdout
    assert "not registered in the catalog: shop/raww" in complaint(invoke("manifests", "shop/raww"))


def test_rollback_complaints(stocked: Stocked, invoke: Invoke) -> None:
    message = complaint(invoke("rollback", "shop/clean", "--partition", "2026-01-01", "--yes"))
    assert "shop/clean partition 2026-01-01 had no version published before clean-1" in message
    assert "has version raw-2 published already" in complaint(
        invoke("rollback", "shop/raw", "--to", "raw-2", "--yes")
    )
    assert "has no version raw-9" in complaint(invoke("rollback", "shop/raw", "--to", "raw-9", "--yes"))
    assert "lab/other has no published version" in complaint(invoke("rollback", "lab/other", "--yes"))


@pytest.mark.parametrize("words", [("rollback", "shop/clean", "--yes"), ("pin", "shop/clean", "clean-1")])
def test_a_partitioned_dataset_without_its_partition(
    stocked: Stocked, invoke: Invoke, words: tuple[str, ...]
) -> None:
    message = complaint(invoke(*words))
    assert "choose one with --partition, such as 2026-01-02, 2026-01-01" in message


# --- why, status


def test_why(stocked: Stocked, ask: Ask, invoke: Invoke) -> None:
    _, run_id = stocked
    [report] = ask("why", str(run_id))["runs"]
    assert (report["process_key"], report["state"]) == ("shop/clean", "SUCCESS")
    assert [item["version"]["tag"] for item in report["inputs"]] == ["raw-2"]
    assert [item["version"]["partition"] for item in report["outputs"]] == ["2026-01-01", "2026-01-02"]
    message = invoke("why", "dagster-run-1").stdout
    for line in (
        r"of +shop/clean \(SPARK\)",
        r"log of attempt 1: /logs/1",
        r"shop/raw +raw-2",
        r"shop/clean +2026-01-02 +clean-1 +PUBLISHED +3 +1 passed; name_short warn \(2 rows\)",
    ):
        assert re.search(line, message), line


def test_why_a_run_failed(shop: Engine, invoke: Invoke) -> None:
    run_id = uuid4()
    with pytest.raises(ValueError, match="no"), attempt(shop, run_id=run_id, process_key="shop/clean"):
        raise ValueError("no column price")
    message = invoke("why", str(run_id)[:8]).stdout
    assert re.search(r"1 +FAILED .* CODE +ValueError: no column price", message)


def test_why_says_that_a_run_was_lost(shop: Engine, ask: Ask) -> None:
    run_id = uuid4()
    with attempt(shop, run_id=run_id, process_key="shop/clean") as current:
        with transaction(shop) as cursor:  # like after the death of its process, the lock is free
            cursor.execute("UPDATE catalog.run_attempt SET lock_key = lock_key + 1")
        assert ask("why", str(run_id))["runs"][0]["state"] == "LOST"
        current.end(RunState.SUCCESS)


def test_why_complaints(stocked: Stocked, invoke: Invoke) -> None:
    assert "begins with zzzzzz" in complaint(invoke("why", "zzzzzz"))
    assert "is too short for a run id" in complaint(invoke("why", "1"))


def test_status(stocked: Stocked, ask: Ask, invoke: Invoke) -> None:
    engine, _ = stocked
    assert invoke("status").stdout.count("not evaluated yet") == 2
    evaluate(engine)
    put(engine, "shop/raw", "raw-3", checks=(CheckResult("id_unique", CheckStatus.FAIL, 7),))
    found = ask("status")
    assert set(found) == {"datasets", "unreported", "declarations", "retired"}
    by_key = {row["key"]: row for row in found["datasets"]}
    assert [each["state"] for each in by_key["shop/clean"]["objectives"]] == ["ON_TRACK"]
    assert by_key["shop/clean"]["warning"] == ["name_short"]
    assert [each["state"] for each in by_key["lab/other"]["objectives"]] == ["UNKNOWN"]
    assert by_key["shop/raw"]["objectives"] == []
    message = invoke("status").stdout
    assert "shop/raw: version raw-3 is blocked, failed check: id_unique (7 rows)." in message
    assert "lab/other has never been published." in message
    first, *_ = found["unreported"]["versions"]
    assert found["unreported"]["total"] == len(found["unreported"]["versions"])
    assert (first["dataset"], first["failure"]) == ("shop/clean", None)
    assert (
        f"shop/clean, partition {first['partition']}, is published as {first['version']}, but its run ended"
        in message
    )


def test_status_of_a_large_catalog_is_a_summary_and_what_needs_attention(
    stocked: Stocked, invoke: Invoke
) -> None:
    engine, _ = stocked
    register(engine, [DatasetRecord(f"many/t{number}", "parquet") for number in range(60)])
    put(engine, "shop/raw", "raw-3", checks=(CheckResult("id_unique", CheckStatus.FAIL, 7),))
    message = invoke("status").stdout
    assert message.startswith("63 datasets: 61 never published, 1 with failed checks, 1 with warnings.\n")
    assert "many/t7" not in message
    assert "shop/raw: version raw-3 is blocked" in message
    assert "many/t7" in invoke("status", "--all").stdout


def test_status_shows_the_invalid_declarations_of_the_last_load(
    engine: Engine, ask: Ask, invoke: Invoke
) -> None:
    problem = {
        "file": "assets/shop/defs.yaml",
        "line": 3,
        "field": "colour",
        "message": "unknown",
        "hint": None,
    }
    record_load(engine, [problem])
    [shown] = ask("status")["declarations"]
    assert {name: shown[name] for name in problem} == problem
    assert "assets/shop/defs.yaml:3: colour: unknown (project " in invoke("status").stdout
    record_load(engine, [])
    assert ask("status")["declarations"] == []


def test_a_retired_dataset_is_listed_on_request_only(shop: Engine, ask: Ask, invoke: Invoke) -> None:
    assert invoke("retire", "lab/other", "--reason", "replaced").stdout == "lab/other is retired.\n"
    again = invoke("retire", "lab/other", "--reason", "replaced")
    assert (again.exit_code, "lab/other is already retired" in again.stderr) == (1, True)
    assert [row["key"] for row in ask("datasets")["datasets"]] == ["shop/clean", "shop/raw"]
    assert [row["key"] for row in ask("datasets", "--retired")["datasets"]] == ["lab/other"]
    found = ask("status")
    assert [row["key"] for row in found["datasets"]] == ["shop/clean", "shop/raw"]
    assert [(row["key"], row["reason"]) for row in found["retired"]] == [("lab/other", "replaced")]
    assert "Retired: lab/other (--retired shows them)." in invoke("status").stdout
    assert "lab/other was retired" in invoke("status", "--retired").stdout
    assert invoke("restore", "lab/other", "--reason", "needed").stdout == "lab/other is restored.\n"
    assert len(ask("datasets")["datasets"]) == 3
    assert ask("status")["retired"] == []


def test_status_names_runs_that_failed_and_that_go_on(shop: Engine, invoke: Invoke) -> None:
    run_id = uuid4()
    with attempt(shop, run_id=run_id, process_key="shop/clean"):
        message = invoke("status").stdout
        assert f"; headrace why {run_id}" in message
        assert "shop/clean: a run has been active since" in message
    with pytest.raises(ValueError, match="no"), attempt(shop, run_id=run_id, process_key="shop/clean"):
        raise ValueError("no")
    assert f"shop/clean: its last run failed; headrace why {run_id}" in invoke("status").stdout
