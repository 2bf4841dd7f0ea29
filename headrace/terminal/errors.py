"""Error messages for the terminal: what is wrong, where, why, and what to do."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from headrace.project import NoProject, project_root


class CommandError(Exception):
    """Error of a command; the message states the problem and its solution."""


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM ended a command; the message says what that leaves. Not caught by `except Exception`."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def complain(message: str) -> None:
    """Write a message about a failure to stderr."""
    typer.secho("error: ", fg=typer.colors.RED, bold=True, err=True, nl=False)
    typer.echo(message, err=True)


def warn(message: str) -> None:
    """Write a warning to stderr."""
    typer.secho("warning: ", fg=typer.colors.YELLOW, bold=True, err=True, nl=False)
    typer.echo(message, err=True)


def explanation(error: Exception) -> str:
    """Explain `error` for the terminal."""
    if _is_for_people(error):
        return str(error)
    if (wrong_settings := _wrong_settings(error)) is not None:
        return wrong_settings
    command = " ".join(sys.argv[1:])
    return (
        f"unexpected {type(error).__name__}: {error}\n  `headrace --debug {command}` shows where it happened"
    )


def _is_for_people(error: Exception) -> bool:
    """Return True if the platform or the project raised the error with its own message; any other error is a defect."""
    module = type(error).__module__
    if module.partition(".")[0] == "headrace":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or Path(file).is_relative_to(sys.prefix):  # the environment is often inside the project
        return False
    try:
        return Path(file).is_relative_to(project_root())
    except NoProject:
        return False


def _wrong_settings(error: Exception) -> str | None:
    """Return the invalid fields, if `error` comes from reading the settings."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError) or error.title != "Settings":
        return None
    fields = [
        (
            ".".join(str(part) for part in item["loc"]),
            "unknown setting"
            if item["type"] == "extra_forbidden"
            else item["msg"].removeprefix("Value error, "),
        )
        for item in error.errors()
    ]
    lines = [f"  {name}: {reason} (HEADRACE_{name.upper().replace('.', '__')})" for name, reason in fields]
    return "\n".join(["invalid settings; correct headrace.toml or the environment:", *lines])
