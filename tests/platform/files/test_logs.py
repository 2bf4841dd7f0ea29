"""Logs are read from the folders that the settings name, and from nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.files.logs import MAX_LOG_BYTES, log_end


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "logs"
    made.mkdir()
    return made


def test_a_short_log_is_whole(folder: Path) -> None:
    log = folder / "load.out"
    log.write_text("CAUAJM_I_1 started\nSQL0964C the log is full\n")

    found = log_end(str(log), [folder])

    assert found.text == "CAUAJM_I_1 started\nSQL0964C the log is full\n"
    assert found.complete
    assert found.size == log.stat().st_size
    assert found.problem is None
    assert log_end(log.as_uri(), [folder]).text == found.text


def test_of_a_long_log_the_last_whole_lines_are_shown(folder: Path) -> None:
    log = folder / "load.out"
    log.write_text("".join(f"line {number}\n" for number in range(50_000)))

    found = log_end(str(log), [folder])

    assert found.text is not None
    assert found.text.endswith("line 49999\n")
    assert MAX_LOG_BYTES - 20 < len(found.text) <= MAX_LOG_BYTES
    assert all(line.startswith("line ") for line in found.text.splitlines())
    assert not found.complete


def test_bytes_of_another_encoding_are_replaced_and_secrets_are_hidden(folder: Path) -> None:
    log = folder / "load.out"
    log.write_bytes(b"gr\xfc\xdfe\npassword=geheim123\n")

    text = log_end(str(log), [folder]).text

    assert text is not None
    assert text.startswith("gr\ufffd\ufffde\n")
    assert "geheim123" not in text


@pytest.mark.parametrize(
    "location", ["{folder}/../secret", "{folder}/link", "{other}", "secret", "{folder}\0", "http://[x"]
)
def test_files_elsewhere_are_never_read(folder: Path, tmp_path: Path, location: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("classified")
    (folder / "link").symlink_to(secret)

    found = log_end(location.format(folder=folder, other=secret), [folder])

    assert found.text is None
    assert found.problem


@pytest.mark.parametrize("location", ["s3://bucket/load.out", "sftp://host/load.out", "file://host/load.out"])
def test_logs_of_other_machines_are_not_read(folder: Path, location: str) -> None:
    found = log_end(location, [folder])
    assert found.text is None
    assert found.problem == "The log is not in a folder that this service can read."


def test_of_a_folder_the_file_written_last_is_shown(folder: Path) -> None:
    logs = folder / "compute_logs"
    logs.mkdir()
    for name, text, at in (("step.out", "old", 1), ("step.err", "new", 3), ("step.complete", "", 5)):
        (logs / name).write_text(text)
        os.utime(logs / name, (at, at))
    (logs / "link").symlink_to(folder.parent)

    assert log_end(str(logs), [folder]).text == "new"


def test_a_problem_says_what_to_do(folder: Path) -> None:
    assert log_end(None, [folder]).problem == "No log was reported."
    assert "log_folders" in str(log_end("/var/log/load.out", []).problem)
    (folder / "empty").mkdir()
    assert "Is a directory" in str(log_end(f"{folder}/empty", [folder]).problem)
    assert "No such file" in str(log_end(f"{folder}/gone", [folder]).problem)
    os.mkfifo(folder / "pipe")
    assert log_end(f"{folder}/pipe", [folder]).problem == "The log is not a file."
