"""An estate from JIL text, for tests."""

from typing import Any

from headrace.autosys.calendars import Calendars
from headrace.autosys.estate import Estate, resolve
from headrace.autosys.jil import scan


def estate(*texts: str, calendars: Calendars | None = None) -> Estate:
    return resolve([scan(text, f"{number}.jil") for number, text in enumerate(texts, 1)], calendars)


def rules(found: Any) -> Any:
    return sorted(each.rule for each in found)
