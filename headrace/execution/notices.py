"""Notify external systems of a published version: a flag file, an Autosys event, a request, a procedure."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import quote
from uuid import uuid4

from headrace.catalog.records import Version
from headrace.outgoing import NoAnswer, fetch
from headrace.spark.errors import ResourceError
from headrace.variables import UnsetVariable, with_variables

PAUSES = (1.0, 3.0)  # seconds before the second and third try
SENDEVENT_TIMEOUT_SECONDS = 30.0
NOTIFICATIONS_TIMEOUT_SECONDS = (
    120.0  # for one output: a run of a year of days must not hang on a dead scheduler
)

POST_TIMEOUT_SECONDS = 30.0

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._=+@-]")


@dataclass(frozen=True, slots=True)
class FlagFile:
    """A file to write, its path with placeholders in braces."""

    path: str


@dataclass(frozen=True, slots=True)
class AutosysEvent:
    """A call of `sendevent`: its arguments, with placeholders in braces."""

    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A POST of the version as JSON. The URL has placeholders in braces; headers have ${NAME} for variables."""

    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ProcedureCall:
    """A statement on a database, whose placeholders in braces are bound as texts."""

    connection: str
    statement: str


Notice = FlagFile | AutosysEvent | HttpRequest | ProcedureCall


class NoticeFailed(Exception):
    """A notification could not be delivered; the message explains why."""


@dataclass(frozen=True, slots=True)
class NotificationResult:
    """The notifications of one version: descriptions of the delivered and the failed ones, the latter with reasons."""

    version: Version
    delivered: tuple[str, ...]
    failed: tuple[str, ...]


def notify(
    notices: Sequence[Notice],
    versions: Sequence[Version],
    *,
    pauses: Sequence[float] = PAUSES,
    within: float = NOTIFICATIONS_TIMEOUT_SECONDS,
) -> list[NotificationResult]:
    """Deliver every notification for every version; those that do not begin `within` this many seconds fail.

    Each may be delivered more than once; consumers must tolerate that.
    """
    deadline = monotonic() + within
    return [_notified(notices, version, pauses, deadline) for version in versions]


def missing(notices: Sequence[Notice], version: Version, delivered: Collection[str]) -> list[Notice]:
    """Return the notifications of the version that are not among the `delivered` descriptions."""
    return [notice for notice in notices if described(notice, version) not in delivered]


def give(notice: Notice, version: Version) -> None:
    """Deliver one notification, once. Raises NoticeFailed."""
    match notice:
        case FlagFile():
            _write_flag(Path(_filled(notice.path, _names(version))), version)
        case AutosysEvent():
            _send_event(["sendevent", *_arguments(notice, version)])
        case HttpRequest():
            _post(notice, version)
        case ProcedureCall():
            _call(notice, version)


def described(notice: Notice, version: Version) -> str:
    """Describe the notification: `/data/flags/x.done`, `sendevent -E SET_GLOBAL -G X=2013-01-01`."""
    match notice:
        case FlagFile():
            return _filled(notice.path, _names(version))
        case AutosysEvent():
            return " ".join(["sendevent", *_arguments(notice, version)])
        case HttpRequest():
            return f"POST {_url(notice, version)}"
        case ProcedureCall():
            values = {name: f"'{value}'" for name, value in _values(version).items()}
            return f"{notice.connection}: {_filled(notice.statement, values)}"


def _notified(
    notices: Sequence[Notice], version: Version, pauses: Sequence[float], deadline: float
) -> NotificationResult:
    delivered: list[str] = []
    failed: list[str] = []
    for notice in notices:
        description = described(notice, version)
        try:
            _tried(notice, version, pauses, deadline)
        except NoticeFailed as reason:
            failed.append(f"{description}: {reason}")
        else:
            delivered.append(description)
    return NotificationResult(version, tuple(delivered), tuple(failed))


