import zipfile
from datetime import date
from pathlib import Path

import pytest

from jobs.landing import YEAR, FeedMissing, land

HEADER = b"year,month,day,dep_time\n"


@pytest.fixture
def feed(tmp_path: Path) -> Path:
    """A feed of three flights, whose days are not in order."""
    folder = tmp_path / "feed"
    folder.mkdir()
    with zipfile.ZipFile(folder / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", HEADER + b"2013,1,2,NA\n2013,11,2,700\n2013,1,2,800\n")
    for name in ("airlines", "airports", "planes", "weather"):
        (folder / f"{name}.csv").write_bytes(name.encode())
    return folder


def test_one_file_a_day_and_the_reference_files(feed: Path, tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    delivery = land(landing, days=[date(2013, 1, 2), date(2013, 11, 2), date(2013, 1, 3)], feed=feed)
    assert sorted(path.name for path in delivery.written) == sorted(path.name for path in landing.iterdir())
    assert (landing / "flights_2013-01-02.csv").read_bytes() == HEADER + b"2013,1,2,NA\n2013,1,2,800\n"
    assert (landing / "flights_2013-11-02.csv").read_bytes() == HEADER + b"2013,11,2,700\n"
    assert (landing / "flights_2013-01-03.csv").read_bytes() == HEADER
    assert (landing / "weather.csv").read_bytes() == b"weather"


def test_what_is_there_stays_as_it_is(feed: Path, tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    land(landing, days=[date(2013, 1, 2)], feed=feed)
    (landing / "airlines.csv").write_bytes(b"corrected by hand")
    delivery = land(landing, days=[date(2013, 1, 2), date(2013, 11, 2)], feed=feed)
    assert [path.name for path in delivery.written] == ["flights_2013-11-02.csv"]
    assert delivery.present == 5
    assert (landing / "airlines.csv").read_bytes() == b"corrected by hand"


def test_a_feed_without_a_file_says_which(feed: Path, tmp_path: Path) -> None:
    (feed / "planes.csv").unlink()
    with pytest.raises(FeedMissing, match=r"planes\.csv"):
        land(tmp_path / "landing", days=[], feed=feed)


def test_the_year(tmp_path: Path) -> None:
    land(tmp_path)
    files = [tmp_path / f"flights_{day.isoformat()}.csv" for day in YEAR]
    headers, bodies = zip(*(file.read_bytes().split(b"\n", 1) for file in files), strict=True)
    assert len(set(headers)) == 1
    assert b"".join(bodies).count(b"\n") == 336_776
    for day, body in zip(YEAR, bodies, strict=True):
        prefix = f"{day.year},{day.month},{day.day},".encode()
        assert all(line.startswith(prefix) for line in body.splitlines())
