"""The polls of a project, declared in legacy/polls.yaml, and the errors in that file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from headrace.cron import Timezone
from headrace.declarations.sources.documents import NoDocument, documents
from headrace.declarations.sources.origin import Origin
from headrace.declarations.sources.validation import declaration_errors
from headrace.durations import Duration
from headrace.execution.problems import DeclarationError

FILE = Path("legacy/polls.yaml")
WATERMARK = ":watermark"
_Technology = Literal["autosys", "run_management", "db2_procedure", "shell", "external"]


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
        dict[str, str],
        Field(description="Columns by field of a report: `{process: service, run: request_no}`."),
    ] = Field(default_factory=dict)
    statuses: Annotated[
        dict[str, str | None],
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
    """The valid polls, and the errors of the others."""

    polls: tuple[Poll, ...] = ()
    problems: tuple[DeclarationError, ...] = ()


def load_polls(root: Path) -> LoadedPolls:
    """Return the polls in the project's legacy/polls.yaml; none without the file."""
    file = root / FILE
    polls: dict[str, Poll] = {}
    problems: list[DeclarationError] = []
    for document in documents(file) if file.exists() else ():
        if isinstance(document, NoDocument):
            problems.append(document.problem)
            continue
        origin = Origin(file, root, document.line_of, document.text_at)
        if not isinstance(document.value, list):
            problems.append(origin.error((), "not a list", "Write `- name: ...` for each poll."))
            continue
        for index, written in enumerate(document.value):
            part = origin.part(index)
            try:
                poll = _with_query(Poll.model_validate(written), file.parent, part)
            except ValidationError as error:
                problems += declaration_errors(error, Poll, written, part)
            except DeclarationError as error:
                problems.append(error)
            else:
                if poll.name in polls:
                    problems.append(
                        part.error(("name",), f"two polls are named {poll.name!r}", "Rename one.")
                    )
                polls.setdefault(poll.name, poll)
    return LoadedPolls(tuple(polls.values()), tuple(problems))


def _with_query(poll: Poll, folder: Path, origin: Origin) -> Poll:
    """Read the query from its file, if it names one."""
    query: Any = poll.query
    if query is not None and query.endswith(".sql"):
        file = (folder / query).resolve()
        if not file.is_relative_to(folder.resolve()) or not file.is_file():
            raise origin.error(
                ("query",), f"there is no file {query!r} in {folder.name}/", "Correct the name."
            )
        query = file.read_text(encoding="utf-8")
        poll = poll.model_copy(update={"query": query})
    if query is not None and WATERMARK not in query:
        raise origin.error(
            ("query",), f"{WATERMARK} is missing", f"Add a condition such as `changed_at >= {WATERMARK}`."
        )
    return poll
