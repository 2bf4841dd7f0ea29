"""Declared notifications of a new version: a flag file, an Autosys event, a request, a procedure."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from headrace.declarations.declaration import Part
from headrace.execution.notices import AutosysEvent, FlagFile, HttpRequest, Notice, ProcedureCall

PLACEHOLDERS = ("domain", "name", "dataset", "partition", "version")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def _known_placeholders(text: str) -> str:
    unknown = [name for name in _PLACEHOLDER.findall(text) if name not in PLACEHOLDERS]
    if unknown or "{" in _PLACEHOLDER.sub("", text) or "}" in _PLACEHOLDER.sub("", text):
        what = f"{{{unknown[0]}}} is not a known placeholder" if unknown else "there is an unmatched brace"
        raise ValueError(f"{what}; there are {', '.join(f'{{{name}}}' for name in PLACEHOLDERS)}")
    if any(not character.isprintable() for character in text):
        raise ValueError("it contains an unprintable character")
    return text


Template = Annotated[str, Field(min_length=1), AfterValidator(_known_placeholders)]
JobName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.#][A-Za-z0-9_.#@:-]*$")]


class SendEvent(Part):
    """A call of Autosys' `sendevent`."""

    event: Annotated[
        Literal[
            "SET_GLOBAL",
            "STARTJOB",
            "FORCE_STARTJOB",
            "CHANGE_STATUS",
            "JOB_ON_HOLD",
            "JOB_OFF_HOLD",
            "JOB_ON_ICE",
            "JOB_OFF_ICE",
            "JOB_ON_NOEXEC",
            "JOB_OFF_NOEXEC",
        ],
        Field(description="The event (-E)."),
    ]
    job: Annotated[JobName | None, Field(description="The job of the event (-J).")] = None
    status: Annotated[
        Literal["SUCCESS", "FAILURE", "TERMINATED", "INACTIVE"] | None,
        Field(description="The status of CHANGE_STATUS (-s)."),
    ] = None
    global_: Annotated[
        JobName | None, Field(alias="global", description="The global variable of SET_GLOBAL (-G).")
    ] = None
    value: Annotated[
        Template | None,
        Field(
            description="Its value; placeholders such as {dataset}, {partition} and {version} are replaced."
        ),
    ] = None
    instance: Annotated[JobName | None, Field(description="The scheduler (-S). Default: AUTOSERV's.")] = None

    @model_validator(mode="after")
    def _event_arguments(self) -> SendEvent:
        given = {
            "job": self.job,
            "status": self.status,
            "global": self.global_,
            "value": self.value,
        }
        needed = ["global", "value"] if self.event == "SET_GLOBAL" else ["job"]
        if self.event == "CHANGE_STATUS":
            needed.append("status")
        missing = [name for name in needed if given[name] is None]
        if missing:
            raise ValueError(f"{self.event} needs `{missing[0]}`")
        surplus = [name for name, value in given.items() if value is not None and name not in needed]
        if surplus:
            raise ValueError(f"`{surplus[0]}` does not belong to {self.event}")
        return self


class Post(Part):
    """A request of an HTTP endpoint."""

    url: Annotated[
        Template,
        Field(
            pattern=r"^https?://",
            description="The URL, in which {dataset}, {partition} and the like are filled in.",
        ),
    ]
    headers: Annotated[
        dict[str, str], Field(description="Headers of the request; ${NAME} is an environment variable.")
    ] = Field(default_factory=dict)


class Call(Part):
    """A statement on a database."""

    connection: Annotated[str, Field(description="A connection of the settings.")]
    statement: Annotated[
        Template,
        Field(
            description="The statement, as `CALL RISK.SP_LOAD({partition})`; placeholders are bound as texts."
        ),
    ]


class Notify(Part):
    """A notification of a published version: one of the four."""

    flag_file: Annotated[
        Template | None,
        Field(
            pattern=r"^/",
            description="File to write, as an absolute path in which {dataset}, {partition}, {version} and the like "
            "are filled in; the folder has to be there.",
        ),
    ] = None
    sendevent: Annotated[SendEvent | None, Field(description="Event to send to Autosys.")] = None
    post: Annotated[Post | None, Field(description="Request to post to an HTTP endpoint.")] = None
    call: Annotated[Call | None, Field(description="Procedure to call in a database.")] = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Notify:
        given = [self.flag_file, self.sendevent, self.post, self.call]
        if sum(each is not None for each in given) != 1:
            raise ValueError("give one of `flag_file`, `sendevent`, `post` and `call`")
        return self

    @property
    def notice(self) -> Notice:
        """The notification."""
        if self.post is not None:
            return HttpRequest(self.post.url, self.post.headers)
        if self.call is not None:
            return ProcedureCall(self.call.connection, self.call.statement)
        if self.sendevent is None:
            return FlagFile(self.flag_file or "")
        event = self.sendevent
        options = [("-E", event.event), ("-J", event.job), ("-s", event.status)]
        if event.global_ is not None:
            options.append(("-G", f"{event.global_}={event.value}"))
        options.append(("-S", event.instance))
        return AutosysEvent(tuple(word for option, value in options if value for word in (option, value)))

    @property
    def names_partition(self) -> bool:
        """True if it only makes sense for a partitioned dataset."""
        texts = (
            self.flag_file,
            self.sendevent and self.sendevent.value,
            self.post and self.post.url,
            self.call and self.call.statement,
        )
        return any("{partition}" in text for text in texts if text)
