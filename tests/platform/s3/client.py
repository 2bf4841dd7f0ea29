"""Spark's S3 client, which `make s3` fetches for the locked PySpark; another one needs the jars of another Hadoop."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from tests.paths import REPOSITORY

JARS = REPOSITORY / ".venv" / "s3"
MISSING = "no S3 client for this Spark: `make s3` fetches that for the locked one"


def is_available() -> bool:
    """Return True if the jars are there, and made for the Hadoop of the PySpark that is first on the path."""
    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        return False
    of_spark = Path(pyspark.origin).parent / "jars"
    versions = [jar.stem.rpartition("-")[2] for jar in JARS.glob("hadoop-aws-*.jar")]
    return any((of_spark / f"hadoop-client-api-{version}.jar").exists() for version in versions)
