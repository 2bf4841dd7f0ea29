"""The time zones that Autosys names: those of the zone database, its cities, and the names of one site."""

from datetime import datetime
from functools import cache
from pathlib import Path
from re import compile as pattern
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from headrace.context import current_context

# The scheduler's own entries that are no city of the zone database.
_OTHER_CITIES = {"brasilia": "America/Sao_Paulo", "riodejaneiro": "America/Sao_Paulo"}
_NO_CITIES = ("Etc/", "US/", "Canada/", "Mexico/", "Brazil/", "Chile/", "SystemV/", "posix/", "right/")
_ENTRY = pattern(r"([^\s=,#]+)\s*[=,\s]\s*([^\s=,#]+)")
_SEASONS = (datetime(2026, 1, 1), datetime(2026, 7, 1))  # noqa: DTZ001 - the offsets of several zones are compared


def zone_named(name: str) -> ZoneInfo:
    """Return the zone of a `timezone` attribute, in any case. Raises ValueError for an unknown one.

    The file of the setting `autosys_timezones` counts before the zone database, and its names before the cities, whose
    names Autosys writes without blanks (`SaoPaulo`).
    """
    word = _word(name)
    own = _own_zones(current_context().settings.autosys_timezones)
    for known in (own.get(word), _zones().get(name.lower()), _cities().get(word)):
        if known is not None:
            return ZoneInfo(known)
    raise ValueError(f"time zone {name!r} is not in the zone database")


def _word(name: str) -> str:
    return name.lower().replace("_", "").replace(" ", "")


@cache
def _zones() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones()}


@cache
def _cities() -> dict[str, str]:
    """Return the zone of each city that is in one zone alone, whatever its region is called."""
    found: dict[str, list[str]] = {}
    for zone in available_timezones():
        if "/" in zone and not zone.startswith(_NO_CITIES):
            found.setdefault(_word(zone.rpartition("/")[2]), []).append(zone)
    clear = {
        city: min(zones, key=lambda zone: (zone.count("/"), zone))
        for city, zones in found.items()
        if len({tuple(map(ZoneInfo(zone).utcoffset, _SEASONS)) for zone in zones}) == 1
    }
    return clear | _OTHER_CITIES


@cache
def _own_zones(file: Path | None) -> dict[str, str]:
    """Return the names in a site's file. Raises ValueError with file and line for an invalid one."""
    if file is None:
        return {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror} (setting autosys_timezones)") from error
    zones: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        found = _ENTRY.fullmatch(text)
        if found is None:
            raise ValueError(
                f"{file}:{number}: {text!r} is not a name and a zone, such as `Pune Asia/Kolkata`"
            )
        try:
            zones[_word(found[1])] = ZoneInfo(found[2]).key
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"{file}:{number}: {found[2]!r} is not in the zone database") from None
    return zones
