"""Resolve a declaration's SQL and Python to executable steps, their inputs and the code version."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from headrace.declarations.declaration import Input, Step
from headrace.declarations.partitions import partition_mapping
from headrace.execution.partitions import parameters_of
from headrace.execution.plan import InputPlan, PartitionPlan
from headrace.execution.problems import DeclarationError, SqlError, TransformError
from headrace.execution.python_code import Function, read_python
from headrace.execution.sql import Query, SourceText, parse
from headrace.execution.transform import Code, FunctionCode, PythonCode, SqlCode
from headrace.sources.imports import code_digest
from headrace.sources.origin import FieldPath, Origin

SELF = "self"  # the name of a dataset's own previous version or partition, as an input


@dataclass(frozen=True, slots=True)
class Use:
    """A name that code uses for a frame, and its place."""

    name: str
    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class Piece:
    """One query or function as written: its uses, parameters, digest and text."""

    step: str
    field: str | None
    uses: tuple[Use, ...]
    parameters: Mapping[str, int]
    digest: str
    source: str
    file: Path
    line: int
    query: Query | None = None
    function: str | Callable[..., Any] | None = None
    several: bool = False
    takes_any: bool = False

    @property
    def language(self) -> Literal["sql", "python"]:
        """The language."""
        return "python" if self.query is None else "sql"


@dataclass(frozen=True, slots=True)
class ResolvedSteps:
    """Pieces with resolved names: the inputs, the steps in order, and the inputs of each step."""

    inputs: tuple[InputPlan, ...]
    steps: tuple[tuple[str, Code], ...]
    reads: tuple[tuple[str, tuple[str, ...]], ...]


def sql_piece(origin: Origin, step: str, field: FieldPath, sql: str) -> Piece:
    """Parse the query in `sql`, or in the file that it names. Raises DeclarationError."""
    source = sql_source(origin, field, sql)
    try:
        query = parse(source)
    except SqlError as error:
        raise _from_transform(origin.name(field), error) from error
    return Piece(
        step=step,
        field=origin.name(field),
        uses=tuple(Use(name, source.file, line) for name, line in query.tables.items()),
        parameters=query.parameters,
        digest=query.digest,
        source=source.text,
        file=source.file,
        line=source.first_line,
        query=query,
    )


def python_piece(origin: Origin, step: str, field: FieldPath, reference: str, several: bool = False) -> Piece:
    """Parse the function `file.py:function` without importing it. Raises DeclarationError."""
    file_name, _, name = reference.partition(":")
    if not file_name.endswith(".py") or not name.isidentifier():
        raise origin.error(
            field, f"{reference!r} is not a reference to a function", "Write it as file.py:function."
        )
    file = origin.folder / file_name
    try:
        code, code_version = read_python(file), code_digest(file, origin.root)
    except OSError as error:
        raise origin.error(field, f"no file {file_name} next to {origin.file.name}", str(error)) from error
    except TransformError as error:
        raise _from_transform(origin.name(field), error) from error
    function = code.functions.get(name)
    if function is None and name not in code.names:
        raise origin.error(
            field,
            f"{file_name} has no function {name}",
            f"It has: {', '.join(sorted(code.functions)) or 'no function at all'}.",
        )
    # A function that the file only imports is not parsed; its parameters are inspected when it runs.
    known = function or Function(1, (), (), takes_any=True)
    return Piece(
        step=step,
        field=origin.name(field),
        uses=tuple(Use(used, file, known.line) for used in known.required if used != "context"),
        parameters={},
        digest=code_version,
        source=reference,
        file=file,
        line=known.line,
        function=name,
        several=several,
        takes_any=known.takes_any,
    )


def step_piece(origin: Origin, index: int, step: Step) -> Piece:
    """Return the query or function of a sub-step."""
    if step.sql is not None:
        return sql_piece(origin, step.name, ("steps", index, "sql"), step.sql)
    return python_piece(origin, step.name, ("steps", index, "python"), step.python or "")


def resolve(
    origin: Origin, own: str | None, domain: str, pieces: Sequence[Piece], declared: Sequence[Input] | None
) -> ResolvedSteps:
    """Resolve the names in `pieces`: an earlier step, otherwise an input, otherwise (nothing declared) a dataset.

    own: the dataset that the input `self` means; None if there is more than one output. Raises DeclarationError for a
    name that is used and not declared, at its line, and for the reverse.
    """
    names = _Inputs(origin, own, domain, declared)
    steps: list[tuple[str, Code]] = []
    reads: list[tuple[str, tuple[str, ...]]] = []
    before: set[str] = set()
    for piece in pieces:
        frames = {
            use.name: use.name if use.name in before else names.alias_of(use, piece.field)
            for use in piece.uses
        }
        if piece.takes_any:
            names.use_all()
        steps.append((piece.step, _code(origin, piece, frames)))
        found = [name if name in before else names.dataset_of(name) for name in frames.values()]
        reads.append((piece.step, tuple(dict.fromkeys(found))))
        before.add(piece.step)
    return ResolvedSteps(names.plans(), tuple(steps), tuple(reads))


def check_parameters(pieces: Iterable[Piece], partitions: PartitionPlan | None) -> None:
    """Raise DeclarationError if a query has a parameter that its runs do not have."""
    allowed = parameters_of(partitions)
    for piece in pieces:
        for name, line in piece.parameters.items():
            if name not in allowed:
                known = ", ".join(f":{parameter}" for parameter in sorted(allowed))
                hint = (
                    f"A run has {known}."
                    if allowed
                    else "Parameters come from `partitions`, which this dataset does not have."
                )
                several = allowed and name == "partition_key"
                why = "does not go with `ranges: true`" if several else "is not known"
                raise DeclarationError(piece.file, line, piece.field, f":{name} {why}", hint)


def input_error(item: InputPlan, origin: Origin, message: str, hint: str) -> DeclarationError:
    """Create an error of an input, at the place where it is declared or first used."""
    if item.place is None:
        return origin.error(("inputs",), message, hint)
    return DeclarationError(*item.place, message, hint)


@dataclass(slots=True)
class _Inputs:
    """The inputs by alias: the declared ones or, if none are declared, those named by the code."""

    origin: Origin
    own: str | None
    domain: str
    declared: Sequence[Input] | None
    by_alias: dict[str, InputPlan] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for index, item in enumerate(self.declared or ()):
            dataset = self._key(item.dataset, ("inputs", index))
            alias = item.alias or item.dataset.split("/")[-1]
            if alias in self.by_alias:
                raise self.origin.error(
                    ("inputs", index),
                    f"two inputs are named {alias!r}",
                    "Give one of them another name with `as`.",
                )
            self.by_alias[alias] = InputPlan(
                dataset=dataset,
                alias=alias,
                version_tag=item.version,
                as_of=self._moment(index, item.as_of),
                mapping=partition_mapping(item.partitions),
                is_own=item.dataset == SELF,
                place=(
                    self.origin.file,
                    self.origin.line_of(("inputs", index)),
                    self.origin.name(("inputs", index)),
                ),
            )

    def alias_of(self, use: Use, field: str | None) -> str:
        """Return the alias of the input with this name."""
        key = self._key(use.name, ("inputs",))
        alias = use.name if use.name in self.by_alias else None
        alias = alias or next((plan.alias for plan in self.by_alias.values() if plan.dataset == key), None)
        if alias is None and self.declared is not None:
            raise DeclarationError(
                use.file,
                use.line,
                field,
                f"{use.name.replace('/', '.')!r} is used and not among the inputs",
                f"Add {key} to `inputs` ({self.origin.file.name}:{self.origin.line_of(('inputs',))}), or omit"
                " `inputs` to read them from the code.",
            )
        if alias is None:
            if key.count("/") != 1:
                raise DeclarationError(
                    use.file,
                    use.line,
                    field,
                    f"{use.name.replace('/', '.')!r} is not a dataset",
                    "Write domain.name, or only name within its own domain.",
                )
            alias = key.split("/")[1] if key.split("/")[1] not in self.by_alias else key.replace("/", "_")
            place = (use.file, use.line, field)
            if use.name == SELF:
                alias = SELF
            self.by_alias[alias] = InputPlan(dataset=key, alias=alias, is_own=use.name == SELF, place=place)
        self.used.add(alias)
        return alias

    def use_all(self) -> None:
        """Mark all inputs as used, for a function with **kwargs."""
        self.used.update(self.by_alias)

    def dataset_of(self, alias: str) -> str:
        """Return the dataset of an alias."""
        return self.by_alias[alias].dataset

    def plans(self) -> tuple[InputPlan, ...]:
        """Return the inputs. Raises DeclarationError for one that is declared but not used."""
        for index, plan in enumerate(self.by_alias.values()):
            if plan.alias not in self.used:
                raise self.origin.error(
                    ("inputs", index),
                    f"{plan.alias!r} is declared but not used",
                    "Remove it, or use it in the code.",
                )
        return tuple(self.by_alias.values())

    def _key(self, name: str, field: FieldPath) -> str:
        """Return the key of the dataset with this name."""
        if name != SELF:
            return name if "/" in name else f"{self.domain}/{name}"
        if self.own is None:
            raise self.origin.error(
                field, "`self` is one dataset, and a process has several outputs", "Declare it as a Dataset."
            )
        return self.own

    def _moment(self, index: int, text: str | None) -> datetime | None:
        if text is None:
            return None
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as error:
            raise self.origin.error(
                ("inputs", index, "as_of"), f"{text!r} is not a time", "Write it as 2026-11-28T04:00:00Z."
            ) from error
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _code(origin: Origin, piece: Piece, frames: Mapping[str, str]) -> Code:
    if piece.query is not None:
        return SqlCode(piece.query, frames)
    if callable(piece.function):
        return FunctionCode(piece.function, piece.file, piece.line, piece.several)
    return PythonCode(piece.file, origin.root, piece.function or "", piece.line, piece.several)


def sql_source(origin: Origin, field: FieldPath, sql: str) -> SourceText:
    """Return the SQL in a field, or in the file that it names. Raises DeclarationError."""
    if not sql.endswith(".sql") or any(character.isspace() for character in sql):
        return origin.text(field, sql)
    file = origin.folder / sql
    try:
        return SourceText(file.read_text(encoding="utf-8"), file)
    except (OSError, UnicodeDecodeError) as error:
        raise origin.error(
            field, f"the file {sql} cannot be read next to {origin.file.name}", str(error)
        ) from error


def _from_transform(field: str | None, error: TransformError) -> DeclarationError:
    return DeclarationError(error.file, error.line, field, error.detail, error.hint)


def digest(*parts: object) -> str:
    """Digest the parts' texts to 16 hex digits of sha256: short enough to read out, long enough for a code version."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]
