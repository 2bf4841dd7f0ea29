"""The polls of a project, declared in legacy/polls.yaml, and the errors in that file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from headrace.autosys.statuses import meaning
from headrace.context import current_context
from headrace.cron import Timezone
from headrace.durations import Duration
from headrace.execution.problems import DeclarationError
from headrace.job_reports.completions.fields import ALIASES
from headrace.job_reports.completions.reports import FIELDS
from headrace.sources.entries import InvalidEntry, list_entries
from headrace.sources.origin import Origin

if TYPE_CHECKING:
    from sqlglot import exp

FILE = Path("legacy/polls.yaml")
WATERMARK = ":watermark"
URL_WATERMARK = "{watermark}"
_IN_QUERY = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|(?<!:):watermark\b", re.DOTALL)
_Technology = Literal["autosys", "run_management", "db2_procedure", "shell", "external"]


def _report_field(name: str) -> str:
    if name not in FIELDS:
        near = get_close_matches(name, FIELDS, 1)
        raise ValueError(
            f"{name!r} is not a field of a report; "
            + (f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(FIELDS))}")
        )
    return name


def _status(word: str) -> str:
    if meaning(word) is None:
        raise ValueError(f"{word} means that there is no run: write null, and the row is skipped")
    return word


_ReportField = Annotated[str, AfterValidator(_report_field)]
_Status = Annotated[str, AfterValidator(_status)]


class Poll(BaseModel):
    """A poll: its source, its interval, and which columns are fields of a report.

    A query or URL returns the runs that changed since the watermark. Columns with the name of a report's field count
    without being named in `fields`; all others become metadata of the run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", description="Name of the poll.")]
    technology: Annotated[_Technology, Field(description="Technology of the processes.")]
    instance: Annotated[str | None, Field(description="Instance of the scheduler.")] = None
    connection: Annotated[str | None, Field(description="A connection of the settings, for `query`.")] = None
    query: Annotated[
        str | None,
        Field(
            description=f"A SELECT in the database's SQL, with `{WATERMARK}`, or a .sql file beside this one."
        ),
    ] = None
    url: Annotated[
        str | None,
        Field(
            pattern=r"^https?://", description="An endpoint that returns JSON, with `{watermark}` in the URL."
        ),
    ] = None
    headers: Annotated[
        dict[str, str], Field(description="Headers of the request; ${NAME} is an environment variable.")
    ] = Field(default_factory=dict)
    items: Annotated[
        str | None,
        Field(description="Path of the list in the answer: `data.requests`. Default: the answer itself."),
    ] = None
    next_page: Annotated[
        str | None, Field(description="Path of the next page's URL in the answer: `links.next`.")
    ] = None
    watermark: Annotated[str, Field(description="The column that is greater in rows that changed later.")]
    since: Annotated[
        datetime | int, Field(description="The watermark of the first poll: a time, or a number.")
    ]
    overlap: Annotated[
        Duration | None,
        Field(description="Read this much before the watermark again, for transactions that commit late."),
    ] = None
    every: Annotated[Duration, Field(description="Time between two polls.")] = timedelta(minutes=1)
    timezone: Annotated[Timezone, Field(description="Time zone of times without one.")] = "UTC"
    fields: Annotated[
        dict[_ReportField, str],
        Field(description="Columns by field of a report: `{process: service, run: request_no}`."),
    ] = Field(default_factory=dict)
    statuses: Annotated[
        dict[str, _Status | None],
        Field(
            description="Statuses of a report by those of the system; null: not a run yet, so the row is skipped."
        ),
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.query is None) is (self.url is None):
            raise ValueError("give either `query` with a `connection`, or `url`")
        if (self.query is None) is not (self.connection is None):
            raise ValueError("`query` and `connection` belong together")
        if self.url is None and (self.headers or self.items or self.next_page):
            raise ValueError("`headers`, `items` and `next_page` are of a `url`")
        if self.url is not None:
            urlsplit(self.url).port  # noqa: B018 - raises ValueError for one that cannot be
        if self.overlap is not None and not isinstance(self.since, datetime):
            raise ValueError("`overlap` needs a watermark that is a time; `since` is a number")
        return self

    @property
    def zone(self) -> ZoneInfo:
        """The zone of times without one."""
        return ZoneInfo(self.timezone)


@dataclass(frozen=True, slots=True)
class LoadedPolls:
    """The valid polls with their places, and the errors of the others."""

    polls: tuple[Poll, ...] = ()
    problems: tuple[DeclarationError, ...] = ()
    origins: Mapping[str, Origin] = field(default_factory=dict)


