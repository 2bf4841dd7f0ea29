"""Spark starts on demand, where configured, again after its JVM was killed, and reports missing requirements."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.spark import java
from headrace.spark.errors import SparkUnavailable
from headrace.spark.progress import progress
from headrace.spark.session import SparkResource
from tests.paths import WAIT_SECONDS

ROOT = Path(__file__).parents[3]


def _run(script: str, tmp_path: Path) -> str:
    """Return the output of a separate Python process; a session belongs to the whole process, so these tests cannot
    share one."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=os.environ | {"HEADRACE_HOME": str(tmp_path), "HEADRACE_SPARK__MASTER": "local[1]"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_starts_before_the_session_is_used(tmp_path: Path) -> None:
    script = """
        import sys
        from headrace.spark.session import SparkResource
        SparkResource()
        print("pyspark" in sys.modules, "pandera" in sys.modules)
    """
    assert _run(script, tmp_path).split() == ["False", "False"]


def test_the_plan_reader_is_compiled_in_parallel_with_the_run(tmp_path: Path) -> None:
    """So that the first lineage of a process compiles nothing."""
    script = """
        import threading
        from headrace.spark.session import SparkResource
        session = SparkResource().session
        for thread in threading.enumerate():
            if thread.name == "column-lineage":
                thread.join()
        from headrace.spark.column_lineage import lineage_of
        from headrace.spark.column_lineage import walker
        del walker._SOURCE
        frame = session.range(3)
        print(lineage_of(frame, [("a/b", frame)]).coverage())
    """
    assert _run(script, tmp_path).splitlines()[-1] == "(1, 1)"


def test_a_full_disk_ends_the_jvm_which_holds_deleted_files(tmp_path: Path) -> None:
    place = tmp_path / "tiny"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=False).returncode:
        pytest.skip("mounting a small filesystem needs root")
    script = f"""
        import shutil
        from pyspark import SparkContext
        from headrace.spark.errors import DiskFull
        from headrace.spark.session import SparkResource, restarted_after_full_disk
        from headrace.stores.files.store import FilesStore

        spark = SparkResource()
        def write(rows):
            store = FilesStore(spark.session, "file://{place}")
            return store.write(spark.session.range(rows).selectExpr("uuid() u"), dataset="a/b", tag=str(rows))
        try:
            with restarted_after_full_disk():
                write(100_000)
        except DiskFull as error:
            print(error)
        assert SparkContext._gateway is None
        shutil.rmtree("{place}/a")
        print(write(1000)[0].row_count)
    """
    try:
        full, again = _run(script, tmp_path).splitlines()
    finally:
        subprocess.run(["umount", "-l", place], check=True)
    assert full.startswith("Disk full while writing file://")
    assert again == "1000"


def test_a_killed_jvm_is_reported_and_replaced(tmp_path: Path) -> None:
    """Also: settings decide where it runs, one session a process, a dataset's settings are put back."""
    script = f"""
        import os, signal, threading
        from pyspark import SparkContext
        from headrace.spark.errors import ResourceError
        from headrace.spark.errors import SparkUnavailable
        from headrace.spark.session import SparkResource
        from headrace.spark.session import configured
        from headrace.stores.files.store import FilesStore

        spark = SparkResource(conf={{"spark.sql.shuffle.partitions": "3"}})
        session = spark.session
        assert spark.session is session and SparkResource().session is session
        context = session.sparkContext
        print(context.master, session.conf.get("spark.sql.session.timeZone"), context.uiWebUrl)
        with configured(session, {{"spark.sql.shuffle.partitions": "7", "spark.sql.ansi.enabled": "false"}}):
            print(session.conf.get("spark.sql.shuffle.partitions"))
        print(session.conf.get("spark.sql.shuffle.partitions"), session.conf.get("spark.sql.ansi.enabled"))
        try:
            with configured(session, {{"spark.executor.memory": "3g"}}):
                pass
        except SparkUnavailable as error:
            print(error)
        endless = session.range(10**12).selectExpr("sum(hash(id))")
        store = FilesStore(session, "file://{tmp_path}/w")
        threading.Timer(1, os.kill, (SparkContext._gateway.proc.pid, signal.SIGKILL)).start()
        try:
            store.write(endless, dataset="a/b", tag="t")
        except ResourceError as error:
            print(type(error).__name__, error)
        session = spark.session
        [written] = FilesStore(session, "file://{tmp_path}/w").write(session.range(5), dataset="a/b", tag="u")
        print(written.row_count)
    """
    place, seven, back, static, died, again = _run(script, tmp_path).splitlines()
    assert place == "local[1] UTC None"
    assert seven == "7"
    assert back == "3 true"
    assert static.startswith("spark.executor.memory cannot be changed once Spark runs. Move it")
    assert died.startswith("SparkUnavailable Spark's JVM died while working on file://")
    assert again == "5"


