"""Bytes to text: byte order marks, UTF-16, Windows-1252, mixtures of them, and every line end."""

from typing import Any

import pytest

from headrace.autosys.jil import read

UNIX = "insert_job: A\nmachine: m\ndescription: café \u2013 naïve\n"


@pytest.mark.parametrize(
    "data",
    [
        UNIX.encode(),
        b"\xef\xbb\xbf" + UNIX.encode(),
        UNIX.encode("utf-16"),
        UNIX.encode("utf-16-le"),
        UNIX.encode("utf-16-be"),
        b"\xff\xfe" + UNIX.encode("utf-16-le"),
        b"\xfe\xff" + UNIX.encode("utf-16-be"),
        UNIX.encode("utf-32"),
        UNIX.encode("cp1252"),
        UNIX.replace("\n", "\r\n").encode(),
        UNIX.replace("\n", "\r").encode(),
        UNIX.replace("\n", "\r\n", 1).encode(),
        UNIX.encode() + b"\x1a",
    ],
)
def test_every_encoding_and_line_end_gives_the_same_statements(data: Any) -> None:
    [statement] = read(data, "f.jil").statements
    assert [(each.name, each.value) for each in statement.attributes] == [
        ("machine", "m"),
        ("description", "café \u2013 naïve"),
    ]


@pytest.mark.parametrize("wide", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_utf16_appended_to_other_text_is_read(wide: Any, mark: Any) -> None:
    data = (
        b"insert_job: A\n"
        + (mark + "insert_job: B\r\nmachine: m\r\n").encode(wide)
        + b"insert_job: C\nowner: o\n"
    )
    jil = read(data, "f.jil")
    assert [each.name for each in jil.statements] == ["A", "B", "C"]
    assert [each.line for each in jil.statements] == [1, 2, 4]
    assert jil.findings == ()


def test_lines_that_are_not_utf8_are_decoded_and_reported() -> None:
    data = "insert_job: A\ndescription: é\n".encode() + "insert_job: B\ndescription: \x91é\n".encode(
        "latin-1"
    )
    jil = read(data, "f.jil")
    assert [each.get("description") for each in jil.statements] == ["é", "\u2018é"]
    [finding] = jil.findings
    assert (finding.rule, finding.line) == ("jil/encoding", 4)


def test_invalid_utf16_is_replaced_and_reported() -> None:
    jil = read(b"\xff\xfe" + "insert_job: A\n".encode("utf-16-le") + b"\x00\xd8", "f.jil")
    assert [each.name for each in jil.statements] == ["A"]
    assert ("jil/encoding", 2) in [(each.rule, each.line) for each in jil.findings]
