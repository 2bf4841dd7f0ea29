"""The language of job conditions, parsed to a tree and written back.

AND and OR have equal precedence and are evaluated from left to right, so `s(a) | s(b) & s(c)` is `(s(a) | s(b)) &
s(c)`; parentheses group. There is no NOT. In the tree a chain of the same operator is one node, so equal conditions of
that sort are equal trees.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class RequiredStatus(StrEnum):
    """Status required by an atom; the values are the short forms."""

    SUCCESS = "s"
    FAILURE = "f"
    DONE = "d"
    TERMINATED = "t"
    NOT_RUNNING = "n"


@dataclass(frozen=True, slots=True)
class Lookback:
    """Maximum age of the status: `minutes` before now; 0 requires an end after the dependent's own last end.

    None: unlimited (written 9999).
    """

    minutes: int | None

    def __str__(self) -> str:
        if self.minutes is None:
            return "9999"
        hours, minutes = divmod(self.minutes, 60)
        return f"{hours:02d}.{minutes:02d}" if self.minutes else "0"


@dataclass(frozen=True, slots=True)
class JobIs:
    """`s(job)` and the like. instance: the scheduler of the job (`s(job^PRD)`); None: this one."""

    wanted: RequiredStatus
    job: str
    instance: str | None = None
    lookback: Lookback | None = None


@dataclass(frozen=True, slots=True)
class ExitIs:
    """`e(job) <operator> code`."""

    job: str
    operator: str
    code: int
    instance: str | None = None
    lookback: Lookback | None = None


@dataclass(frozen=True, slots=True)
class GlobalIs:
    """`v(NAME) <operator> "value"`."""

    name: str
    operator: str
    value: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """AND; none of the parts is itself an AllOf."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """OR; none of the parts is itself an AnyOf."""

    parts: tuple["Condition", ...]


Atom = JobIs | ExitIs | GlobalIs
Condition = Atom | AllOf | AnyOf


class ConditionError(ValueError):
    """A text that is not a condition: the problem, and the position of the character (from 0)."""

    def __init__(self, message: str, text: str, position: int) -> None:
        excerpt = text[max(0, position - 20) : position + 30].replace("\n", " ")
        super().__init__(f"{message}, at character {position + 1}: ...{excerpt}")
        self.position = position


_TESTS = {
    **{wanted.value: wanted for wanted in RequiredStatus},
    **{wanted.name.lower().replace("_", ""): wanted for wanted in RequiredStatus},
}
_MAX_DEPTH = (
    200  # levels of parentheses and AND/OR alternation; more is unrealistic, and the traversal is recursive
)
_MAX_LOOKBACK = 9998 * 60 + 59

_ATOM = re.compile(
    r"""\s*(?:(not\s*running)|([A-Za-z]+))\s*\(\s*([^\s(),^|&"]+)\s*(?:\^\s*(\w+)\s*)?(?:,\s*([^\s()]+)\s*)?\)""",
    re.IGNORECASE,
)
_NEXT_ATOM = re.compile(
    rf"""\"[^\"]*\"|(?<!\w)(?P<atom>{_ATOM.pattern})""", re.IGNORECASE
)  # not within quotes
_COMPARISON = re.compile(r"""\s*(!=|<=|>=|=|<|>)\s*("[^"]*"|[^\s()&|"]+)""")
_OPERATOR = re.compile(r"\s*(?:(&&?|and\b)|(\|\|?|or\b))", re.IGNORECASE)
_BLANK = re.compile(r"\s*")
_LOOKBACK = re.compile(r"(\d{1,4})(?:\\?[.:](\d\d))?")


def parse(text: str) -> Condition:
    """Parse a condition in long or short form, in any case. Raises ConditionError."""
    left: Condition | None = None
    conjunction: bool | None = None  # True for AND, False for OR, None before the first atom
    waiting: list[tuple[Condition | None, bool | None]] = []
    turns = 0
    position = _blank(text, 0)
    while True:
        if len(waiting) + turns > _MAX_DEPTH:
            raise ConditionError(
                f"more than {_MAX_DEPTH} levels of AND and OR within one another", text, position
            )
        if text.startswith("(", position):
            waiting.append((left, conjunction))
            left, conjunction = None, None
            position = _blank(text, position + 1)
            continue
        atom, position = _atom(text, position)
        left = _joined(left, conjunction, atom)
        position = _blank(text, position)
        while waiting and text.startswith(")", position):
            outer, conjunction = waiting.pop()
            left = _joined(outer, conjunction, left)
            position = _blank(text, position + 1)
        if position == len(text):
            if waiting:
                raise ConditionError("a parenthesis is not closed", text, position)
            return left
        operator = _OPERATOR.match(text, position)
        if operator is None:
            raise ConditionError("expected AND (&) or OR (|)", text, position)
        turns += conjunction is not None and conjunction != (operator[1] is not None)
        conjunction = operator[1] is not None
        position = _blank(text, operator.end())


def unparse(condition: Condition) -> str:
    """Format the condition in the short form (`s(a) & s(b)`) that parses to an equal tree."""
    match condition:
        case AllOf(parts) | AnyOf(parts):
            word = "&" if isinstance(condition, AllOf) else "|"
            return f" {word} ".join(
                f"({unparse(part)})" if isinstance(part, AllOf | AnyOf) else unparse(part) for part in parts
            )
        case GlobalIs(name, operator, value):
            return f'v({name}) {operator} "{value}"'
        case ExitIs(job, operator, code, instance, lookback):
            return f"{_call('e', job, instance, lookback)} {operator} {code}"
        case JobIs(wanted, job, instance, lookback):
            return _call(wanted.value, job, instance, lookback)


def atoms(condition: Condition) -> Iterator[Atom]:
    """Yield every atom of a condition, from left to right."""
    match condition:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from atoms(part)
        case _:
            yield condition


def readable_atoms(text: str) -> Iterator[Atom]:
    """Yield the atoms of a text that is not a condition as a whole, except for negated ones."""
    position = 0
    while found := _NEXT_ATOM.search(text, position):
        position = found.end()
        if not found["atom"] or text[: found.start()].rstrip().endswith("!"):
            continue
        try:
            atom, position = _atom(text, found.start("atom"))
        except ConditionError:
            continue
        yield atom


def _call(word: str, job: str, instance: str | None, lookback: Lookback | None) -> str:
    return f"{word}({job}{f'^{instance}' if instance else ''}{f', {lookback}' if lookback else ''})"


def _joined(left: Condition | None, conjunction: bool | None, right: Condition) -> Condition:
    if left is None or conjunction is None:
        return right
    kind = AllOf if conjunction else AnyOf
    parts = (left.parts if isinstance(left, kind) else (left,)) + (
        right.parts if isinstance(right, kind) else (right,)
    )
    return kind(parts)


def _blank(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _atom(text: str, position: int) -> tuple[Atom, int]:
    found = _ATOM.match(text, position)
    if found is None:
        if text.startswith("!", position):
            raise ConditionError("there is no NOT in conditions", text, position)
        if position == len(text):
            raise ConditionError("the condition ends where something is still expected", text, position)
        raise ConditionError("expected a test such as success(job) or v(GLOBAL) = value", text, position)
    word = "notrunning" if found[1] else found[2].lower()
    job, instance, end = found[3], found[4], found.end()
    lookback = _lookback(found[5], text, found.start(5)) if found[5] is not None else None
    if word in _TESTS:
        return JobIs(_TESTS[word], job, instance, lookback), end
    if word not in ("e", "exitcode", "v", "value"):
        raise ConditionError(
            f"{word}() is not a test; the tests are s, f, d, t, n, e and v", text, found.start(2)
        )
    comparison = _COMPARISON.match(text, end)
    if comparison is None:
        raise ConditionError(f"{word}({job}) needs a comparison, such as `= 0`", text, end)
    value = comparison[2].strip('"')
    if word in ("v", "value"):
        if lookback or instance:
            raise ConditionError("a global variable has neither lookback nor instance", text, found.start(2))
        return GlobalIs(job, comparison[1], value), comparison.end()
    try:
        code = int(value)
    except ValueError:
        raise ConditionError(
            f"an exit code is a whole number, not {value!r}", text, comparison.start(2)
        ) from None
    return ExitIs(job, comparison[1], code, instance, lookback), comparison.end()


def _lookback(written: str, text: str, position: int) -> Lookback:
    found = _LOOKBACK.fullmatch(written)
    if found is None or int(found[2] or 0) > 59:
        raise ConditionError(
            f"{written!r} is not a lookback: write hours, or hours.minutes with two digits", text, position
        )
    hours, minutes = int(found[1]), int(found[2] or 0)
    if hours == 9999 and not minutes:
        return Lookback(None)
    if hours * 60 + minutes > _MAX_LOOKBACK:
        raise ConditionError("a lookback is at most 9998.59; 9999 means unlimited", text, position)
    return Lookback(hours * 60 + minutes)
