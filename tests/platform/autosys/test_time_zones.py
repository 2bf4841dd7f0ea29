"""The names of time zones that Autosys has."""

from pathlib import Path

import pytest

from headrace.autosys.time_zones import zone_named
from headrace.settings import settings


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Europe/London", "Europe/London"),
        ("europe/london", "Europe/London"),
        ("London", "Europe/London"),
        ("Chicago", "America/Chicago"),
        ("ZURICH", "Europe/Zurich"),
        ("Tokyo", "Asia/Tokyo"),
        ("SaoPaulo", "America/Sao_Paulo"),
        ("NewYork", "America/New_York"),
        ("Brasilia", "America/Sao_Paulo"),
        ("Indianapolis", "America/Indianapolis"),
        ("EST5EDT", "EST5EDT"),
        ("US/Eastern", "US/Eastern"),
    ],
)
def test_zones_and_cities(name: str, zone: str) -> None:
    assert zone_named(name).key == zone


@pytest.mark.parametrize("name", ["Nowhere", "Eastern", "../passwd", ""])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not in the zone database"):
        zone_named(name)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site's file."""
    file = tmp_path / "zones.txt"
    monkeypatch.setenv("HEADRACE_AUTOSYS_TIMEZONES", str(file))
    settings.cache_clear()
    return file


def test_the_names_of_a_site_count_first(own: Path) -> None:
    own.write_text(
        "# our offices\nPune Asia/Kolkata\n\nHQ = Europe/Zurich # head office\nLondon America/Toronto\n"
    )
    assert [zone_named(name).key for name in ("Pune", "hq", "London", "Tokyo")] == [
        "Asia/Kolkata", "Europe/Zurich", "America/Toronto", "Asia/Tokyo",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Pune\n", r"zones\.txt:1: 'Pune' is not a name and a zone"),
        ("\nPune Asia/Nowhere\n", r"zones\.txt:2: 'Asia/Nowhere' is not in the zone database"),
        (None, r"zones\.txt cannot be read: No such file or directory \(setting autosys_timezones\)"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(own: Path, text: str | None, message: str) -> None:
    if text is not None:
        own.write_text(text)
    with pytest.raises(ValueError, match=message):
        zone_named("Pune")