def load_polls(root: Path) -> LoadedPolls:
    """Return the polls in the project's legacy/polls.yaml; none without the file."""
    file = root / FILE
    polls: dict[str, Poll] = {}
    origins: dict[str, Origin] = {}
    problems: list[DeclarationError] = []
    for entry in list_entries(file, root, Poll, "poll") if file.exists() else ():
        if isinstance(entry, InvalidEntry):
            problems += entry.problems
            continue
        origin = entry.origin
        try:
            poll = _with_query(entry.value, file.parent, origin)
        except DeclarationError as error:
            problems.append(error)
            continue
        wrong = list(_problems(poll, origin))
        if poll.name in polls:
            wrong.append(origin.error(("name",), f"two polls are named {poll.name!r}", "Rename one."))
        problems += wrong
        if not wrong:
            polls[poll.name], origins[poll.name] = poll, origin
    return LoadedPolls(tuple(polls.values()), tuple(problems), origins)


def bound(query: str) -> tuple[str, int]:
    """Return the query with ? for each watermark outside texts and comments, and their number."""
    count = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal count
        if match[0] != WATERMARK:
            return match[0]
        count += 1
        return "?"

    return _IN_QUERY.sub(replaced, query), count


def _with_query(poll: Poll, folder: Path, origin: Origin) -> Poll:
    """Read the query from its file, if it names one."""
    if poll.query is None or not poll.query.endswith(".sql"):
        return poll
    file = (folder / poll.query).resolve()
    if not file.is_relative_to(folder.resolve()) or not file.is_file():
        raise origin.error(
            ("query",), f"there is no file {poll.query!r} in {folder.name}/", "Correct the name."
        )
    return poll.model_copy(update={"query": file.read_text(encoding="utf-8")})


def _problems(poll: Poll, origin: Origin) -> Iterator[DeclarationError]:
    """Yield what can be known of a poll before it reads anything."""
    if poll.url is not None and URL_WATERMARK not in poll.url:
        hint = f"Add a parameter such as `?changed_since={URL_WATERMARK}`."
        yield origin.error(("url",), f"{URL_WATERMARK} is missing", hint)
    known = current_context().settings.connections
    if poll.connection is not None and poll.connection not in known:
        there = f"there are {', '.join(sorted(known))}" if known else "there are none"
        hint = f"Add [connections.{poll.connection}] with its `url` to headrace.toml; {there}."
        yield origin.error(("connection",), f"there is no connection {poll.connection!r}", hint)
    if poll.query is None:
        return
    if bound(poll.query)[1] == 0:
        hint = f"Add a condition such as `changed_at >= {WATERMARK}`."
        yield origin.error(("query",), f"{WATERMARK} is missing", hint)
    columns = _columns(poll.query)
    if columns:
        yield from _of_columns(poll, columns, origin)


def _of_columns(poll: Poll, columns: Sequence[str], origin: Origin) -> Iterator[DeclarationError]:
    named: list[tuple[tuple[str, ...], str]] = [(("watermark",), poll.watermark)]
    named += [(("fields", name), column) for name, column in poll.fields.items()]
    for place, column in named:
        if column.lower() not in columns:
            near = get_close_matches(column.lower(), columns, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Its columns are {', '.join(columns)}."
            yield origin.error(place, f"the query has no column {column!r}", hint)
    for needed in ("process", "status"):
        if needed not in poll.fields and not any(ALIASES.get(each, each) == needed for each in columns):
            hint = f"Select one AS {needed}, or name it: `fields: {{{needed}: COLUMN}}`."
            yield origin.error(("query",), f"no column is the {needed} of a run", hint)


def _columns(query: str) -> tuple[str, ...]:
    """Return the columns of a query in lower case; none if they cannot be known, as with `*` or SQL of one database."""
    tree = _parsed(query)
    if tree is None or tree.is_star or not all(tree.named_selects):
        return ()
    return tuple(name.lower() for name in tree.named_selects)


def constant_process(poll: Poll) -> str | None:
    """Return the process that the query itself names, as in `SELECT 'SALES.LOAD' AS process`."""
    tree = _parsed(poll.query) if poll.query is not None else None
    column = poll.fields.get("process", "process").lower()
    for each in tree.selects if tree is not None else ():
        name = each.alias_or_name.lower()
        if (name == column or ALIASES.get(name) == column) and each.unalias().is_string:
            return str(each.unalias().this)
    return None


def _parsed(query: str) -> exp.Query | None:
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(bound(query)[0])
    except sqlglot.errors.SqlglotError:
        return None
    return tree if isinstance(tree, exp.Query) else None
