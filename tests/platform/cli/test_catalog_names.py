"""Commands for names: aliases, merges, renames, and rebuilding the catalog from events."""

from __future__ import annotations

from typing import Any

from tests.platform.openlineage.events import edges, ingest_valid, run_event


def test_names_are_decided_and_kept_by_a_rebuild(shop: Any, invoke: Any) -> None:
    ingest_valid(
        shop,
        run_event(inputs=["source"], outputs=["landed"]),
        run_event(run=2, job="read", inputs=["landed"], outputs=["report"], minutes=1),
    )
    merged = invoke("catalog", "merge", "db#landed", "shop/raw", "--reason", "its files", "--yes")
    assert merged.output == "db#landed is merged into shop/raw\n"
    renamed = invoke("catalog", "rename", "db#report", "lab/report", "--reason", "its name")
    assert renamed.output == "db#report is now named lab/report\n"
    aliased = invoke("catalog", "alias", "shop/raw", "db2://prod#SHOP.RAW", "--reason", "the table")
    assert aliased.output == "db2://prod#SHOP.RAW is now an alias of shop/raw\n"
    expected = {("db#source", "shop/raw"), ("shop/raw", "lab/report")}
    assert expected <= edges(shop)
    assert invoke("catalog", "rebuild").output == "rebuilt from 2 events\n"
    assert expected <= edges(shop)


def test_impossible_decisions_are_reported(shop: Any, invoke: Any) -> None:
    refused = invoke("catalog", "rename", "shop/clean", "shop/cleaned", "--reason", "x")
    assert refused.exit_code == 1
    assert "shop/clean is declared at assets/shop/defs.yaml:3" in refused.output
    unknown = invoke("catalog", "merge", "db#nowhere", "shop/raw", "--reason", "x", "--yes")
    assert unknown.exit_code == 1
    assert "there is no dataset db#nowhere" in unknown.output


def test_a_merge_is_asked_about(shop: Any, invoke: Any) -> None:
    ingest_valid(shop, run_event(outputs=["landed"]))
    stopped = invoke("catalog", "merge", "db#landed", "shop/raw", "--reason", "x", input="n\n")
    assert stopped.exit_code == 1
    assert "This cannot be undone." in stopped.output
