"""The dates of extended calendars, for rules with a certain meaning.

Supported: the everyday, weekday, week-of-month, day-of-month, named-month, workday and cycle keywords with AND, OR, NOT
and grouping; the actions O, S, W and P for days that are holidays or not workdays, and N for holidays; a date
adjustment if no action moves dates. Everything else is refused with the reason, since a guessed date is worse than
none.
"""

import calendar as gregorian
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta

from headrace.autosys.calendars import Calendar, Cycle, ExtendedCalendar, Standard
from headrace.context import current_context

_DAY_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TWO_LETTERS = {name[:2]: number for number, name in enumerate(_DAY_NAMES)}
_DAY, _MONTH = "|".join(_DAY_NAMES), "|".join(_MONTH_NAMES)
_TOKEN = re.compile(
    r"\s*(?:([({])|([)}])|(&|and\b)|(\||or\b)|(not\b)|([a-z]+(?:#[a-z0-9]+|\d+)?))", re.IGNORECASE
)
_NTH = re.compile(
    rf"(?P<not>x)?(?P<base>{_DAY}|{_MONTH}|mnthd|workd|weekd|cycl|cweek|c(?:{_DAY}))(?:#(?P<nth>\d+|l)|(?P<way>[mx])(?P<back>\d+))?"
)
_FIXED = {
    "fom": ("mnthd#1", False),
    "eom": ("mnthdm1", False),
    "xfom": ("mnthd#1", True),
    "xeom": ("mnthdm1", True),
    "fomwork": ("workd#1", False),
    "eomwork": ("workdm1", False),
    "xfomwork": ("workd#1", True),
    "xeomwork": ("workdm1", True),
}
_MAX_SEARCH_DAYS = 366  # days that a W or P action searches for a workday

Rule = Callable[[date], bool]


class UncertainError(ValueError):
    """The dates of this calendar cannot be computed; the message names the field and the reason."""


def dates_of(
    calendar: ExtendedCalendar,
    first: date,
    last: date,
    calendars: Mapping[str, Calendar],
    cycles: Mapping[str, Cycle],
) -> frozenset[date]:
    """Return the dates from `first` to `last`, inclusive. Raises UncertainError."""
    workdays = _workdays(calendar)
    holidays = _holidays(calendar, calendars)
    rule = _rule(calendar, workdays, holidays, cycles)
    on_holiday = _action(calendar, "holiday", "OSNWP")
    on_free_day = _action(calendar, "non_workday", "OSWP")
    if holidays and not on_holiday:
        raise UncertainError("holiday: empty, while holcal names holidays; their effect is not documented")
    adjust = _adjust(calendar)
    if adjust and {on_holiday, on_free_day} & {"N", "W", "P"}:
        raise UncertainError(
            "adjust: together with an action that moves dates; their order is not documented"
        )

    def target(day: date) -> date | None:
        if day in holidays:
            return _moved(day, on_holiday, workdays, holidays)
        if on_holiday == "O":
            return None
        if day.weekday() not in workdays:
            return _moved(day, on_free_day, workdays, holidays)
        return None if on_free_day == "O" else day

    margin = timedelta(days=_MAX_SEARCH_DAYS)
    found: set[date] = set()
    day = first - margin
    while day <= last + margin:
        if rule(day) and (moved := target(day)) is not None:
            found.add(moved + timedelta(days=adjust))
        day += timedelta(days=1)
    return frozenset(day for day in found if first <= day <= last)


def _moved(day: date, action: str, workdays: frozenset[int], holidays: Iterable[date]) -> date | None:
    if action in ("", "S", "O"):
        return day
    step = timedelta(days=-1 if action == "P" else 1)
    if action == "N":
        return day + step
    for _ in range(_MAX_SEARCH_DAYS):
        day += step
        if day.weekday() in workdays and day not in holidays:
            return day
    raise UncertainError(f"action {action} finds no workday within {_MAX_SEARCH_DAYS} days")


