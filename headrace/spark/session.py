"""The Spark session of a process: started on first use, and again after its JVM dies."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import dagster as dg
from pydantic import Field

from headrace.context import current_context
from headrace.spark import jvm
from headrace.spark.errors import DiskFull, SparkUnavailable
from headrace.spark.jars import require_matching_jars, with_driver_jars
from headrace.spark.java import require_java
from headrace.spark.openlineage import is_of_another_run, listener_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULTS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # The hundreds of locations of a range are listed by few tasks, not by one each, but still by several in parallel.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
}
DRIVER_DEFAULTS: Mapping[str, str] = {
    # Version 1 moves a task's files into place only when the whole job commits.
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "1",
    # The run's log shows the progress.
    "spark.ui.showConsoleProgress": "false",
}
LOCAL_DEFAULTS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
ANSWER_SECONDS = 5.0  # how long a master may take to accept a connection

_starting = threading.RLock()
_started: dict[str, tuple[str, str | None]] = {}  # the address of the process's session


class SparkResource(dg.ConfigurableResource[None]):
    """Spark for assets. Empty fields are taken from the settings (HEADRACE_SPARK__MASTER, headrace.toml).

    There is one session per process. It is stopped, and another started, when a resource for another address is used.
    """

    master: str | None = Field(default=None, description="local[*], spark://host:port, yarn or k8s://host")
    remote: str | None = Field(
        default=None, description="a Spark Connect server, sc://host:port, instead of a master"
    )
    conf: dict[str, str] = Field(
        default_factory=dict, description="Spark settings, overriding those of the settings file"
    )

    @property
    def session(self) -> SparkSession:
        """The running session, started if there is none or its JVM is dead.

        Raises SparkUnavailable with the problem and its solution.
        """
        with _starting:
            living = _living_session()
            elsewhere = _started.get("address") not in (None, self._address())
            if living is not None and (elsewhere or is_of_another_run(living, self._conf())):
                living.stop()
                living = None
            return living or self._start()

    @property
    def is_remote(self) -> bool:
        """True with Spark Connect."""
        return self._address()[1] is not None

    def stop(self) -> None:
        """Stop the process's session, if one runs."""
        with _starting:
            session = _living_session()
            if session is not None:
                session.stop()

    def _address(self) -> tuple[str, str | None]:
        """Return the address of Spark: (master, remote)."""
        configured = current_context().settings.spark
        if self.remote or self.master:
            return self.master or "", self.remote
        return configured.master, configured.remote

    def _conf(self) -> dict[str, str]:
        return {**current_context().settings.spark.conf, **self.conf}

    def _start(self) -> SparkSession:
        from pyspark.sql import SparkSession

        master, remote = self._address()
        address = remote or master
        _require_answer(address)
        builder = SparkSession.builder.appName("headrace")
        conf = {**DEFAULTS, **self._conf()}
        conf |= listener_conf(conf)
        if remote:
            builder = builder.remote(remote)
        else:
            require_java()
            require_matching_jars(conf)
            local = LOCAL_DEFAULTS if master.startswith("local") else {}
            if local:
                # For Python functions Spark would start the `python3` of the PATH, which may be a different one.
                os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            warehouse = {
                "spark.sql.warehouse.dir": (current_context().settings.home.resolve() / "spark").as_uri()
            }
            conf = {**DRIVER_DEFAULTS, **local, **warehouse, **conf}
            conf = {**with_driver_jars(conf, current_context().settings.connections)}
            builder = builder.master(master)
        for key, value in conf.items():
            builder = builder.config(key, value)
        try:
            if not remote:
                jvm.start({"spark.app.name": "headrace", "spark.master": master, **conf})
            session = builder.getOrCreate()
            session.range(0).schema  # noqa: B018 - a Connect server is only spoken to when asked something
        except Exception as error:  # Spark, py4j and gRPC each have their own
            raise SparkUnavailable(
                f"Spark does not start on {address}: {_first_line(error)}. Check spark.master, spark.remote and "
                "spark.conf in headrace.toml (or HEADRACE_SPARK__*), and Spark's own log above."
            ) from error
        if not remote:
            from headrace.spark.column_lineage.walker import anticipate

            anticipate()
        _started["address"] = self._address()
        return session


