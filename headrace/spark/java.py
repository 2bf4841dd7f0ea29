"""Check that this machine has a Java that Spark supports."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from headrace.spark.errors import SparkUnavailable

MIN_JAVA_VERSION = 17
REMEDY = (
    f"Install Java {MIN_JAVA_VERSION} or newer (Debian/Ubuntu: apt-get install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17) and point JAVA_HOME to it, or set spark.remote to a Spark Connect server."
)


@cache
def require_java() -> int:
    """Return the major version of the Java that Spark will start.

    Raises SparkUnavailable if there is none, it does not run, or it is older than Spark needs.
    """
    java = _executable()
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SparkUnavailable(f"{java} does not run ({error}). {REMEDY}") from error
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    if found is None:
        raise SparkUnavailable(f"{java} -version does not print its version. {REMEDY}")
    major = int(found[1])
    if major < MIN_JAVA_VERSION:
        raise SparkUnavailable(f"Java {major} at {java} is too old for Spark. {REMEDY}")
    return major


def _executable() -> str:
    """Return the java that spark-submit will choose: JAVA_HOME's if that is set, otherwise the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not java.exists():
            raise SparkUnavailable(f"JAVA_HOME is {home}, which has no bin/java. {REMEDY}")
        return str(java)
    on_path = shutil.which("java")
    if on_path is None:
        raise SparkUnavailable(f"No Java: JAVA_HOME is not set and java is not on PATH. {REMEDY}")
    return on_path
