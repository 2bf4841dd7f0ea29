"""A released revision is never changed: catalogs that have it would not get the change."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from headrace.database import migrations

VERSIONS = Path(migrations.__file__).with_name("versions")
RELEASED = Path(__file__).with_name("released_revisions.txt")


def listed(text: str) -> dict[str, str]:
    """Return the digest by path of a list as `sha256sum` writes it."""
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    return {path: digest for digest, path in lines}


def changed(versions: Path, released: Mapping[str, str]) -> list[str]:
    """Return a message for each released file that differs, and for each file added to a released revision."""
    folders = {path.split("/")[0] for path in released if "/" in path}
    present = {
        path.relative_to(versions).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(versions.rglob("*"))
        if path.suffix in {".py", ".sql"}
    }
    different = {path for path, digest in released.items() if present.get(path) != digest}
    added = {path for path in present if path.split("/")[0] in folders and path not in released}
    return [
        f"{path} belongs to a released revision and differs from it. Restore it, and add a new revision instead: "
        "catalogs that have this revision do not run it again."
        for path in sorted(different | added)
    ]


def test_released_revisions_are_as_they_were_released() -> None:
    assert changed(VERSIONS, listed(RELEASED.read_text("utf-8"))) == []


def test_a_changed_a_missing_and_an_added_file_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "0001_catalog"
    folder.mkdir()
    files = {
        "0001_catalog.py": "revision = '0001'",
        "0001_catalog/runs.sql": "SELECT 1;",
        "0001_catalog/slas.sql": "",
    }
    for path, text in files.items():
        (tmp_path / path).write_text(text)
    released = listed(
        "# a comment\n"
        + "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {path}\n" for path, text in files.items())
    )
    assert changed(tmp_path, released) == []

    (tmp_path / "0002_more.py").write_text("revision = '0002'")
    assert changed(tmp_path, released) == []

    (folder / "runs.sql").write_text("SELECT 2;")
    (folder / "slas.sql").unlink()
    (folder / "late.sql").write_text("SELECT 3;")
    found = changed(tmp_path, released)
    assert [message.split()[0] for message in found] == [
        "0001_catalog/late.sql",
        "0001_catalog/runs.sql",
        "0001_catalog/slas.sql",
    ]
    assert all("add a new revision instead" in message for message in found)
