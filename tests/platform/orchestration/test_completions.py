"""Completion files from the folder to Dagster: complete ones only, archived or quarantined, reported once."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import fsspec
import pytest
from sqlalchemy import Engine

from headrace import queries
from headrace.catalog.records import RunState
from headrace.events.pending_materializations import pending_materializations
from headrace.job_reports.ingestion import ingest
from headrace.orchestration.completions.folder import LocalFolder
from headrace.orchestration.completions.intake import take_in
from headrace.orchestration.completions.materializations import materialization, report_completions
from headrace.orchestration.completions.opening import folder_at
from headrace.orchestration.sensors.completions import completions_sensor
from headrace.queries.processes import processes
from headrace.settings import settings
from headrace.spark.errors import StoreUnavailable
from tests.platform.events.run_events import at, contents, job_event, output, wipe
from tests.platform.s3.server import Server, refusing

WITHIN = timedelta(seconds=20)
LOAD = dg.AssetKey(["autosys", "LOAD"])


@pytest.fixture
def folder(engine: Engine) -> LocalFolder:
    return LocalFolder(settings().home / "completions")


@pytest.fixture
def instance() -> Iterator[Any]:
    with dg.instance_for_test() as instance:
        yield instance


def document(process: Any = "LOAD", run: Any = "1", minutes: Any = 5, **given: Any) -> Any:
    return json.dumps(
        {"process": process, "status": "SUCCESS", "run": run, "at": at(minutes).isoformat(), **given}
    )


def drop(folder: LocalFolder, name: Any, text: Any, age: Any = 60.0) -> Any:
    """A file that its writer left so many seconds ago."""
    path = Path(folder.location) / name
    path.write_text(text)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def tree(folder: LocalFolder) -> Any:
    root = Path(folder.location)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def archived(folder: LocalFolder) -> Any:
    return sorted(name.rpartition("/")[2] for name in tree(folder) if name.startswith("archive/"))


def test_files_of_each_form_are_ingested_and_archived_by_day(engine: Engine, folder: LocalFolder) -> None:
    drop(folder, "load.json", document())
    drop(folder, "check.txt", "JOB=CHECK\nSTATUS=FA\nRUN_NUM=7\nEXIT_CODE=3\n")
    drop(folder, "feed.csv", "job,status,run\nA,SU,1\nB,SU,2\n")
    drop(folder, "EXTRACT_20261126.done", "")
    taken = take_in(engine, folder, WITHIN)
    assert (taken.files, taken.ingested.new, taken.problems) == (4, 5, [])
    assert archived(folder) == ["EXTRACT_20261126.done", "check.txt", "feed.csv", "load.json"]
    assert {row[0] for row in contents(engine)["runs"]} == {
        f"AUTOSYS/{name}" for name in ("LOAD", "CHECK", "A", "B", "EXTRACT")
    }


def test_a_second_file_of_the_same_name_keeps_the_first(engine: Engine, folder: LocalFolder) -> None:
    for run in ("1", "2"):
        drop(folder, "load.json", document(run=run))
        take_in(engine, folder, WITHIN)
    assert len(archived(folder)) == 2
    assert len(contents(engine)["runs"]) == 2


def test_a_file_that_is_being_written_is_left_alone_until_it_has_been_still(
    engine: Engine, folder: LocalFolder
) -> None:
    path = Path(folder.location) / "load.json"
    with path.open("w") as writing:
        writing.write(document()[:20])
        writing.flush()
        assert take_in(engine, folder, WITHIN).files == 0
        writing.write(document()[20:])
        writing.flush()
        assert take_in(engine, folder, WITHIN).files == 0
    time.sleep(1.1)
    assert take_in(engine, folder, WITHIN).files == 1


def test_a_file_that_was_renamed_into_place_is_read_at_once(engine: Engine, folder: LocalFolder) -> None:
    hidden = Path(folder.location) / ".load.json.tmp"
    hidden.write_text(document())
    time.sleep(0.05)
    assert take_in(engine, folder, WITHIN).files == 0
    hidden.rename(hidden.with_name("load.json"))
    assert take_in(engine, folder, WITHIN).files == 1


def test_a_bad_file_waits_and_then_goes_into_quarantine_with_its_reason(
    engine: Engine, folder: LocalFolder
) -> None:
    text = document() + '\n{"process": "CHECK", "status": "SUCESS"}\n'
    drop(folder, "feed.json", text, age=5)
    taken = take_in(engine, folder, WITHIN)
    assert (taken.waiting, taken.problems, taken.ingested.new) == (1, [], 1)
    (claimed,) = (Path(folder.location) / ".claimed").iterdir()
    os.utime(claimed, (time.time() - 60, time.time() - 60))
    taken = take_in(engine, folder, WITHIN)
    assert taken.waiting == 0
    (bad,) = folder.quarantined()
    assert bad.name == "feed.json"
    assert bad.reason == (
        f"{folder.location}/feed.json:2: error: CHECK.status: unknown status 'SUCESS'; did you mean SUCCESS? "
        "[report/field]"
    )
    assert Path(bad.place).with_name("feed.json.reason.txt").exists()
    Path(bad.place).write_text(text.replace("SUCESS", "SUCCESS"))
    folder.retry("feed.json")
    time.sleep(1.1)
    taken = take_in(engine, folder, WITHIN)
    assert (taken.files, taken.ingested.new, taken.ingested.repeated) == (1, 1, 1)
    assert [name for name in tree(folder) if not name.startswith("archive/")] == []


def test_what_the_database_refuses_costs_its_own_file_only(
    engine: Engine, folder: LocalFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(engine: Engine, events: Any) -> Any:
        if any(event.process == "BAD" for event in events):
            with engine.begin() as connection:
                connection.connection.driver_connection.execute("SELECT 'x'::int")
        return ingest(engine, events)

    monkeypatch.setattr("headrace.job_reports.ingestion.ingest", refuse)
    for number in range(5):
        drop(folder, f"{number}.json", document(run=str(number)))
    drop(folder, "bad.json", document("BAD"))
    taken = take_in(engine, folder, WITHIN)
    assert (taken.files, taken.ingested.new) == (5, 5)
    assert [bad.name for bad in folder.quarantined()] == ["bad.json"]
    assert "the catalog rejected it: invalid input syntax" in taken.problems[0]


HIGH_DATE = "process,status,run,end_time\nDB2A,SU,1,9999-12-31 23:59:59\n"
DEEP = '{"dataset": "m/deep", "status": "SUCCESS", "foo": ' + "[" * 900 + "]" * 900 + "}"

LONG = "".join(chr(0x10000 + number**5 % 0x90001) for number in range(500))  # more than an index holds, twice


@pytest.mark.parametrize(
    ("name", "text", "kept"),
    [
        ("high.csv", HIGH_DATE, False),
        ("deep.json", DEEP, False),
        ("half.json", r'{"process": "ODD", "status": "SUCCESS", "run": "1", "foo": "\ud800"}', True),
        (os.fsdecode(b"J\xe9.json"), document("ODD"), True),
        (f"{'x' * 250}.json"[-250:], document("ODD"), True),
        (
            "gone.json",
            document("ODD", outputs=[{"dataset": "m/one", "location": "/nowhere/at/all", "measure": True}]),
            True,
        ),
        ("future.json", document("ODD", minutes=10**6), False),
        (
            "long.json",
            document("ODD", outputs=[{"dataset": "m/one", "version": LONG, "partition": LONG[::-1]}]),
            False,
        ),
    ],
)
def test_no_file_keeps_the_others_out(
    engine: Engine, folder: LocalFolder, monkeypatch: pytest.MonkeyPatch, name: Any, text: Any, kept: Any
) -> None:
    monkeypatch.setenv("HEADRACE_COMPLETIONS_ZONE", "America/New_York")
    settings.cache_clear()
    drop(folder, name, text)
    drop(folder, "good.json", document("GOOD"))
    taken = take_in(engine, folder, WITHIN)
    assert (taken.files, len(taken.problems)) == ((2, 0) if kept else (1, 1))
    assert {row.name for row in processes(engine)} == ({"GOOD", "ODD"} if kept else {"GOOD"})
    assert not any(path.startswith(".claimed") for path in tree(folder))
    if not kept:
        assert f"quarantine/{name}.reason.txt" in tree(folder)


@pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="only Linux tells who has a file open")
def test_a_file_open_for_writing_is_not_read(engine: Engine, folder: LocalFolder) -> None:
    path = drop(folder, "slow.csv", "process,status,run\nT1,SU,1\n")
    with path.open("a") as writer:
        os.utime(path, (time.time() - 60, time.time() - 60))
        assert take_in(engine, folder, WITHIN).files == 0
        writer.write("T2,SU,2\n")
    os.utime(path, (time.time() - 60, time.time() - 60))
    assert take_in(engine, folder, WITHIN).ingested.new == 2


def test_what_is_put_right_and_dropped_again_does_not_count_twice(
    engine: Engine, folder: LocalFolder
) -> None:
    drop(folder, "q.csv", "process,status\nQ1,SUCCESS\nQ2,SUCESS\n")
    assert take_in(engine, folder, WITHIN).ingested.new == 1
    put_right = Path(folder.location) / "quarantine" / "q.csv"
    put_right.write_text("process,status\nQ1,SUCCESS\nQ2,SUCCESS\n")
    folder.retry("q.csv")
    taken = take_in(engine, folder, WITHIN)
    assert (taken.ingested.new, taken.ingested.repeated) == (1, 1)


def test_what_was_claimed_by_a_process_that_died_is_read_again(engine: Engine, folder: LocalFolder) -> None:
    drop(folder, "load.json", document())
    (claimed,) = folder.claim(10)
    assert tree(folder) == [f".claimed/{Path(claimed.place).name}"]
    drop(folder, "load.json", document(run="2"))
    assert take_in(engine, LocalFolder(Path(folder.location)), WITHIN).files == 2
    assert len(archived(folder)) == 2


def test_a_file_that_was_written_to_after_it_was_read_is_read_again(
    engine: Engine, folder: LocalFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(folder, "feed.json", document())
    reading = folder.read

    def read(file: Any) -> Any:
        found = reading(file)
        with Path(file.place).open("a") as more:
            more.write("\n" + document(run="2"))
        monkeypatch.setattr(folder, "read", reading)
        return found

    monkeypatch.setattr(folder, "read", read)
    assert take_in(engine, folder, WITHIN).files == 0
    assert take_in(engine, folder, WITHIN).files == 1
    assert len(contents(engine)["runs"]) == 2


def test_any_fsspec_uri_will_do(engine: Engine) -> None:
    files = fsspec.filesystem("memory")
    files.pipe({"/drop/load.json": document().encode(), "/drop/bad.json": b"{", "/drop/.hidden": b""})
    folder = folder_at("memory://drop")
    taken = take_in(engine, folder, WITHIN, patience=-1.0)
    assert (taken.files, len(taken.problems)) == (1, 1)
    assert [bad.name for bad in folder.quarantined()] == ["bad.json"]
    assert "it is not valid JSON" in folder.quarantined()[0].reason
    assert any(name.startswith("/drop/archive/") for name in files.find("/drop"))
    folder.retry("bad.json")
    assert files.exists("/drop/bad.json")
    files.rm("/drop", recursive=True)


def test_a_bucket_is_read_archived_and_quarantined_in(
    engine: Engine, bucket: str, s3: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_COMPLETIONS", f"s3://{bucket}/drop")
    settings.cache_clear()
    for name, content in {
        "load.json": document().encode(),
        "bad.json": b"{",
        ".hidden": b"",
        "": b"",
    }.items():
        s3.client.put_object(Bucket=bucket, Key=f"drop/{name}", Body=content)
    folder = folder_at(settings().completions_location)
    taken = take_in(engine, folder, WITHIN, patience=-1.0)
    assert (taken.files, len(taken.problems)) == (1, 1)
    [bad] = folder.quarantined()
    assert (bad.name, "it is not valid JSON" in bad.reason) == ("bad.json", True)
    [archived] = [key for key in s3.keys(bucket) if "/archive/" in key]
    assert archived.endswith("/load.json")
    s3.client.put_object(Bucket=bucket, Key="drop/quarantine/bad.json", Body=document(run="2").encode())
    folder.retry("bad.json")
    assert take_in(engine, folder, WITHIN, patience=-1.0).files == 1
    assert len(contents(engine)["runs"]) == 2
    assert [key for key in s3.keys(bucket) if "/archive/" not in key] == ["drop/", "drop/.hidden"]
    assert folder.quarantined() == []


def test_an_object_that_changes_while_it_is_read_is_read_again(
    engine: Engine, bucket: str, s3: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3.client.put_object(Bucket=bucket, Key="drop/load.json", Body=document().encode())
    folder = folder_at(f"s3://{bucket}/drop")
    read, changed = folder.read, iter([True])

    def read_and_change(file: Any) -> bytes:
        found = read(file)
        if next(changed, False):
            s3.client.put_object(Bucket=bucket, Key="drop/load.json", Body=document(run="2").encode())
        return found

    monkeypatch.setattr(folder, "read", read_and_change)
    assert take_in(engine, folder, WITHIN).files == 0
    assert take_in(engine, folder, WITHIN).files == 1
    assert len(contents(engine)["runs"]) == 2


def test_a_bucket_that_cannot_be_read_is_named(engine: Engine, bucket: str, s3: Server) -> None:
    folder = folder_at(f"s3://{bucket}/drop")
    with (
        s3.failing(refusing("403 Forbidden", "InvalidAccessKeyId")),
        pytest.raises(StoreUnavailable) as refused,
    ):
        take_in(engine, folder, WITHIN)
    assert f"The credentials for s3://{bucket}/drop are missing, wrong or expired" in str(refused.value)
    with pytest.raises(StoreUnavailable, match="There is no bucket for s3://no-such-bucket/drop"):
        take_in(engine, folder_at("s3://no-such-bucket/drop"), WITHIN)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ({}, "the report names no location"),
        ({"location": "s3://b/c"}, "s3://b/c is not on this machine"),
        ({"location": "/nowhere/at/all", "format": "csv"}, "no file at /nowhere/at/all"),
        ({"location": "/nowhere/at/all", "format": "vsam"}, "files of format 'vsam' are not read, but those of csv, "),
        ({"location": "{broken}", "format": "parquet"}, "broken.parquet: not a valid parquet file"),
    ],
)  # fmt: skip
def test_failed_measurements_are_in_the_log_and_in_dagster(
    engine: Engine, folder: LocalFolder, instance: Any, tmp_path: Path, output: Any, why: Any
) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"no parquet")
    output = {name: value.replace("{broken}", str(broken)) for name, value in output.items()}
    drop(folder, "load.json", document(outputs=[{"dataset": "ops/raw", "measure": "yes", **output}]))
    with dg.build_sensor_context(instance=instance) as context:
        warnings: list[Any] = []
        context.log.warning = warnings.append  # type: ignore[assignment, method-assign]
        completions_sensor()(context)
    (warning,) = warnings
    assert warning.startswith(f"{folder.location}/load.json:1: ops/raw was not measured: ")
    assert why in warning
    raw = instance.get_latest_materialization_event(dg.AssetKey(["ops", "raw"])).asset_materialization
    assert why in raw.metadata["not measured"].value
    assert "dagster/row_count" not in raw.metadata


def test_the_same_key_of_two_jobs_and_of_two_datasets_is_of_each(engine: Engine, folder: LocalFolder) -> None:
    drop(folder, "1.json", document("LOAD", key="night"))
    drop(folder, "2.json", document("CHECK", key="night"))
    drop(folder, "3.json", '{"dataset": "ops/a", "status": "SU", "version": "1", "key": "night"}')
    drop(folder, "4.json", '{"dataset": "ops/b", "status": "SU", "version": "1", "key": "night"}')
    taken = take_in(engine, folder, WITHIN)
    assert (taken.ingested.new, taken.ingested.repeated, taken.ingested.versions) == (4, 0, 2)
    drop(folder, "5.json", document("LOAD", key="night", exit_code=0))
    assert take_in(engine, folder, WITHIN).ingested.repeated == 1


def test_a_broken_element_leaves_the_others_and_puts_the_file_into_quarantine(
    engine: Engine, folder: LocalFolder
) -> None:
    text = f'[{document()}, {{"process": "B", "status": SU}}, {document(run="2")}]'
    drop(folder, "feed.json", text)
    assert take_in(engine, folder, WITHIN).ingested.new == 2
    (bad,) = folder.quarantined()
    assert "element 2: it is not valid JSON" in bad.reason
    assert Path(bad.place).read_text() == text


def test_a_report_from_the_future_blocks_no_later_one(engine: Engine, folder: LocalFolder) -> None:
    drop(folder, "1.json", document(minutes=10**6, outputs=[{"dataset": "ops/raw", "version": "future"}]))
    drop(folder, "2.json", document(run="2", outputs=[{"dataset": "ops/raw", "version": "right"}]))
    taken = take_in(engine, folder, WITHIN)
    assert (taken.files, len(taken.problems)) == (1, 1)
    assert "LOAD.at: 2028-10-21 08:35:00Z is in the future; it is 20" in folder.quarantined()[0].reason
    assert queries.published(engine, ["ops/raw"])[0].version.tag == "right"


def test_dagster_gets_the_job_and_its_outputs_once(engine: Engine, instance: Any) -> None:
    event = job_event(
        "LOAD", RunState.SUCCESS, 5, exit_code=0, machine="unxhost01", log_location="/logs/1", started_at=at(1),
        outputs=(output(partition="2026-11-26", tag="v1", row_count=842),),
    )  # fmt: skip
    ingest(engine, [event])
    assert report_completions(engine, instance, WITHIN) == 2
    assert report_completions(engine, instance, WITHIN) == 0
    ingest(engine, [event])
    assert report_completions(engine, instance, WITHIN) == 0
    job = instance.get_latest_materialization_event(LOAD).asset_materialization
    facts = {name: value.value for name, value in job.metadata.items()}
    assert facts["run number"] == "1"
    assert facts["seconds"] == 240.0
    assert (facts["exit code"], facts["machine"], facts["log"]) == (0, "unxhost01", "/logs/1")
    raw = instance.get_latest_materialization_event(dg.AssetKey(["ops", "raw"])).asset_materialization
    assert (raw.partition, raw.tags["dagster/data_version"]) == ("2026-11-26", "v1")
    assert raw.metadata["dagster/partition_row_count"].value == 842
    assert "bytes" not in raw.metadata


def materializations_of(instance: Any, key: Any) -> Any:
    """Return the materializations of an asset, in the order in which they were reported to Dagster."""
    records = dg.AssetRecordsFilter(asset_key=key)
    found = instance.fetch_materializations(records, limit=100, ascending=True).records
    return [record.asset_materialization for record in found]


def test_runs_are_materialized_once_in_order_and_late_ones_are_marked(engine: Engine, instance: Any) -> None:
    reports = [
        job_event(
            "LOAD",
            RunState.SUCCESS,
            run,
            str(run),
            partition=f"2026-11-2{run}",
            outputs=(output(tag=str(run)),),
        )
        for run in range(1, 6)
    ]
    ingest(engine, [reports[4], *reports[1:4]])
    assert report_completions(engine, instance, WITHIN) == 8
    ingest(engine, [reports[0]])
    assert report_completions(engine, instance, WITHIN) == 2
    ingest(engine, reports)
    assert report_completions(engine, instance, WITHIN) == 0
    for key in (LOAD, dg.AssetKey(["ops", "raw"])):
        facts = [each.metadata for each in materializations_of(instance, key)]
        assert [each["run number"].value for each in facts] == ["2", "3", "4", "5", "1"]
        assert [each["late"].value if "late" in each else False for each in facts] == [False] * 4 + [True]
        assert facts[-1]["business date"].value == "2026-11-21"


def test_materializations_in_dagster_are_not_repeated(engine: Engine, instance: Any) -> None:
    reports = [job_event("LOAD", RunState.SUCCESS, run, str(run), outputs=(output(),)) for run in (1, 2)]
    ingest(engine, reports)
    assert report_completions(engine, instance, WITHIN) == 4
    wipe(engine)
    ingest(engine, reports)
    assert report_completions(engine, instance, WITHIN) == 0


def test_a_run_reported_by_several_sources_is_materialized_once(engine: Engine, instance: Any) -> None:
    ingest(engine, [job_event("LOAD", RunState.SUCCESS, 5, exit_code=0)])
    assert report_completions(engine, instance, WITHIN) == 1
    ingest(engine, [job_event("LOAD", RunState.SUCCESS, 6, machine="unxhost01", partition="2026-11-26")])
    ingest(engine, [job_event("LOAD", RunState.SUCCESS, 4, log_location="/logs/1")])
    assert report_completions(engine, instance, WITHIN) == 0
    ingest(engine, [job_event("LOAD", RunState.SUCCESS, 7, "2")])
    assert report_completions(engine, instance, WITHIN) == 1


def test_dagster_gets_no_passwords(engine: Engine, instance: Any) -> None:
    """Anybody who can open its pages reads them."""
    place = output(location="https://etl:hunter2@files/raw?token=hunter2", row_count=3)
    ingest(
        engine,
        [job_event("LOAD", RunState.SUCCESS, 5, log_location="ftp://etl:hunter2@host/1", outputs=(place,))],
    )
    for each in pending_materializations(engine, 10):
        metadata = str(materialization(each).metadata)
        assert "hunter2" not in metadata
        assert "://etl:***@" in metadata


@pytest.mark.parametrize("died_after_reporting", [True, False])
def test_a_reporter_that_died_is_made_up_for_once(
    engine: Engine, instance: Any, died_after_reporting: Any
) -> None:
    ingest(engine, [job_event("LOAD", RunState.SUCCESS, 5)])
    (begun,) = pending_materializations(engine, 10)
    if died_after_reporting:
        instance.report_runless_asset_event(materialization(begun))
    report_completions(engine, instance, WITHIN)
    assert len(instance.fetch_materializations(LOAD, limit=10).records) == 1


def test_a_scanned_job_in_a_collapsed_box_has_no_asset(engine: Engine, instance: Any) -> None:
    ingest(engine, [job_event("LOAD", RunState.SUCCESS, 5), job_event("NEW", RunState.SUCCESS, 5)])
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE catalog.process SET lifecycle = 'ACTIVE' WHERE external_name = 'LOAD'"
        )
    assert report_completions(engine, instance, WITHIN, shown=[dg.AssetKey(["autosys", "BOX"])]) == 1
    assert instance.get_latest_materialization_event(dg.AssetKey(["autosys", "NEW"])) is not None
    assert instance.get_latest_materialization_event(LOAD) is None


def test_the_sensor_ingests_files_and_reports_to_dagster(
    engine: Engine, folder: LocalFolder, instance: Any
) -> None:
    drop(folder, "load.json", document(outputs=[{"dataset": "ops/raw", "row_count": 3}]))
    drop(folder, "bad.json", "{}")
    sensor = completions_sensor()
    with dg.build_sensor_context(instance=instance) as context:
        result = sensor(context)
    assert result.skip_reason.skip_message == "1 file, 1 new event. 2 materializations reported."
    assert result.cursor == "2"
    assert [bad.name for bad in folder.quarantined()] == ["bad.json"]
    assert instance.get_latest_materialization_event(LOAD) is not None
    (row,) = queries.published(engine, ["ops/raw"])
    assert row.version.row_count == 3


def test_any_name_can_be_reported_to_dagster(engine: Engine, instance: Any) -> None:
    odd = job_event(
        "JOB#1.é@x", RunState.SUCCESS, 5, "r" * 500, partition="a|b,c...d", instance="P:1",
        outputs=(output("a b/ü", partition="x/y,z...", tag="t" * 500, location="s3://b/c"),),
    )  # fmt: skip
    ingest(engine, [odd, job_event("LOAD", RunState.SUCCESS, 6)])
    assert report_completions(engine, instance, WITHIN) == 3


def test_at_an_interval_of_a_second_a_tick_looks_again_and_again(
    engine: Engine, folder: LocalFolder, instance: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_COMPLETIONS_INTERVAL", "1")
    settings.cache_clear()
    monkeypatch.setattr("headrace.orchestration.sensors.completions.DAEMON_INTERVAL_SECONDS", 4.0)
    looks = []

    def sleep(seconds: Any) -> None:
        looks.append(seconds)
        time.sleep(seconds)
        drop(folder, f"{len(looks)}.json", document(run=str(len(looks))))

    monkeypatch.setattr("headrace.orchestration.sensors.completions.sleep", sleep)
    with dg.build_sensor_context(instance=instance) as context:
        result = completions_sensor()(context)
    # The number of polls depends on how long a poll takes here.
    assert looks
    assert set(looks) == {1}
    n, many = len(looks), "s" if len(looks) > 1 else ""
    job_event = f"{n} file{many}, {n} new event{many}. {n} materialization{many} reported."
    assert result.skip_reason.skip_message == job_event