def test_spark_says_only_what_matters_and_wherever_stderr_leads_at_the_time(tmp_path: Path) -> None:
    script = f"""
        import os, sys, time
        from pathlib import Path
        from headrace.spark.session import SparkResource

        terminal, captured = Path("{tmp_path}/terminal"), Path("{tmp_path}/captured")
        os.dup2(os.open(terminal, os.O_CREAT | os.O_WRONLY), 2)
        session = SparkResource().session
        session.range(5).count()
        os.dup2(os.open(captured, os.O_CREAT | os.O_WRONLY), 2)
        session._jvm.org.slf4j.LoggerFactory.getLogger("shop").warn("closed")
        while not captured.read_text().endswith("\\n"):
            time.sleep(0.05)
        print(terminal.read_text() + captured.read_text(), end="")
    """
    (line,) = _run(script, tmp_path).splitlines()
    assert line.endswith(" WARN shop: closed")


@pytest.mark.slow
def test_spark_connect_writes_audits_and_reads(tmp_path: Path) -> None:
    script = f"""
        import logging, os, socket, uuid, datetime as dt
        from headrace.catalog.records import Check
        from headrace.catalog.records import Outcome
        from headrace.catalog.records import Version
        from headrace.spark.errors import StoreUnavailable
        from headrace.stores.writes import PartitionWrite
        from headrace.spark.progress import progress
        from headrace.spark.session import SparkResource
        from headrace.stores.files.store import FilesStore

        os.environ["SPARK_TESTING"] = "1"  # an ephemeral port, so that several may run
        spark = SparkResource(remote="local[1]", conf={{"spark.sql.shuffle.partitions": "2"}})
        store = FilesStore(spark.session, "file://{tmp_path}/w")
        frame = spark.session.range(10).selectExpr("id", "cast(id % 2 as string) k")
        checks = [
            Check("small", "less_than", "id", {{"max_value": 9}}),
            Check("known", "isin", "k", {{"allowed_values": ["0", "1"]}}),
            Check("aside", "sql", parameters={{"expression": "id <> 4"}}, quarantine=True),
        ]
        with progress(spark.session, logging.getLogger(), spark.is_remote):
            written = store.write(
                frame, dataset="a/b", tag="t", checks=checks, partition=PartitionWrite("k", ("0", "1"))
            )
        for w in written:
            print(w.partition, w.row_count, w.quarantine_rows, *(r.status.value for r in w.check_results))
        versions = [
            Version(
                uuid.uuid4(), "a/b", w.partition, "t", w.location, "parquet", w.columns, w.row_count, w.byte_size,
                w.file_count, w.checksum, "", None, None, None, Outcome.PUBLISHED, dt.datetime.now(dt.UTC),
            )
            for w in written
        ]
        print(store.read(versions).count(), spark.is_remote)
        try:
            FilesStore(spark.session, "hdfs://x/w")
        except StoreUnavailable as error:
            print(error)
    """
    zero, one, read, elsewhere = _run(script, tmp_path).splitlines()
    assert zero == "0 4 1 PASS PASS WARN PASS"
    assert one == "1 5 0 FAIL PASS PASS PASS"
    assert read == "9 True"
    assert elsewhere.startswith("With Spark Connect, files must be in a folder")


@pytest.mark.parametrize(
    "where", [{"master": "spark://127.0.0.1:1,127.0.0.1:2"}, {"remote": "sc://127.0.0.1:1/;token=x"}]
)
def test_a_master_that_does_not_answer_is_named_at_once(where: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.spark.session._living_session", lambda: None)
    with pytest.raises(SparkUnavailable, match=r"No response from s.*://127.0.0.1:1.*headrace\.toml"):
        _ = SparkResource(**where).session


def _java(folder: Path, answer: str) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    (folder / "bin" / "java").chmod(0o755)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            'openjdk version "11.0.2" 2019-01-15',
            r"Java 11 at .*/bin/java is too old for Spark\. Install Java 17",
        ),
        ('java version "1.8.0_291"', "Java 8 at .* is too old"),
        ("no java here", "does not print its version"),
        (None, r"JAVA_HOME is .*, which has no bin/java\. Install Java 17"),
    ],
)
def test_a_wrong_java_is_reported_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Any, message: Any
) -> None:
    if answer is not None:
        _java(tmp_path, answer)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java.require_java.cache_clear()
    try:
        with pytest.raises(SparkUnavailable, match=message):
            java.require_java()
        _java(tmp_path / "new", 'openjdk version "21" 2023-09-19')
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "new"))
        assert java.require_java() == 21
        monkeypatch.delenv("JAVA_HOME")
        monkeypatch.setenv("PATH", str(tmp_path))
        java.require_java.cache_clear()
        with pytest.raises(SparkUnavailable, match="No Java: JAVA_HOME is not set"):
            java.require_java()
    finally:
        java.require_java.cache_clear()


def test_progress_shows_stages_and_tasks(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    slow = spark.range(0, 4, 1, 2).selectExpr(
        "java_method('java.util.concurrent.TimeUnit', 'valueOf', 'DAYS') d", "id"
    )
    log = logging.getLogger("run")
    with caplog.at_level(logging.INFO), progress(spark, log, remote=False, interval=0.05):
        slow.rdd.map(lambda row: __import__("time").sleep(0.4)).count()
    assert any("Spark: 1 job; stage" in message and "/2 tasks" in message for message in caplog.messages)
