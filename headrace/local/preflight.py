"""Requirements of the machine, checked before installation and start; uses the standard library only.

`make` runs this file with the system's Python before the virtual environment exists.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

PYTHON_VERSIONS = ((3, 11), (3, 13))
JAVA_VERSION = 17


class PreflightError(Exception):
    """A requirement is missing; the message is one line that says what to install and how."""


def preflight() -> None:
    """Raise PreflightError for the first missing or outdated requirement: Python, its venv module, Java."""
    for problem in (_python_problem(), _venv_problem(), _java_problem()):
        if problem is not None:
            raise PreflightError(problem)


def _python_problem() -> str | None:
    """Return None if the locked packages were resolved for this Python."""
    (oldest, newest), here = PYTHON_VERSIONS, sys.version_info[:2]
    if oldest <= here <= newest:
        return None
    return (
        f"Headrace needs Python {oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]}, "
        f"but {sys.executable} is {here[0]}.{here[1]}: "
        "install one (Debian: apt-get install python3 python3-venv; macOS: brew install python@3.13) "
        "and, if it is not found by itself, name it: make PYTHON=python3.13 ..."
    )


def _venv_problem() -> str | None:
    """Check for ensurepip: Debian's Python lacks it, so `python -m venv` fails half-way there."""
    if importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip"):
        return None
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return (
        f"Headrace needs Python's venv module, but {sys.executable} has none: "
        f"install it (Debian: apt-get install python{version}-venv; macOS: brew install python@{version})"
    )


def _java_problem() -> str | None:
    """Check that the java that Spark will run (JAVA_HOME's, otherwise PATH's) is new enough."""
    install = (
        "install one (Debian: apt-get install default-jre-headless; "
        'macOS: brew install openjdk@17 && export JAVA_HOME="$(brew --prefix openjdk@17)")'
    )
    needed = f"Headrace needs Java {JAVA_VERSION} or newer for Spark"
    java_home = os.environ.get("JAVA_HOME")
    java = os.path.join(java_home, "bin", "java") if java_home else shutil.which("java")  # noqa: PTH118
    if java is None:
        return f"{needed}, and none is on the PATH: {install}"
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        ).stderr
    except FileNotFoundError:
        return f"{needed}, and JAVA_HOME ({java_home}) has no bin/java: correct or unset it, or {install}"
    except (OSError, subprocess.SubprocessError) as error:
        return f"{needed}, and {java} does not run ({error}): {install}"
    found = re.search(r'version "(?:1\.)?(\d+)', answer)
    if found is None or int(found[1]) < JAVA_VERSION:
        version = f"Java {found[1]}" if found else repr(answer.strip())
        return f"{needed}, and {java} is {version}: {install}"
    return None


if __name__ == "__main__":
    try:
        preflight()
    except PreflightError as error:
        sys.exit(str(error))
