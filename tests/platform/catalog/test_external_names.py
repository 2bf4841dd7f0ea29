"""The process of an external name: by system, scheduler and name, whatever keys look like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from headrace.catalog.records import ProcessRecord, RunState, Technology
from headrace.catalog.scans import ExternalKey
from headrace.errors import UnknownProcess
from headrace.estates.adoption import adopt
from headrace.estates.estates import scan
from headrace.job_reports.ingestion import ingest
from headrace.registration.declarations import register
from tests.platform.events.run_events import job_event

S = RunState
BOX = (
    "insert_job: PRD   job_type: BOX \nowner: a\ninsert_job: X   job_type: CMD \nbox_name: PRD\nmachine: m\n"
)
ALONE = "insert_job: X   job_type: CMD \nmachine: m\n"


def scanned(engine: Engine, tmp_path: Path, jil: str, instance: str = "") -> None:
    file = tmp_path / f"estate{instance}.jil"
    file.write_text(jil)
    scan(engine, [file], instance, allow_mass_retirement=True)


def processes(engine: Engine) -> dict[tuple[str, str], str]:
    """The key of each process, by scheduler and name."""
    query = "SELECT instance, external_name, process_key FROM catalog.process WHERE external_name IS NOT NULL"
    with engine.connect() as connection:
        return {(row[0], row[1]): row[2] for row in connection.execute(text(query))}


def reported_runs(engine: Engine) -> list[tuple[str, str, str]]:
    """Scheduler, name and run of each run that was reported."""
    query = (
        "SELECT instance, external_name, facets_json ->> 'external_run' FROM catalog.process_run "
        "JOIN catalog.process USING (process_id) ORDER BY 1, 2, 3"
    )
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


@pytest.mark.parametrize("box_first", [True, False])
def test_a_box_may_be_called_like_a_scheduler(engine: Engine, tmp_path: Path, box_first: Any) -> None:
    estates = [(BOX, ""), (ALONE, "PRD")]
    for jil, instance in estates if box_first else estates[::-1]:
        scanned(engine, tmp_path, jil, instance)
    first, second = ("", "PRD") if box_first else ("PRD", "")
    whole = {"": "AUTOSYS//PRD/X", "PRD": "AUTOSYS/PRD//X"}
    wanted = {(first, "X"): "AUTOSYS/PRD/X", (second, "X"): whole[second], ("", "PRD"): "AUTOSYS/PRD"}
    assert processes(engine) == wanted
    for jil, instance in estates:
        scanned(engine, tmp_path, f"{jil}priority: 1\n", instance)
    assert processes(engine) == wanted
    ingest(engine, [job_event("X", S.SUCCESS, 5, instance="PRD"), job_event("X", S.SUCCESS, 6, run="2")])
    assert reported_runs(engine) == [("", "X", "2"), ("PRD", "X", "1")]


def test_an_unscanned_job_is_not_matched_to_a_box_member(engine: Engine, tmp_path: Path) -> None:
    scanned(engine, tmp_path, BOX)
    scanned(engine, tmp_path, "insert_job: Y\nmachine: m\n", "PRD")
    ingested = ingest(engine, [job_event("X", S.SUCCESS, 5, instance="PRD")])
    assert ingested.unscanned == ("AUTOSYS/PRD//X",)
    assert reported_runs(engine) == [("PRD", "X", "1")]
    scanned(engine, tmp_path, "insert_job: Y\nmachine: m\n" + ALONE, "PRD")
    assert processes(engine)["PRD", "X"] == "AUTOSYS/PRD//X"


def test_a_declared_process_cannot_be_reported_by_others(engine: Engine) -> None:
    register(engine, [], [ProcessRecord("AUTOSYS/X", Technology.SPARK)])
    assert ingest(engine, [job_event("X", S.SUCCESS, 5)]).unscanned == ("AUTOSYS///X",)


def test_a_slash_within_a_name_is_no_place_of_the_key(engine: Engine, tmp_path: Path) -> None:
    assert ExternalKey.of("AUTOSYS", "B/X") == ("AUTOSYS/B%2FX", "AUTOSYS///B%2FX")
    scanned(engine, tmp_path, "insert_job: B/X\nmachine: m\ninsert_job: X\nbox_name: B\nmachine: m\n")
    assert set(processes(engine).values()) == {"AUTOSYS/B%2FX", "AUTOSYS/B/X"}


def test_a_scheduler_that_was_not_scanned_is_the_one_that_was_scanned_without_a_name(
    engine: Engine, tmp_path: Path
) -> None:
    scanned(engine, tmp_path, BOX)
    ingested = ingest(
        engine, [job_event("X", S.SUCCESS, 5, instance="ACE", box="PRD"), job_event("X", S.SUCCESS, 5)]
    )
    assert (ingested.unscanned, ingested.runs, ingested.assumed) == ((), 1, ("ACE",))
    assert reported_runs(engine) == [("", "X", "1")]
    assert ingest(engine, [job_event("Z", S.SUCCESS, 5, instance="ACE")]).unscanned == ("AUTOSYS/ACE/Z",)
    assert ingest(engine, [job_event("X", S.SUCCESS, 9, "2", instance="ACE")]).unscanned == ()
    assert reported_runs(engine)[:2] == [("", "X", "1"), ("", "X", "2")]


def test_a_scheduler_that_was_scanned_keeps_its_own(engine: Engine, tmp_path: Path) -> None:
    scanned(engine, tmp_path, BOX)
    scanned(engine, tmp_path, "insert_job: Y\nmachine: m\n", "ACE")
    assert ingest(engine, [job_event("X", S.SUCCESS, 5, instance="ACE")]).unscanned == ("AUTOSYS/ACE/X",)


def test_a_scan_takes_over_unscanned_jobs(engine: Engine, tmp_path: Path) -> None:
    ingest(engine, [job_event("X", S.SUCCESS, 5, instance="ACE")])
    scanned(engine, tmp_path, BOX)
    ingest(engine, [job_event("X", S.SUCCESS, 9, "2", instance="ACE")])
    assert ("", "X", "2") in reported_runs(engine)


def report(engine: Engine, *names: str, instance: str = "") -> None:
    ingest(engine, [job_event(name, S.SUCCESS, 5, instance=instance) for name in names])


def test_a_job_is_adopted_into_a_box_that_is_there(engine: Engine, tmp_path: Path) -> None:
    scanned(engine, tmp_path, BOX)
    report(engine, "EXTRA")
    with pytest.raises(UnknownProcess, match=r"no box PDR; did you mean PRD\?"):
        adopt(engine, "EXTRA", box="PDR", owners=None, by="dana")
    with pytest.raises(UnknownProcess, match="X is not a box but a CMD job"):
        adopt(engine, "EXTRA", box="X", owners=None, by="dana")
    assert adopt(engine, "EXTRA", box="PRD", owners=["a"], by="dana") == "AUTOSYS/PRD/EXTRA"


def test_an_adoption_can_be_corrected(engine: Engine, tmp_path: Path) -> None:
    scanned(engine, tmp_path, BOX + "insert_job: OTHER   job_type: BOX \nowner: a\n")
    report(engine, "EXTRA")
    adopt(engine, "EXTRA", box="PRD", owners=["a"], by="dana")
    assert adopt(engine, "EXTRA", box="OTHER", owners=None, by="dana") == "AUTOSYS/OTHER/EXTRA"
    assert adopt(engine, "EXTRA", box=None, owners=["b"], by="dana") == "AUTOSYS/OTHER/EXTRA"
    assert adopt(engine, "EXTRA", box="", owners=None, by="dana") == "AUTOSYS/EXTRA"
    with engine.connect() as connection:
        query = "SELECT owners, metadata_json FROM catalog.process WHERE external_name = 'EXTRA'"
        assert connection.execute(text(query)).one() == (["b"], {"adopted_by": "dana"})


def test_a_job_known_from_another_instance_is_mentioned(engine: Engine, tmp_path: Path) -> None:
    scanned(engine, tmp_path, BOX)
    report(engine, "EXTRA", instance="ACE")
    with pytest.raises(UnknownProcess, match="unknown process EXTRA; it is known with `--instance ACE`"):
        adopt(engine, "EXTRA", box=None, owners=None, by="dana")


def test_an_adopted_job_keeps_its_key_where_another_has_it(engine: Engine, tmp_path: Path) -> None:
    scanned(engine, tmp_path, BOX)
    scanned(engine, tmp_path, "insert_job: Y\nmachine: m\n" + ALONE.replace("X", "EXTRA"), "PRD")
    report(engine, "EXTRA")
    assert adopt(engine, "EXTRA", box="PRD", owners=None, by="dana") == "AUTOSYS//PRD/EXTRA"
