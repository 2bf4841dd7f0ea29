"""JIL round trips: equal in meaning, for arbitrary statements and texts."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.autosys.jil import Attribute, Statement, UnwritableError, read, scan, write
from headrace.autosys.jil.keywords import SUBCOMMANDS
from headrace.autosys.jil.values import escape_colons, quote, read_value, unescape_colons

NAMES = st.text("ABCxyz09._#-", min_size=1, max_size=12).filter(lambda name: not name.startswith("#"))
KNOWN = [
    "job_type",
    "command",
    "description",
    "condition",
    "owner",
    "machine",
    "std_out_file",
    "envvars",
    "start_times",
]
ATTRIBUTE_NAMES = st.sampled_from([*KNOWN, "ftp_use_SSL", "not_modelled", "xyz_9"])
PIECES = st.sampled_from(
    ['"', "\\", ":", " ", "  ", "\n", "\t", "/*", "*/", "#", "'", ",", "&", "|", "(", ")", "and", "a", "B9",
     "é", "\xa0", "$$X",
     " machine: ", " insert_job: ", "command:", "NULL", "`date +%Y`", "C:\\tmp\\", "http://h:80/",
     "exit", ">>", "\u2028", "\x0c"]
)  # fmt: skip
VALUES = st.one_of(st.lists(PIECES, max_size=8).map("".join), st.text(max_size=12)).map(
    lambda text: text.replace("\r", "")
)
WORDS = st.sampled_from(
    ["insert_job", "update_job", "override_job", "insert_machine", "insert_glob", "delete_box"]
)
ATTRIBUTES = st.tuples(ATTRIBUTE_NAMES, VALUES, st.booleans())


@st.composite
def statements(draw: Any) -> Any:
    action, kind = SUBCOMMANDS[draw(WORDS)]
    attributes = [
        Attribute(name, value, soft=soft and name == "owner" and kind == "job")
        for name, value, soft in draw(st.lists(ATTRIBUTES, max_size=6))
    ]
    rest = draw(st.sampled_from(["", "delete", "other words"])) if action == "override" else ""
    return Statement(action, kind, draw(NAMES), attributes, "f.jil", 1, rest)


def meanings(statements: Any) -> Any:
    return [each.meaning for each in statements]


@settings(deadline=None)
@given(st.lists(statements(), max_size=4))
def test_statements_written_read_back_as_the_same(wanted: Any) -> None:
    try:
        text = write(wanted)
    except UnwritableError:
        # A line feed before what looks like an attribute is the one thing that JIL cannot hold.
        assert any("\n" in attribute.value for each in wanted for attribute in each.attributes)
        return
    assert meanings(scan(text, "f.jil").statements) == meanings(wanted)


@pytest.mark.parametrize("name", ["", "a b", 'a"', "a\\", "/*a"])
def test_a_name_that_jil_cannot_hold_is_refused(name: Any) -> None:
    with pytest.raises(UnwritableError, match=r"f\.jil:7: insert_job: .* cannot be a name"):
        write([Statement("insert", "job", name, [], "f.jil", 7)])


def test_a_value_that_jil_cannot_hold_is_refused_with_its_place() -> None:
    statement = Statement("insert", "job", "A", [Attribute("command", "a\nmachine: m", 8)], "f.jil", 7)
    with pytest.raises(UnwritableError, match=r"f\.jil:8: A\.command: JIL cannot express"):
        write([statement])


LINES = st.one_of(
    st.builds("{}{}: {}".format, st.sampled_from(["", " ", "#"]), ATTRIBUTE_NAMES, VALUES),
    st.builds("{}: {} {}".format, st.sampled_from(sorted(SUBCOMMANDS)), NAMES, VALUES),
    st.builds("insert_job: {}   job_type: c machine: m command: {}".format, NAMES, VALUES),
    st.just("blob_input: <auto_blobt>x\ninsert_job: NO\n</auto_blobt>"),
    st.builds("blob_input: <auto_blobt>{}\n{}</auto_blobt>{}".format, VALUES, VALUES, VALUES),
    st.builds("blob_input: {}".format, VALUES),
    st.just("/* ----- X ----- */ "),
    VALUES,
)
TEXTS = st.lists(LINES, max_size=12).map("\n".join)


@settings(deadline=None)
@given(TEXTS)
@example('insert_job: A\ncommand: "a\nb" machine: m\n')
@example("insert_job: A\ncondition: s(a) and\n\n s(b)\n")
def test_whatever_was_read_is_written_so_that_it_reads_back(text: Any) -> None:
    first = scan(text, "f.jil").statements
    assert meanings(scan(write(first), "f.jil").statements) == meanings(first)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_are_refused(data: Any) -> None:
    read(data, "f.jil")


@settings(deadline=None)
@given(TEXTS, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_the_encoding_makes_no_difference(text: Any, encoding: Any) -> None:
    # A mark within the text, and the end-of-file letter, are what decoding takes off.
    text = text.replace("\ufeff", "").replace("\r", "").replace("\x00", "").rstrip("\x1a")
    assert meanings(read(text.encode(encoding), "f.jil").statements) == meanings(
        scan(text, "f.jil").statements
    )


@settings(deadline=None)
@given(VALUES)
def test_quoting_and_escaping_are_undone_by_reading(value: Any) -> None:
    assert read_value(quote(value)) == value
    assert unescape_colons(escape_colons(value)) == value or "\\" in value