@contextmanager
def configured(session: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Yield the session with `conf` applied; previous values are restored at the end.

    Raises SparkUnavailable for a setting that only takes effect when Spark starts.
    """
    before: dict[str, str | None] = {}
    try:
        for key, value in conf.items():
            if not session.conf.isModifiable(key):
                raise SparkUnavailable(
                    f"{key} cannot be changed once Spark runs. Move it from the dataset's Spark settings to "
                    "spark.conf in headrace.toml."
                )
            before[key] = session.conf.get(key, None)
            session.conf.set(key, value)
        yield
    finally:
        if before and _alive(session):
            for key, earlier in before.items():
                session.conf.unset(key) if earlier is None else session.conf.set(key, earlier)


@contextmanager
def restarted_after_full_disk() -> Iterator[None]:
    """End this process's JVM if the block fails for lack of space; the next use of the session starts another.

    The old one keeps deleted files open, so that their space stays occupied, and every further run would fail as well.
    """
    try:
        yield
    except DiskFull:
        with _starting:
            if (living := _living_session()) is not None:
                living.stop()  # which deletes its temporary files
            jvm.forget()
        raise


def file_session() -> SparkSession:
    """Return a session for files on other filesystems: local, so that a cluster's executors stay free.

    An existing session of the process is reused. Raises SparkUnavailable, always with Spark Connect.
    """
    return _local_session(
        "Spark Connect has no access to files of other filesystems; mount them here (file:///...), or set "
        "spark.master instead of spark.remote."
    )


def database_session() -> SparkSession:
    """Return a session for statements on databases, like `file_session`."""
    return _local_session(
        "Spark Connect has no access to the drivers of databases; set spark.master instead of spark.remote."
    )


def reader_session() -> SparkSession:
    """Return a session for a project's own readers, and for the totals of landed files, like `file_session`."""
    return _local_session(
        "Spark Connect cannot observe files with a `reader` or control totals; set spark.master instead of "
        "spark.remote."
    )


def _local_session(refusal: str) -> SparkSession:
    if current_context().settings.spark.remote:
        raise SparkUnavailable(refusal)
    return SparkResource(master="local[1]", conf=dict(LOCAL_DEFAULTS)).session


def _living_session() -> SparkSession | None:
    """Return the process's session if it still responds; a dead one is dropped so that a new one can start."""
    from pyspark.sql import SparkSession

    if not jvm.answers():
        jvm.forget()
        return None
    session = SparkSession.getActiveSession()
    return session if session is not None and _alive(session) else None


def _alive(session: SparkSession) -> bool:
    """Return True if the session responds."""
    try:
        if hasattr(session, "_jsparkSession"):
            return not session._jsparkSession.sparkContext().isStopped()
        return not session.is_stopped  # type: ignore[attr-defined]  # Spark Connect's session
    except Exception:  # any failure to respond, of py4j, its socket or gRPC, means the same
        return False


def _require_answer(address: str) -> None:
    """Fail within seconds if nothing listens at spark:// or sc://, where Spark itself would try for minutes."""
    scheme, _, rest = address.partition("://")
    if scheme not in ("spark", "sc"):
        return
    refusals = []
    for place in rest.split(","):
        host = urlsplit(f"//{place.split(';')[0]}")
        port = host.port or (15002 if scheme == "sc" else 7077)
        try:
            with socket.create_connection((host.hostname or "localhost", port), timeout=ANSWER_SECONDS):
                return
        except OSError as error:
            refusals.append(f"{host.hostname}:{port}: {error}")
    raise SparkUnavailable(
        f"No response from {address} ({'; '.join(refusals)}). Start it, or correct spark.master / spark.remote in "
        "headrace.toml (or HEADRACE_SPARK__MASTER / HEADRACE_SPARK__REMOTE)."
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
