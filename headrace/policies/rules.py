"""The rules of a project, their exceptions and their tests: files in `policies/`, reviewed like code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, TypeGuard, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from headrace.execution.problems import DeclarationError
from headrace.gates import Moment
from headrace.policies.folder import FOLDER
from headrace.policies.subjects import completed
from headrace.sources.entries import Entry, InvalidEntry, list_entries
from headrace.sources.origin import Origin

RULES, EXCEPTIONS, CASES = "rules.yaml", "exceptions.yaml", "tests.yaml"
_MAX_EXPRESSION = 10_000  # characters

_Model = TypeVar("_Model", bound=BaseModel)


class Outcome(StrEnum):
    """The decision of a rule about a dataset, from the mildest to the strictest.

    HOLD: refused until an approver adds an exception; a registration: until a steward approves it with a reason.
    """

    ALLOW = "allow"
    WARN = "warn"
    HOLD = "hold"
    DENY = "deny"


def _expression(text: str) -> str:
    """Return a CEL expression. Raises ValueError if it does not parse."""
    import cel

    if len(text) > _MAX_EXPRESSION:
        raise ValueError(f"the expression is longer than {_MAX_EXPRESSION:,} characters")
    try:
        cel.compile(text)
    except ValueError as error:
        raise ValueError(f"the expression is not valid CEL: {_parse_problem(str(error))}") from error
    return text


def _parse_problem(text: str) -> str:
    """Return the parser's message with its place in the expression, without the picture below it."""
    found = text.partition("ERROR: <input>:")[2].partition("\n")[0]
    place, _, message = found.partition(": ")
    line, _, column = place.partition(":")
    return f"line {line}, column {column}: {message}" if message else text.partition("\n")[0]


Expression = Annotated[str, AfterValidator(_expression)]
RuleName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class Rule(BaseModel):
    """A condition on datasets, and the outcome for one that does not meet it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: RuleName
    applies: Expression | None = Field(
        default=None, description="CEL: whether a dataset is meant; all are by default."
    )
    require: Expression = Field(description="CEL: true for a dataset that meets the rule.")
    at: tuple[Moment, ...] = Field(
        default=(Moment.DECLARATION,), min_length=1, description="When it is evaluated."
    )
    outcome: Literal["warn", "hold", "deny"] = Field(
        default="deny",
        description="For a dataset that does not meet it; `hold`: until an approver adds an exception.",
    )
    if_not_evaluated: Literal["warn", "refuse"] = Field(
        default="warn",
        description="`refuse`: what comes in is refused, too, if the rule has no answer, as by an error.",
    )
    message: str = Field(min_length=1, description="What is wrong with a dataset that does not meet it.")
    comply: str = Field(min_length=1, description="What its owner does to meet it.")


class PolicyException(BaseModel):
    """Datasets that need not meet a rule for a while, by whose approval and why."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rule: RuleName
    datasets: tuple[str, ...] = Field(min_length=1, description="Their keys; `*` matches any text.")
    until: date = Field(description="The last day on which it counts.")
    approved_by: str = Field(min_length=1)
    reason: str = Field(min_length=1)

    def covers(self, rule: str, dataset: str) -> bool:
        """Return True if it is of this rule and dataset, whether it has expired or not."""
        return self.rule == rule and any(fnmatchcase(dataset, pattern) for pattern in self.datasets)


def _json(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a mapping. Raises ValueError if JSON, in which rules are asked, cannot express its values."""
    try:
        json.dumps(given)
    except TypeError as error:
        raise ValueError(f"a value is not of JSON: {error}") from error
    return given


def _facts(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a test says of a dataset. Raises ValueError if rules could not see it."""
    try:
        completed(given)
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"a field has another form than that of a dataset: {error}") from error
    known = completed({}).keys()
    if unknown := given.keys() - known:
        raise ValueError(
            f"a dataset has no {', '.join(sorted(map(str, unknown)))}, but {', '.join(sorted(known))}"
        )
    return _json(given)


