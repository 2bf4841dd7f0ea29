"""Archive the classes of a Spark session, so that the JVMs of the tests load them in half the time.

    python -m tests.jvm_archive

`make test` runs it once for each installation. A JVM that cannot use the archive (another Java, other jars) ignores it.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ARCHIVE = Path(sys.prefix) / "spark.jsa"
# Sessions of tests are short: compiling them well takes half of their CPU time.
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable"


def jvm_options() -> str:
    """Return the options of the tests' JVMs."""
    return f"{_SHORT_LIVED} -XX:SharedArchiveFile={ARCHIVE}" if ARCHIVE.exists() else _SHORT_LIVED


def main() -> None:
    """Write the archive when the JVM of a small session ends."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    unfinished = ARCHIVE.with_suffix(".part")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{_SHORT_LIVED} -XX:ArchiveClassesAtExit={unfinished}"
    with TemporaryDirectory() as folder:
        session = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        session.range(10).selectExpr("id", "id % 2 AS odd").write.parquet(f"{folder}/numbers")
        session.read.parquet(f"{folder}/numbers").groupBy("odd").count().collect()
        jvm = SparkContext._gateway.proc
        session.stop()
        jvm.stdin.close()  # ends the JVM
        jvm.wait()
    unfinished.rename(ARCHIVE)


if __name__ == "__main__":
    main()
