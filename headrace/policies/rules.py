"""The rules of a project, their exceptions and their tests: files in `policies/`, reviewed like code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from headrace.declarations.sources.documents import NoDocument, documents
from headrace.declarations.sources.origin import Origin
from headrace.declarations.sources.validation import declaration_errors
from headrace.execution.problems import DeclarationError
from headrace.policies.subjects import Event, completed

FOLDER = "policies"
RULES, EXCEPTIONS, CASES = "rules.yaml", "exceptions.yaml", "tests.yaml"
_MAX_EXPRESSION = 10_000  # characters

_Entry = TypeVar("_Entry", bound=BaseModel)


class Outcome(StrEnum):
    """The decision of a rule about a dataset, from the mildest to the strictest.

    HOLD: refused until an approver adds an exception.
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
    at: tuple[Event, ...] = Field(
        default=(Event.DECLARATION,), min_length=1, description="When it is evaluated."
    )
    outcome: Literal["warn", "hold", "deny"] = Field(
        default="deny",
        description="For a dataset that does not meet it; `hold`: until an approver adds an exception.",
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
    return given


Facts = Annotated[Mapping[str, Any], AfterValidator(_facts)]


class Case(BaseModel):
    """A test: a dataset, and what a rule decides about it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rule: RuleName
    name: str = Field(min_length=1)
    dataset: Facts = Field(default_factory=dict)
    inputs: tuple[Facts, ...] = ()
    event: Event | None = Field(default=None, description="The first of the rule's `at` by default.")
    version: Mapping[str, Any] = Field(default_factory=dict)
    now: AwareDatetime | None = Field(default=None, description="The present time by default.")
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Policies:
    """The valid entries with the places of rules and cases, and the errors of the others."""

    rules: tuple[Rule, ...] = ()
    exceptions: tuple[PolicyException, ...] = ()
    cases: tuple[Case, ...] = ()
    problems: tuple[DeclarationError, ...] = ()
    places: Mapping[str, Origin] = field(default_factory=dict)  # of rules by name
    case_places: Sequence[Origin] = ()


def load_policies(root: Path) -> Policies:
    """Return what is in the project's `policies/`; nothing without the folder. One bad entry does not stop others."""
    rules, places, problems = _entries(root, RULES, Rule)
    problems += _unread(root / FOLDER)
    unique: dict[str, tuple[Rule, Origin]] = {}
    for rule, place in zip(rules, places, strict=True):
        if rule.name in unique:
            problems.append(place.error(("name",), f"two rules are named {rule.name!r}", "Rename one."))
        else:
            unique[rule.name] = rule, place
    exceptions, exception_places, wrong = _entries(root, EXCEPTIONS, PolicyException)
    cases, case_places, wrong_cases = _entries(root, CASES, Case)
    problems += [*wrong, *wrong_cases]
    known = {*unique, *_names_of_invalid(root)}
    problems += _unknown(known, exceptions, exception_places, lambda each: each.rule)
    problems += _unknown(known, cases, case_places, lambda each: each.rule)
    return Policies(
        tuple(rule for rule, _ in unique.values()),
        tuple(exceptions),
        tuple(cases),
        tuple(problems),
        {name: place for name, (_, place) in unique.items()},
        case_places,
    )


def _entries(
    root: Path, name: str, model: type[_Entry]
) -> tuple[list[_Entry], list[Origin], list[DeclarationError]]:
    file = root / FOLDER / name
    found: list[_Entry] = []
    places: list[Origin] = []
    problems: list[DeclarationError] = []
    for document in documents(file) if file.is_file() else ():
        if isinstance(document, NoDocument):
            problems.append(document.problem)
            continue
        origin = Origin(file, root, document.line_of, document.text_at)
        if not isinstance(document.value, list):
            first = next(iter(model.model_fields))
            problems.append(origin.error((), "not a list", f"Write `- {first}: ...` for each entry."))
            continue
        for index, written in enumerate(document.value):
            part = origin.part(index)
            try:
                found.append(model.model_validate(written))
                places.append(part)
            except ValidationError as error:
                problems += declaration_errors(error, model, written, part)
    return found, places, problems


def _unread(folder: Path) -> Iterator[DeclarationError]:
    """Yield what looks like rules and is not read: other names, broken links, folders."""
    names = (RULES, EXCEPTIONS, CASES)
    for file in sorted(folder.iterdir() if folder.is_dir() else ()):
        if file.name in names and not file.is_file():
            yield DeclarationError(file, 1, None, "not a file, or a link to none", "Make it a file.")
        elif file.suffix in (".yaml", ".yml") and file.name not in names:
            hint = f"Move its entries into one of them: {', '.join(names)}."
            yield DeclarationError(file, 1, None, "a file of this name is not read", hint)


def _names_of_invalid(root: Path) -> set[str]:
    """Return the names of all rules as written, so that an invalid rule is not reported as unknown, too."""
    file = root / FOLDER / RULES
    return {
        str(entry["name"])
        for document in (documents(file) if file.is_file() else ())
        if not isinstance(document, NoDocument) and isinstance(document.value, list)
        for entry in document.value
        if isinstance(entry, dict) and "name" in entry
    }


def _unknown(
    known: set[str], entries: Sequence[_Entry], places: Sequence[Origin], rule: Callable[[Any], str]
) -> Iterable[DeclarationError]:
    for entry, place in zip(entries, places, strict=True):
        if rule(entry) not in known:
            there = ", ".join(sorted(known)) or "none"
            yield place.error(("rule",), f"there is no rule {rule(entry)!r}", f"There are: {there}.")
