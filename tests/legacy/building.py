"""An estate from JIL text, for tests."""

from legacy.calendars import Calendars
from legacy.estate import Estate, resolve
from legacy.jil import scan


def estate(*texts: str, calendars: Calendars | None = None) -> Estate:
    return resolve([scan(text, f"{number}.jil") for number, text in enumerate(texts, 1)], calendars)


def rules(found):
    return sorted(each.rule for each in found)
