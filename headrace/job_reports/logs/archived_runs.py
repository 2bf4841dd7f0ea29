"""Runs that `archive_events` wrote to flat files, `archived_job_runs.ACE...`: history, keyed by job number."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from headrace.autosys.clocks import possible
from headrace.autosys.findings import Finding
from headrace.autosys.jil.text import decode
from headrace.autosys.statuses import ENDED, meaning
from headrace.catalog.records import Technology
from headrace.catalog.run_events import RunEvent
from headrace.job_reports.completions.reports import key_of
from headrace.job_reports.logs.autorep import Report
from headrace.severity import Severity

_NAME = re.compile(r"archived_job_runs(?:\.([A-Za-z0-9]+))?(?:\..*)?")
_COLUMNS = (
    *("joid", "run_num", "ntry", "job_ver", "endtime", "esp_lstatus", "esp_status", "evt_num", "exit_code"),
    *("over_num", "run_machine", "runtime", "startime", "status", "std_out_file", "std_err_file"),
)  # more follow; the last of all is is_job_onnoexec
_NO_TIME = {"", "0", "999999999"}
_CONNECTED = re.compile(r"CAUAJM_I_10082 \[\S+ connected for (?:KILLJOB )?(\S+) (\d+)\.\d+\.\d+\]")
_SEPARATOR = re.compile(r"[,;|\t]")


def scheduler_of(name: str) -> str | None:
    """Return the scheduler in the name of a file of archived runs, '' if it has none; None for other files."""
    found = _NAME.fullmatch(name)
    return found and (found[1] or "")


def is_list_of_jobs(text: str) -> bool:
    """Return True for CSV with the names of jobs by number: `SELECT joid, job_name FROM ujo_job`, with a header."""
    header, _, _ = text.partition("\n")
    return {"joid", "job_name"} <= set(_cells(header.lower()))


def listed_jobs(lines: Iterable[str]) -> dict[int, str]:
    """Return the names of jobs by number: from a list of jobs, or from an event demon's log."""
    names: dict[int, str] = {}
    columns: list[str] = []
    for line in lines:
        if found := _CONNECTED.search(line):
            names[int(found[2])] = found[1]
        elif not columns:
            columns = _cells(line.lower()) if is_list_of_jobs(line) else []
        else:
            row = dict(zip(columns, _cells(line), strict=False))
            if row.get("joid", "").isdecimal() and row.get("job_name"):
                names[int(row["joid"])] = row["job_name"]
    return names


def read_archived(data: bytes, file: str, names: Mapping[int, str], *, instance: str) -> Report:
    """Parse the runs in a file of archived runs, as history.

    Args:
        data: the file's bytes.
        file: its path, for messages.
        names: of jobs by number, since the file only has numbers.
        instance: the scheduler's name.
    """
    text, _ = decode(data, file)
    events: list[RunEvent] = []
    errors: list[Finding] = []
    nameless: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("joid,"):
            continue
        try:
            row = next(csv.reader([line]))
            reported = dict(zip(_COLUMNS, map(str.strip, row), strict=False))
            job = names.get(int(reported["joid"]))
            if job is None:
                nameless.setdefault(reported["joid"], number)
                continue
            if row[-1].strip() == "1":
                reported["status"] += "/NE"
            events += _events(job, instance, reported, f"{file}:{number}")
        except (KeyError, ValueError, OverflowError, csv.Error) as error:
            message = f"the row has no {error}" if isinstance(error, KeyError) else str(error)
            errors.append(Finding("archive/row", Severity.ERROR, message, file, number))
    if nameless:
        message = f"the jobs of the numbers {', '.join(list(nameless)[:20])} are not named"
        hint = "give a log of theirs, or CSV of `SELECT joid, job_name FROM ujo_job`, in the same command"
        first = min(nameless.values())
        errors.append(Finding("archive/nameless", Severity.ERROR, message, file, first, hint=hint))
    return Report(tuple(events), tuple(errors))


def _events(job: str, instance: str, reported: Mapping[str, str], origin: str) -> Iterator[RunEvent]:
    attempt = int(reported["ntry"])
    status = reported["status"]
    found = meaning(status, by_hand=attempt == 0)
    start, end = _instant(reported["startime"]), _instant(reported["endtime"])
    at = (end or start) if (found and found.state in ENDED) or "/" in status else start
    if found is None or at is None:
        return
    fields: dict[str, Any] = {
        "technology": Technology.AUTOSYS,
        "process": job,
        "instance": instance,
        "run": reported["run_num"],
        "attempt": attempt,
        "state": found.state,
        "ending": found.ending,
        "status": status,
        "at": at,
        "started_at": start,
        "exit_code": int(reported["exit_code"]) if reported["exit_code"] else None,
        "machine": reported["run_machine"] or None,
        "log_location": reported.get("std_out_file") or None,
    }
    yield RunEvent(key=key_of(fields), payload=dict(reported), origin=origin, historical=True, **fields)


def _instant(seconds: str) -> datetime | None:
    return None if seconds in _NO_TIME else possible(datetime.fromtimestamp(int(seconds), UTC))


def _cells(line: str) -> list[str]:
    return [cell.strip().strip('"') for cell in _SEPARATOR.split(line.strip())]
