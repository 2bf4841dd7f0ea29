"""Spark's JVM: started with its log on this process's stderr, checked for life, dropped when dead."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
STDERR = 2
# Java prints this before any setting is read; Spark always requests the module.
CHATTER = b"WARNING: Using incubator modules:"


def start(conf: Mapping[str, str]) -> None:
    """Start the JVM that PySpark will use, with these Spark settings, unless one is running.

    Its stderr is forwarded to this process's, line by line, wherever that leads at the time, so that each of several
    Dagster runs in one process captures Spark's output. Passes on PySpark's exceptions.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return
    with _environment(_variables(conf)):
        settings = SparkConf().setAll(list(conf.items()))
        gateway = launch_gateway(settings, {"stderr": subprocess.PIPE})  # type: ignore[no-untyped-call]
    threading.Thread(target=_pass_on, args=(gateway.proc.stderr,), name="spark-log", daemon=True).start()
    SparkContext._ensure_initialized(gateway=gateway)


def answers() -> bool:
    """Return True if PySpark's JVM responds (also if none has been started)."""
    from pyspark import SparkContext

    if SparkContext._gateway is None:
        return True
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None and process.poll() is not None:
        return False
    try:
        SparkContext._gateway.jvm.System.nanoTime()
    except Exception:  # py4j's network errors and the operating system's all mean the same
        return False
    return True


@contextmanager
def without_log() -> Iterator[None]:
    """Keep Spark's log quiet, for work whose failure is a result.

    Spark logs the stack of each failed task, with the values that an exception quotes.
    """
    from pyspark import SparkContext

    jvm = SparkContext._jvm
    if jvm is None:  # of Spark Connect, whose server logs
        yield
        return
    log4j = jvm.org.apache.logging.log4j
    level = log4j.LogManager.getRootLogger().getLevel()
    log4j.core.config.Configurator.setRootLevel(log4j.Level.OFF)
    try:
        yield
    finally:
        with suppress(Exception):  # the JVM has died, which the work reports
            log4j.core.config.Configurator.setRootLevel(level)


def forget() -> None:
    """Drop PySpark's references to a dead JVM, and end its process if it still exists."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway = SparkContext._gateway
    if gateway is not None:
        process = getattr(gateway, "proc", None)
        if process is not None:
            process.kill()
            process.wait()
        gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None


def _variables(conf: Mapping[str, str]) -> dict[str, str]:
    """Return additional variables of the JVM's environment: variables, so that spark-defaults.conf keeps its Java
    options."""
    variables = {}
    if not _own_log_settings():
        options = f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}"
        variables["SPARK_SUBMIT_OPTS"] = f"{options} {os.environ.get('SPARK_SUBMIT_OPTS', '')}".strip()
    if conf.get("spark.master", "").startswith("local"):
        variables["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    return variables


def _own_log_settings() -> bool:
    """Return True if the deployment's Spark has its own log configuration."""
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else "")
    return bool(folder) and Path(folder, LOG_SETTINGS.name).exists()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set these variables in the process's environment, which PySpark passes to the JVM."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _pass_on(log: IO[bytes]) -> None:
    for line in log:
        if not line.startswith(CHATTER):
            # With a closed stderr the output is discarded; unread, the JVM's pipe would fill up and block it.
            with suppress(OSError):
                os.write(STDERR, line)