Facts = Annotated[Mapping[str, Any], AfterValidator(_facts)]


class Case(BaseModel):
    """A test: a dataset, and what a rule decides about it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rule: RuleName
    name: str = Field(min_length=1)
    dataset: Facts = Field(default_factory=dict)
    inputs: tuple[Facts, ...] = ()
    event: Moment | None = Field(default=None, description="The first of the rule's `at` by default.")
    version: Annotated[Mapping[str, Any], AfterValidator(_json)] = Field(default_factory=dict)
    run: Mapping[str, str | bool] = Field(default_factory=dict)
    now: AwareDatetime | None = Field(default=None, description="The present time by default.")
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Policies:
    """The valid entries with the places of rules, and the errors of the others."""

    rules: tuple[Rule, ...] = ()
    exceptions: tuple[PolicyException, ...] = ()
    cases: tuple[Case, ...] = ()
    problems: tuple[DeclarationError, ...] = ()
    places: Mapping[str, Origin] = field(default_factory=dict)  # of rules by name

    def of(self, moment: Moment) -> Policies:
        """Return these with only the rules of a moment."""
        return replace(self, rules=tuple(rule for rule in self.rules if moment in rule.at))


def load_policies(root: Path) -> Policies:
    """Return what is in the project's `policies/`; nothing without the folder. One bad entry does not stop others."""
    rules, invalid = _entries(root, RULES, Rule)
    problems = [*_problems(invalid), *_unread(root / FOLDER)]
    unique: dict[str, Entry[Rule]] = {}
    for rule in rules:
        name = rule.value.name
        if name in unique:
            problems.append(rule.origin.error(("name",), f"two rules are named {name!r}", "Rename one."))
        else:
            unique[name] = rule
    exceptions, invalid_exceptions = _entries(root, EXCEPTIONS, PolicyException)
    cases, invalid_cases = _entries(root, CASES, Case)
    problems += [*_problems(invalid_exceptions), *_problems(invalid_cases)]
    # An invalid rule is not reported as unknown, too.
    known = {*unique, *(str(each.written["name"]) for each in invalid if _has_name(each.written))}
    problems += [*_unknown(known, exceptions), *_unknown(known, cases)]
    return Policies(
        tuple(rule.value for rule in unique.values()),
        tuple(each.value for each in exceptions),
        tuple(each.value for each in cases),
        tuple(problems),
        {name: rule.origin for name, rule in unique.items()},
    )


def _entries(root: Path, name: str, model: type[_Model]) -> tuple[list[Entry[_Model]], list[InvalidEntry]]:
    file = root / FOLDER / name
    found = list(list_entries(file, root, model)) if file.is_file() else []
    return (
        [each for each in found if isinstance(each, Entry)],
        [each for each in found if isinstance(each, InvalidEntry)],
    )


def _problems(invalid: Iterable[InvalidEntry]) -> Iterator[DeclarationError]:
    for each in invalid:
        yield from each.problems


def _unread(folder: Path) -> Iterator[DeclarationError]:
    """Yield what looks like rules and is not read: other names, broken links, folders."""
    names = (RULES, EXCEPTIONS, CASES)
    for file in sorted(folder.iterdir() if folder.is_dir() else ()):
        if file.name in names and not file.is_file():
            yield DeclarationError(file, 1, None, "not a file, or a link to none", "Make it a file.")
        elif file.suffix in (".yaml", ".yml") and file.name not in names:
            hint = f"Move its entries into one of them: {', '.join(names)}."
            yield DeclarationError(file, 1, None, "a file of this name is not read", hint)


def _has_name(written: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(written, dict) and "name" in written


def _unknown(
    known: set[str], entries: Sequence[Entry[PolicyException]] | Sequence[Entry[Case]]
) -> Iterator[DeclarationError]:
    for entry in entries:
        rule = entry.value.rule
        if rule not in known:
            there = ", ".join(sorted(known)) or "none"
            yield entry.origin.error(("rule",), f"there is no rule {rule!r}", f"There are: {there}.")
