"""Decode bytes to text, whatever mix of encodings a file was written and appended in.

Byte order marks are respected; UTF-16 without one, and stretches of it appended to other text, are found by their zero
bytes; lines that are not UTF-8 are decoded one by one as Windows-1252. Lines end in CRLF, CR or LF, in any mixture.
"""

import codecs

from headrace.autosys.findings import Finding
from headrace.nouns import counted
from headrace.severity import Severity

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_END_OF_FILE = "\x1a"  # the end-of-file character of DOS editors
_MARK = "\ufeff"
_LITTLE, _BIG = "utf-16-le", "utf-16-be"
_WINDOWS, _WITH_GAPS = "as Windows-1252", "with replacements for what is not valid UTF-16"


def decode(data: bytes, file: str) -> tuple[str, tuple[Finding, ...]]:
    """Decode a file to text with LF line endings, with a finding if it was not in one consistent encoding."""
    findings: list[Finding] = []
    text = _marked(data)
    if text is None:
        if b"\x00" not in data:
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                text = _line_by_line(data, file, findings)
        else:
            text = _line_by_line(data, file, findings)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _MARK in text:  # files joined with `cat` keep the mark of each
        text = text.replace(_MARK, "")
    return text.rstrip(_END_OF_FILE), tuple(findings)


def _marked(data: bytes) -> str | None:
    """Decode a file that begins with a byte order mark and is consistent with it."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding)
            except UnicodeDecodeError:
                return None
    return None


def _line_by_line(data: bytes, file: str, findings: list[Finding]) -> str:
    """Decode lines of UTF-8, Windows-1252 and UTF-16 in any order.

    In UTF-16 a line feed has a zero byte before it (big-endian) or after it (little-endian), which splitting at line
    feeds leaves at the end of the line or at the beginning of the next.
    """
    wide: str | None = None
    texts: list[str] = []
    strange: dict[str, list[int]] = {}
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        rest = line.removeprefix(b"\x00") if wide == _LITTLE else line
        if rest.startswith(codecs.BOM_UTF16_LE):
            wide = _LITTLE
        elif rest.startswith(codecs.BOM_UTF16_BE):
            wide = _BIG
        elif b"\x00" not in rest:
            wide = wide if wide == _LITTLE and not rest else None
        elif wide is None:
            wide = _BIG if rest.startswith(b"\x00") else _LITTLE
        if wide == _BIG and number < len(lines):
            rest = rest.removesuffix(b"\x00")
        texts.append(_line(rest, wide, number, strange))
    for how, numbers in strange.items():
        findings.append(
            Finding(
                "jil/encoding",
                Severity.INFO if how == _WINDOWS else Severity.WARNING,
                f"{counted(len(numbers), 'line')} in another encoding, read {how}; the first is here",
                file,
                numbers[0],
                hint="check that names and paths with accents are correct",
            )
        )
    return "\n".join(texts)


def _line(line: bytes, wide: str | None, number: int, strange: dict[str, list[int]]) -> str:
    try:
        return line.decode(wide or "utf-8")
    except UnicodeDecodeError:
        strange.setdefault(_WITH_GAPS if wide else _WINDOWS, []).append(number)
        return line.decode(wide, errors="replace") if wide else "".join(map(_windows, line))


def _windows(byte: int) -> str:
    try:
        return bytes((byte,)).decode("cp1252")
    except UnicodeDecodeError:  # the five bytes that are undefined in Windows-1252
        return chr(byte)
