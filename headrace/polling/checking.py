"""The problems in the folder legacy/: of its polls, and of the processes that are described in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from headrace.autosys import Finding, read_calendars
from headrace.autosys.jil.text import decode
from headrace.catalog.records import TECHNOLOGY_WORDS
from headrace.database.connection import connect_if_running, transaction
from headrace.errors import CatalogError
from headrace.estates.comparison import CSV, YAML
from headrace.estates.described.processes import DescribedProcess, read_processes
from headrace.estates.described.records import unknown_calendars
from headrace.execution.problems import DeclarationError
from headrace.polling.polls import FILE, LoadedPolls, constant_process, load_polls
from headrace.slas import calendars
from headrace.slas.calendars import Calendars

_DESCRIBES = re.compile(r"^(?:- |  )technology:", re.MULTILINE)  # a review of candidates is YAML too


def check_legacy(root: Path) -> list[DeclarationError]:
    """Return the problems of legacy/polls.yaml, and of the descriptions of processes in legacy/."""
    polls = load_polls(root)
    files = [
        file for file in sorted((root / FILE).parent.rglob("*")) if file.is_file() and file != root / FILE
    ]
    described: list[DescribedProcess] = []
    findings: list[Finding] = []
    for file in files:
        if file.suffix.lower() in YAML and _DESCRIBES.search(text := _text(file)):
            found, wrong = read_processes(text, str(file))
            described += found
            findings += wrong
    if any(unknown_calendars(described, Calendars())):  # not those of countries and exchanges
        findings += unknown_calendars(described, _calendars(files))
    return [*polls.problems, *_unknown_processes(polls, described), *map(_problem, findings)]


def _text(file: Path) -> str:
    return decode(file.read_bytes(), str(file))[0]


def _calendars(files: Sequence[Path]) -> Calendars:
    """Return the calendars that the files define, and those of the catalog, if it runs; all without their days."""
    names = {("", name) for file in files if file.suffix.lower() not in YAML + CSV for name in _defined(file)}
    try:
        engine = connect_if_running()
        if engine is not None:
            with transaction(engine) as cursor:
                names.update(calendars.load(cursor).imported)
    except CatalogError:
        pass  # then only the files are known
    return Calendars(dict.fromkeys(names, frozenset()))


def _defined(file: Path) -> Iterator[str]:
    text = _text(file)
    if "calendar:" in text:
        yield from read_calendars(text, str(file)).calendars


def _unknown_processes(
    polls: LoadedPolls, described: Sequence[DescribedProcess]
) -> Iterator[DeclarationError]:
    """Yield the polls whose query names one process, which is not among those described of its technology."""
    for poll in polls.polls:
        technology = TECHNOLOGY_WORDS[poll.technology]
        names = sorted({one.description.name for one in described if one.technology is technology})
        process = constant_process(poll)
        if process is not None and names and process not in names:
            near = get_close_matches(process, names, 1)
            hint = f"Did you mean {near[0]!r}?" if near else "Describe it, or correct its name."
            message = f"no file in legacy/ describes the {poll.technology} {process!r}"
            yield polls.origins[poll.name].error(("query",), message, hint)


def _problem(finding: Finding) -> DeclarationError:
    field = ".".join(filter(None, (finding.subject, finding.attribute))) or None
    return DeclarationError(Path(finding.file), finding.line, field, finding.message, finding.hint)
