"""Stanzas parsed alone give the same as the full text, line by line; equal texts have equal digests."""

from typing import Any

from hypothesis import example, given, settings

from headrace.autosys.jil import scan
from headrace.autosys.stanzas import stanzas
from tests.platform.autosys.test_jil_roundtrip import TEXTS


def meanings(text: Any, line: Any = 1) -> Any:
    return [
        (
            *each.meaning[:4],
            each.line + line - 1,
            [(a.name, a.value, a.line + line - 1) for a in each.attributes],
        )
        for each in scan(text, "f.jil").statements
    ]


@settings(deadline=None, max_examples=500)
@given(TEXTS)
@example("insert_job: A\ncommand: a /* b\ninsert_job: B\n*/\ninsert_job: C\n")
@example("insert_job: A\ncommand: a /* b\n/* c\ninsert_job: B\nx */ machine: m\ninsert_job: C\n")
@example("insert_job: A\nblob_input: <auto_blobt>\ninsert_job: B\n</auto_blobt>\ninsert_job: C\n")
@example("insert_job: A\ncommand: a\n\u2028 insert_job: ")
@example('insert_job: A\ncommand: "a\ninsert_job: B\ncommand: b"\n')
def test_stanzas_read_one_by_one_are_the_whole(text: Any) -> None:
    found = stanzas(text)
    assert "".join(text[each.start : each.end] for each in found) == text
    alone = [one for each in found for one in meanings(text[each.start : each.end], each.line)]
    assert alone == meanings(text)


def test_a_stanza_is_recognised_at_any_place() -> None:
    first, second = "insert_job: A\nmachine: m\n", "insert_job: B\nmachine: m\n"
    there = {each.digest for each in stanzas(first + second)}
    assert {each.digest for each in stanzas(second + first)} == there
    assert len(there & {each.digest for each in stanzas(first + second.replace("m\n", "n\n"))}) == 1


def test_a_text_of_one_line_a_job_is_cut_at_each() -> None:
    assert [each.line for each in stanzas("# x\ninsert_job: A\n  insert_job : B\n/* insert_job: C */\n")] == [
        1,
        2,
        3,
    ]
    assert stanzas("") == []
