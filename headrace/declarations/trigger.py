"""Declared triggers: a schedule, new versions of inputs, completions of external processes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from headrace.cron import Timezone
from headrace.declarations.cron import Cron
from headrace.declarations.declaration import Part


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


ProcessName = Annotated[str, Field(pattern=r"^[^/\s]+(/[^/\s]+)*$")]
ProcessNames = Annotated[
    list[ProcessName], BeforeValidator(_listed, json_schema_input_type=str | list[str]), Field(min_length=1)
]


class Trigger(Part):
    """A trigger of runs. A plain string is short for `{when: ...}`."""

    # Not `on`, which YAML reads as true.
    when: Annotated[
        Literal["missing", "any_input", "all_inputs"] | None,
        Field(
            description="A partition is missing; any input has a new version; all inputs have one. With `process`: "
            "all_inputs, which then have to be published for the same partition."
        ),
    ] = None
    schedule: Annotated[
        Cron | None, Field(description="Cron expression; with `when`, the tick comes first.")
    ] = None
    timezone: Annotated[Timezone, Field(description="Time zone of `schedule`.")] = "UTC"
    process: Annotated[
        ProcessNames | None,
        Field(
            description="Job or process key (AUTOSYS/BOX/JOB) that has to end with success, or several that all "
            "have to, for the same partition."
        ),
    ] = None
    instance: Annotated[
        str | None, Field(description="The scheduler of `process`, if several have a job of that name.")
    ] = None

    @model_validator(mode="after")
    def _something(self) -> Trigger:
        if self.when is None and self.schedule is None and self.process is None:
            raise ValueError("a trigger has `when`, `schedule` or `process`")
        if self.process is not None and self.schedule is not None:
            raise ValueError("a trigger has `schedule` or `process`, not both")
        if self.process is not None and self.when not in (None, "all_inputs"):
            raise ValueError(
                f"`process` goes with `when: all_inputs` or without `when`, not with {self.when}"
            )
        if self.instance is not None and self.process is None:
            raise ValueError("`instance` belongs to `process`")
        return self


def _trigger_from_name(value: object) -> object:
    return {"when": value} if isinstance(value, str) else value


TriggerItem = Annotated[Trigger, BeforeValidator(_trigger_from_name, json_schema_input_type=str | Trigger)]
