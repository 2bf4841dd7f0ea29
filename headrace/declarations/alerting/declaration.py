"""The schema of alerts.yaml: destinations, owners, routes with their steps, quiet hours."""

from __future__ import annotations

import re
from datetime import time, timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from headrace.alerts.rules import ACKNOWLEDGE_FOR, REPEAT_EVERY
from headrace.cron import Timezone
from headrace.declarations.declaration import Part
from headrace.durations import Duration, parse_duration
from headrace.severity import Severity

_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
_PLACEHOLDER = re.compile(r"\$\{(\w+)\}|\{owner\}|[{}]")
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _clock(text: object) -> object:
    # YAML reads 22:00 as a sexagesimal number.
    found = _CLOCK.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f'{text!r} is not a valid time of day; write it in quotes, for example "22:00"')
    return time(int(found[1]), int(found[2]))


def _url(text: str) -> str:
    if any(found[0] in "{}" for found in _PLACEHOLDER.finditer(text)):
        raise ValueError("unknown placeholder; use ${NAME} for an environment variable, or {owner}")
    if "://" not in text and not re.fullmatch(r"\$\{\w+\}", text):
        raise ValueError("not an apprise URL; for example slack://${SLACK_TOKEN}/#data")
    return text


def _web(text: str) -> str:
    if not re.match(r"https?://\S", text):
        raise ValueError("not a URL; for example https://dagster.example.com")
    return text


def _heartbeat(text: str) -> str:
    # An invalid value may be a secret with a letter missing: it is not repeated.
    if not re.match(r"https?://\S|\$\{\w+\}$", text):
        raise ValueError("not a URL; for example https://watch.example.com/${HEARTBEAT} or ${HEARTBEAT_URL}")
    return text


def _list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _from_url(value: object) -> object:
    return {"url": value} if isinstance(value, str) else value


def _repeat(value: object) -> object:
    return NEVER if value == "never" else parse_duration(value)


NEVER = timedelta.max
Repeat = Annotated[timedelta, BeforeValidator(_repeat, json_schema_input_type=str)]
Clock = Annotated[time, BeforeValidator(_clock, json_schema_input_type=str)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
Names = Annotated[
    list[Name], BeforeValidator(_list, json_schema_input_type=str | list[str]), Field(min_length=1)
]
Web = Annotated[str, AfterValidator(_web)]


def _severity(text: object) -> object:
    return text.upper() if isinstance(text, str) else text


SeverityName = Annotated[Severity, BeforeValidator(_severity, json_schema_input_type=str)]


class LimitDeclaration(Part):
    """A rate limit: at most so many notifications within a period; the rest is merged into a digest."""

    at_most: Annotated[int, Field(ge=1, description="Maximum number of notifications.")]
    within: Annotated[Duration, Field(description="The period in which they count.")]


class DestinationDeclaration(Part):
    """A destination of notifications. A plain string is short for `{url: ...}`."""

    url: Annotated[
        str,
        AfterValidator(_url),
        Field(
            description="An apprise URL, in which ${NAME} is an environment variable, and {owner} the owner's e-mail."
        ),
    ]
    limit: Annotated[LimitDeclaration | None, Field(description="Its rate limit. Default: the file's.")] = (
        None
    )


class HoursDeclaration(Part):
    """Hours of the week in local time."""

    start: Annotated[Clock, Field(alias="from", description="Start of the hours.")]
    end: Annotated[
        Clock,
        Field(alias="to", description="End of the hours; on the next day if it is earlier than the start."),
    ]
    days: Annotated[list[Day], Field(min_length=1, description="The days on which the hours begin.")] = list(
        DAYS
    )
    timezone: Annotated[Timezone | None, Field(description="The time zone. Default: the file's.")] = None


class QuietDeclaration(HoursDeclaration):
    """Hours in which only severe alerts are sent; others wait until they end."""

    except_from: Annotated[SeverityName, Field(description="The lowest severity that is still sent.")]

    @model_validator(mode="after")
    def _end(self) -> QuietDeclaration:
        if self.start == self.end and set(self.days) == set(DAYS):
            raise ValueError("these hours never end: give `to` another time, or name the `days`")
        return self


class StepDeclaration(Part):
    """The recipients of a step."""

    to: Annotated[Names, Field(description="Destinations; `owners` means the owners of the alert's subject.")]
    after: Annotated[
        Duration | None,
        Field(description="Time without acknowledgement before this step; the first step is immediate."),
    ] = None


class RouteDeclaration(Part):
    """Which alerts it matches, and who is notified. The first matching route applies."""

    name: Annotated[str, Field(min_length=1, description="Its name.")]
    domains: Annotated[list[str], Field(description="Only these domains.")] = []
    owners: Annotated[list[str], Field(description="Only alerts about subjects of these owners.")] = []
    severity: Annotated[SeverityName, Field(description="The minimum severity.")] = Severity.INFO
    hours: Annotated[HoursDeclaration | None, Field(description="Only in these hours.")] = None
    repeat_every: Annotated[
        Repeat | None,
        Field(
            description="How long after the last step the steps start again, or `never`. Default: the file's."
        ),
    ] = None
    steps: Annotated[
        list[StepDeclaration], Field(min_length=1, description="The escalation steps, in order.")
    ]

    @model_validator(mode="after")
    def _steps_in_order(self) -> RouteDeclaration:
        first, *later = self.steps
        if first.after is not None:
            raise ValueError("the first step is immediate: omit its `after`")
        if any(step.after is None for step in later):
            raise ValueError("every step but the first needs `after`")
        lengths = [step.after or timedelta() for step in self.steps]
        if lengths != sorted(lengths):
            raise ValueError("a step comes `after` less time than the one before it")
        return self


class LinksDeclaration(Part):
    """Links in notifications."""

    dagster: Annotated[Web | None, Field(description="Address of Dagster's UI.")] = None
    catalog: Annotated[
        Web | None, Field(description="Address of the catalog's API. Default: the settings'.")
    ] = None


class AlertsDeclaration(Part):
    """Who is notified of which alerts, and when."""

    timezone: Annotated[Timezone, Field(description="The time zone of hours without one.")] = "UTC"
    destinations: Annotated[
        dict[
            Name,
            Annotated[
                DestinationDeclaration,
                BeforeValidator(_from_url, json_schema_input_type=str | DestinationDeclaration),
            ],
        ],
        Field(description="Destinations of notifications, by name."),
    ] = {}
    limit: Annotated[LimitDeclaration, Field(description="The default rate limit of a destination.")] = (
        LimitDeclaration(at_most=30, within=timedelta(hours=1))
    )
    repeat_every: Annotated[
        Repeat,
        Field(description="How long after the last step of a route its steps start again, or `never`."),
    ] = REPEAT_EVERY
    acknowledge_for: Annotated[
        Duration, Field(description="How long an acknowledgement without a duration lasts.")
    ] = ACKNOWLEDGE_FOR
    owners: Annotated[
        dict[str, Names],
        Field(description="The destinations of each owner; `*` is for all others."),
    ] = {}
    routes: Annotated[
        list[RouteDeclaration], Field(description="Which alerts go to which destinations.")
    ] = []
    quiet_hours: Annotated[
        list[QuietDeclaration], Field(description="Hours in which only severe alerts are sent.")
    ] = []
    links: Annotated[LinksDeclaration, Field(description="Addresses for links in notifications.")] = (
        LinksDeclaration()
    )
    heartbeat: Annotated[
        Annotated[str, AfterValidator(_heartbeat)] | None,
        Field(
            description="An external URL, pinged every minute while alerting works, that alarms when pings stop.",
        ),
    ] = None
