"""Read hand-written YAML lists entry by entry: a wrong entry is reported by line and field and skipped."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from headrace.autosys.findings import Finding
from headrace.severity import Severity

Model = TypeVar("Model", bound=BaseModel)
_ENTRY = re.compile(r"^- ", re.MULTILINE)
_MARK = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_NO_ENTRY = re.compile(r"^(?!---|\.\.\.|%)[ \t]*[^\s#].*$", re.MULTILINE)
_HINT = "the entry is skipped, the others are kept"


@dataclass(frozen=True, slots=True)
class Entry(Generic[Model]):
    """One entry, its first line, and the lines of its fields, such as `schedule` and `schedule.cron`."""

    value: Model
    line: int
    lines: Mapping[str, int]


def read_entries(
    text: str, file: str, model: type[Model], names: str
) -> tuple[list[Entry[Model]], list[Finding]]:
    """Parse a list of entries, each of which begins with `- ` at the start of a line; returns entries and findings.

    names: the field by which a finding names its entry.
    """
    entries: list[Entry[Model]] = []
    findings: list[Finding] = []
    starts = [match.start() for match in _ENTRY.finditer(text)]
    before = _NO_ENTRY.search(text, 0, starts[0] if starts else len(text))
    if before is not None:
        what = f"this belongs to no entry: each begins with `- {names}:` at the start of a line"
        line = text.count("\n", 0, before.start()) + 1
        findings.append(Finding("entry/outside", Severity.ERROR, what, file, line, hint="it is not read"))
    elif not starts:
        what = f"it has no entries: write a list, each entry beginning with `- {names}:`"
        findings.append(Finding("entry/nothing", Severity.WARNING, what, file, 0))
    for start, end in zip(starts, [*starts, len(text)][1:], strict=True):
        entry = _entry(
            _MARK.sub("", text[start:end]), file, text.count("\n", 0, start), model, names, findings
        )
        if entry is not None:
            entries.append(entry)
    return entries, findings


def lost(
    rule: str, message: str, file: str, line: int, subject: str | None = None, field: str | None = None
) -> Finding:
    """Create the finding that an entry was skipped."""
    return Finding(f"entry/{rule}", Severity.ERROR, message, file, line, subject, field, _HINT)


def _entry(
    text: str, file: str, lines_before: int, model: type[Model], names: str, findings: list[Finding]
) -> Entry[Model] | None:
    line = lines_before + 1
    try:
        node, value = yaml.compose(text, Loader=yaml.SafeLoader), yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        at = line + (error.problem_mark.line if error.problem_mark else 0)
        findings.append(lost("yaml", f"invalid YAML: {error.problem}", file, at))
        return None
    except (yaml.YAMLError, ValueError) as error:
        findings.append(lost("yaml", f"invalid YAML: {error}", file, line))
        return None
    if not isinstance(node, yaml.SequenceNode) or len(value) != 1 or not isinstance(value[0], Mapping):
        findings.append(
            lost("yaml", f"an entry consists of fields and values, such as `- {names}: X`", file, line)
        )
        return None
    lines = dict(_lines(node.value[0], line))
    try:
        return Entry(model.model_validate(value[0]), line, lines)
    except ValidationError as error:
        subject = str(value[0].get(names) or "") or None
        for each in error.errors():
            field = ".".join(map(str, each["loc"]))
            findings.append(
                lost("field", _message(each, model), file, line_of(lines, field, line), subject, field)
            )
        return None


def line_of(lines: Mapping[str, int], field: str, otherwise: int) -> int:
    """Return the line of a field, or of the one that it is in."""
    while field and field not in lines:
        field = field.rpartition(".")[0]
    return lines.get(field, otherwise)


def _lines(mapping: yaml.MappingNode, line: int, above: str = "") -> Iterator[tuple[str, int]]:
    for key, value in mapping.value:
        field = f"{above}{key.value}"
        yield field, line + key.start_mark.line
        if isinstance(value, yaml.MappingNode):
            yield from _lines(value, line, f"{field}.")


def _message(error: Any, model: type[BaseModel]) -> str:  # noqa: ANN401 - pydantic's
    if error["type"] == "extra_forbidden":
        return f"is not a field; the fields are {', '.join(_fields(model, error['loc'][:-1]))}"
    message = str(error["msg"]).removeprefix("Value error, ")
    return message[:1].lower() + message[1:]


def _fields(model: type[BaseModel], path: Sequence[object]) -> Iterable[str]:
    """Return the fields of the model, or of the one in a field of it."""
    for name in path:
        kinds = get_args(model.model_fields[str(name)].annotation)
        model = next(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel))
    return model.model_fields