def _workdays(calendar: ExtendedCalendar) -> frozenset[int]:
    written = calendar.get("workday").lower()
    if not written:
        return frozenset(range(5))
    if re.fullmatch(r"[x.]{7}", written):
        return frozenset(number for number, mark in enumerate(written) if mark == "x")
    if written == "all":
        return frozenset(range(7))
    names = [name.strip() for name in written.split(",")]
    if not all(name in _TWO_LETTERS for name in names):
        raise UncertainError(f"workday: {written!r} is not a list of mo,tu,we,th,fr,sa,su")
    return frozenset(_TWO_LETTERS[name] for name in names)


def _holidays(calendar: ExtendedCalendar, calendars: Mapping[str, Calendar]) -> frozenset[date]:
    name = calendar.get("holcal")
    if not name:
        return frozenset()
    holidays = calendars.get(name)
    if not isinstance(holidays, Standard):
        raise UncertainError(f"holcal: no standard calendar {name} is known")
    return frozenset(holidays.days)


def _action(calendar: ExtendedCalendar, field: str, known: str) -> str:
    action = calendar.get(field).upper()
    if action and action not in known:
        raise UncertainError(f"{field}: the meaning of action {action!r} is not certain")
    return action


def _adjust(calendar: ExtendedCalendar) -> int:
    try:
        return int(calendar.get("adjust") or "0")
    except ValueError:
        raise UncertainError(f"adjust: {calendar.get('adjust')!r} is not a number of days") from None


def _rule(
    calendar: ExtendedCalendar,
    workdays: frozenset[int],
    holidays: frozenset[date],
    cycles: Mapping[str, Cycle],
) -> Rule:
    conditions = [each for each in calendar.fields.get("condition", ()) if each.strip()]
    if not conditions:
        return lambda day: True
    if len(conditions) > 1 or "," in conditions[0]:
        raise UncertainError("condition: several rules; how they combine is not documented")
    periods: tuple[tuple[date, date], ...] = ()
    if calendar.get("cyccal"):
        cycle = cycles.get(calendar.get("cyccal"))
        if cycle is None:
            raise UncertainError(f"cyccal: no cycle {calendar.get('cyccal')} is known")
        periods = cycle.periods
    return _Expression(conditions[0], _Keywords(workdays, holidays, periods)).read()


class _Expression:
    """A condition of an extended calendar, evaluated from left to right; AND and OR may not be mixed without
    grouping."""

    def __init__(self, text: str, keywords: "_Keywords") -> None:
        self.tokens = self._tokens(text)
        self.keywords = keywords
        self.text = text

    def read(self) -> Rule:
        rule = self._group()
        if self.tokens:
            raise UncertainError(f"condition: {self.text!r} has one parenthesis too many")
        return rule

    def _tokens(self, text: str) -> list[tuple[str, str]]:
        tokens, position = [], 0
        text = text.rstrip()
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                raise UncertainError(f"condition: cannot read {text[position:]!r}")
            kind = ("open", "close", "and", "or", "not", "word")[(found.lastindex or 0) - 1]
            tokens.append((kind, found[found.lastindex or 0].lower()))
            position = found.end()
        return tokens

    def _group(self) -> Rule:
        rules = [self._term()]
        joint = None
        while self.tokens and self.tokens[0][0] in ("and", "or"):
            kind, _ = self.tokens.pop(0)
            if joint not in (None, kind):
                raise UncertainError(
                    "condition: AND and OR without grouping; which binds first is not documented"
                )
            joint = kind
            rules.append(self._term())
        if len(rules) == 1:
            return rules[0]
        return (
            (lambda day: all(rule(day) for rule in rules))
            if joint == "and"
            else (lambda day: any(rule(day) for rule in rules))
        )

    def _term(self) -> Rule:
        kind, word = self.tokens.pop(0) if self.tokens else ("end", "")
        if kind == "not":
            inner = self._term()
            return lambda day: not inner(day)
        if kind == "open":
            rule = self._group()
            if not self.tokens or self.tokens.pop(0)[0] != "close":
                raise UncertainError(f"condition: a parenthesis is not closed in {self.text!r}")
            return rule
        if kind == "word":
            return self.keywords.rule(word)
        raise UncertainError(f"condition: something is missing in {self.text!r}")