def _tried(notice: Notice, version: Version, pauses: Sequence[float], deadline: float) -> None:
    if monotonic() > deadline:
        raise NoticeFailed("the time limit was reached")
    for pause in pauses:
        with suppress(NoticeFailed):
            give(notice, version)
            return
        sleep(pause)
    give(notice, version)


def _write_flag(path: Path, version: Version) -> None:
    """Write the flag file atomically, since a waiting job may read it immediately."""
    fresh = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    try:
        with fresh.open("w", encoding="utf-8") as file:
            file.write(json.dumps(_content(version)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise NoticeFailed(f"it cannot be written: {error.strerror}") from error


def _send_event(command: Sequence[str]) -> None:
    """Call sendevent without a shell, so that names and keys are not interpreted."""
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=SENDEVENT_TIMEOUT_SECONDS, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError as error:
        raise NoticeFailed("`sendevent` is not on the PATH of this run") from error
    except OSError as error:
        raise NoticeFailed(f"it cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise NoticeFailed(f"it did not end within {SENDEVENT_TIMEOUT_SECONDS:.0f} s") from error
    if done.returncode:
        output = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise NoticeFailed(f"it ended with {done.returncode}{f': {output[-1]}' if output else ''}")


def _post(notice: HttpRequest, version: Version) -> None:
    """Post the version. The receiver knows a repetition by the Idempotency-Key, which is the version's id."""
    headers = {name: _header(value) for name, value in notice.headers.items()}
    key = {"Idempotency-Key": str(version.version_id)}
    try:
        answer = fetch(
            "POST",
            _url(notice, version),
            content=_content(version),
            headers={**headers, **key},
            seconds=POST_TIMEOUT_SECONDS,
        )
    except NoAnswer as error:
        raise NoticeFailed(f"it {error}") from error
    if not answer.is_success:
        raise NoticeFailed(f"it answers with HTTP {answer.status}")


def _header(text: str) -> str:
    try:
        return with_variables(text)
    except UnsetVariable as error:
        raise NoticeFailed(f"the environment variable {error}, which a header names, is not set") from error


def _call(notice: ProcedureCall, version: Version) -> None:
    from headrace.connections.connection import connection
    from headrace.connections.opening import opened
    from headrace.spark.session import file_session

    values = _values(version)
    bound = [values[match[1]] for match in _PLACEHOLDER.finditer(notice.statement)]
    try:
        with opened(connection(notice.connection), file_session) as database:
            database.call(_PLACEHOLDER.sub("?", notice.statement), bound)
    except ResourceError as error:
        raise NoticeFailed(str(error)) from error


def _url(notice: HttpRequest, version: Version) -> str:
    return _filled(notice.url, {name: quote(value, safe="") for name, value in _values(version).items()})


def _content(version: Version) -> dict[str, object]:
    return {
        "dataset": version.dataset,
        "partition": version.partition,
        "version": version.tag,
        "location": version.directory,
        "locations": list(version.locations),
        "row_count": version.row_count,
        "told_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _arguments(notice: AutosysEvent, version: Version) -> list[str]:
    values = {name: _printable(value) for name, value in _values(version).items()}
    return [_filled(argument, values) for argument in notice.arguments]


def _values(version: Version) -> dict[str, str]:
    domain, _, name = version.dataset.rpartition("/")
    return {
        "domain": domain,
        "name": name,
        "dataset": version.dataset,
        "partition": version.partition or "",
        "version": version.tag,
    }


def _names(version: Version) -> dict[str, str]:
    """Escape the values as parts of a file name: none can point to another folder, or hide the file."""
    values = _values(version) | {"dataset": version.dataset.replace("/", ".")}
    return {name: re.sub(r"^\.+", "_", _NOT_IN_NAMES.sub("_", value)) for name, value in values.items()}


def _printable(value: str) -> str:
    return "".join(character if character.isprintable() else "_" for character in value)


def _filled(template: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values[found[1]], template)