class _Keywords:
    """The meaning of the keywords with one calendar's workdays, holidays and cycle."""

    def __init__(
        self, workdays: frozenset[int], holidays: frozenset[date], periods: tuple[tuple[date, date], ...]
    ) -> None:
        self.workdays, self.holidays, self.periods = workdays, holidays, periods

    def rule(self, word: str) -> Rule:
        if word == "daily":
            return lambda day: True
        if word == "weekdays":
            return lambda day: day.weekday() < 5 and day not in self.holidays
        if word == "workdays":
            return lambda day: day.weekday() in self.workdays
        if word == "cycle":
            return lambda day: self._period(day) is not None
        word, negative = _FIXED.get(word, (word, False))
        found = _NTH.fullmatch(word)
        if found is None:
            raise UncertainError(f"condition: {word} is not a supported keyword")
        inside = self._nth(found["base"], found["nth"], found["way"], found["back"], word)
        excluded = negative or found["not"] or found["way"] == "x"
        if excluded and found["base"] not in ("mnthd", "workd", *_DAY_NAMES):
            raise UncertainError(
                f"condition: {word}; it is not documented whether it includes days outside its period"
            )
        return (lambda day: not inside(day)) if excluded else inside

    def _nth(self, base: str, nth: str | None, way: str | None, back: str | None, word: str) -> Rule:
        if nth is None and way is None:
            if base in _DAY_NAMES:
                return lambda day: day.weekday() == _DAY_NAMES.index(base)
            if base in _MONTH_NAMES:
                return lambda day: day.month == _MONTH_NAMES.index(base) + 1
            raise UncertainError(f"condition: {word} needs a number")
        number = 1 if nth == "l" else int(nth or back or 0)
        # `mnthdx05` excludes a day counted forward; `mon` + `x` does not exist, its exclusion is `xmon#1`.
        from_end = nth == "l" or way == "m"
        if (
            base == "workd"
            and self.holidays
            and current_context().settings.autosys_holidays_are_workdays is None
        ):
            raise UncertainError(
                f"condition: {word} with holidays; whether they count as workdays is not documented (setting"
                " autosys_holidays_are_workdays)"
            )
        if base == "workd" and way == "x":
            raise UncertainError(f"condition: {word} is documented in two ways")
        if base == "weekd" or (base in _DAY_NAMES and way == "x") or (base in _MONTH_NAMES and way == "x"):
            raise UncertainError(f"condition: {word} is not a supported keyword")
        return lambda day: (
            (days := self._set(base, day)) is not None and _is_nth(days, day, number, from_end, base)
        )

    def _set(self, base: str, day: date) -> list[date] | None:
        """Return the days among which the keyword counts: those of the month or period of `day`."""
        if base.startswith("c"):
            period = self._period(day)
            if period is None:
                return None
            days = _days(*period)
            return (
                [each for each in days if each.weekday() == _DAY_NAMES.index(base[1:])]
                if base[1:] in _DAY_NAMES
                else days
            )
        month = _days(day.replace(day=1), day.replace(day=gregorian.monthrange(day.year, day.month)[1]))
        if base == "workd":
            workdays = [each for each in month if each.weekday() in self.workdays]
            if current_context().settings.autosys_holidays_are_workdays:
                return workdays
            return [each for each in workdays if each not in self.holidays]
        if base in _DAY_NAMES:
            return [each for each in month if each.weekday() == _DAY_NAMES.index(base)]
        return month if base == "mnthd" or day.month == _MONTH_NAMES.index(base) + 1 else None

    def _period(self, day: date) -> tuple[date, date] | None:
        if not self.periods:
            raise UncertainError("condition: a cycle keyword without a cyccal")
        return next((period for period in self.periods if period[0] <= day <= period[1]), None)


def _is_nth(days: list[date], day: date, number: int, from_end: bool, base: str) -> bool:
    if base == "cweek":  # weeks of seven days from the first day of the period, the last one shorter
        weeks = [days[start : start + 7] for start in range(0, len(days), 7)]
        return number <= len(weeks) and day in weeks[-number if from_end else number - 1]
    return number <= len(days) and days[-number if from_end else number - 1] == day


def _days(first: date, last: date) -> list[date]:
    return [first + timedelta(days=offset) for offset in range((last - first).days + 1)]
