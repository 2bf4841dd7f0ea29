"""Completion files of each format: their events, and the effects of an invalid one."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.autosys.statuses import STATES, UnknownStatus, meaning
from headrace.catalog.records import Column, RunState, Technology
from headrace.catalog.run_events import Ending
from headrace.job_reports.completions.names import WrongPattern, fields_of
from headrace.job_reports.completions.parsing import read_completions

AT = datetime(2026, 11, 28, 4, 15, tzinfo=UTC)


def read(text: Any, name: Any = "feed.json", **given: Any) -> Any:
    data = text if isinstance(text, bytes) else text.encode()
    return read_completions(data, f"drop/{name}", name=name, at=given.pop("at", AT), **given)


def only(text: Any, name: Any = "feed.json", **given: Any) -> Any:
    found = read(text, name, **given)
    assert found.errors == ()
    (event,) = found.events
    return event


def errors(text: Any, name: Any = "feed.json") -> Any:
    return [str(error) for error in read(text, name).errors]


FULL = {
    "process": "LOAD_FLIGHTS",
    "instance": "PRD",
    "box": "NIGHT_BOX",
    "status": "SUCCESS",
    "run": 1620,
    "attempt": 2,
    "at": "2026-11-28T04:15:00+01:00",
    "started_at": "2026-11-28T03:00:00Z",
    "exit_code": 0,
    "machine": "unxhost01",
    "log": "/logs/load.1620",
    "business_date": "20130101",
    "outputs": [
        {
            "dataset": "ops/raw_flights",
            "version": "v7",
            "row_count": 842,
            "checksum": "sha256:ab",
            "schema": [{"name": "year", "type": "int", "nullable": False}],
            "color": "red",
        }
    ],
    "team": "ops",
}


def test_a_document_says_everything() -> None:
    event = only(json.dumps(FULL))
    assert (event.technology, event.instance, event.process, event.box) == (
        Technology.AUTOSYS,
        "PRD",
        "LOAD_FLIGHTS",
        "NIGHT_BOX",
    )
    assert (event.run, event.attempt, event.state, event.ending) == (
        "1620",
        2,
        RunState.SUCCESS,
        Ending.GENUINE,
    )
    assert event.at == datetime(2026, 11, 28, 3, 15, tzinfo=UTC)
    assert (event.exit_code, event.machine, event.log_location) == (0, "unxhost01", "/logs/load.1620")
    assert event.partition == "2013-01-01"
    assert event.payload["team"] == "ops"
    assert event.origin == "drop/feed.json:1"
    (output,) = event.outputs
    assert (output.dataset, output.tag, output.row_count, output.partition) == (
        "ops/raw_flights",
        "v7",
        842,
        None,
    )
    assert output.columns == (Column("year", "int", nullable=False),)
    assert output.metadata == {"color": "red"}


def test_the_same_words_have_the_same_key_wherever_they_stand() -> None:
    one = only(json.dumps(FULL))
    other = read(
        json.dumps([{"process": "X", "status": "SU"}, dict(reversed(FULL.items()))]), at=AT.replace(year=2020)
    )
    assert other.events[1].key == one.key
    assert only(json.dumps({**FULL, "exit_code": 1})).key != one.key


def test_a_key_of_ones_own_is_one_of_a_process_run_and_status() -> None:
    keys = {
        only(json.dumps({"key": "night-7", "status": "SU", **about})).key
        for about in (
            {"process": "A"},
            {"process": "B"},
            {"process": "A", "instance": "PRD"},
            {"process": "A", "technology": "SHELL"},
            {"process": "A", "run": 7},
            {"process": "A", "status": "RUNNING"},
            {"dataset": "ops/a"},
            {"dataset": "ops/b"},
            {"dataset": "ops/b", "partition": "2013-01-01"},
        )
    }
    assert len(keys) == 9
    again = {"key": "night-7", "status": "SU", "process": "A", "exit_code": 0, "at": "2026-11-28T04:00:00Z"}
    assert only(json.dumps(again)).key in keys


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"job": "A", "status": "SU", "at": "2026-11-28T03:00:00Z", "end_time": ""}', "feed.json"),
        ('{"job": "A", "status": "SU", "end_time": null, "at": "2026-11-28T03:00:00Z", "time": " "}', "feed.json"),
        ("job=A\nstatus=SU\nat=2026-11-28T03:00:00Z\nend_time=\n", "feed.txt"),
        ("job,status,at,end_time\nA,SU,2026-11-28T03:00:00Z,\n", "feed.csv"),
        ("status=\nat=2026-11-28T03:00:00Z\n", "A.ok"),
    ],
)  # fmt: skip
def test_an_empty_value_takes_no_others_place(text: Any, name: Any) -> None:
    event = only(text, name)
    assert (event.process, event.state, event.at) == ("A", RunState.SUCCESS, AT.replace(hour=3, minute=0))


def test_an_output_has_other_names_for_its_fields_and_may_leave_them_empty() -> None:
    given = {
        "dataset": "ops/a",
        "path": "/data/a.csv",
        "location": "",
        "rows": 5,
        "version": None,
        "time": "late",
    }
    (output,) = only(json.dumps({"process": "A", "status": "SU", "outputs": [given]})).outputs
    assert (output.location, output.row_count, output.tag) == ("/data/a.csv", 5, None)
    assert output.metadata == {"time": "late"}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("job=A\nSTATUS=SU\nrun=1\nSTATUS=FA\n", "status is given twice: 'SU' in line 2, 'FA' in line 4"),
        ("job,status,state\nA,SU,FA\n", "status is given twice: 'SU' as status, 'FA' as state"),
        ('{"job": "A", "status": "SU", "state": "FA"}', "status is given twice: 'SU' as status, 'FA' as state"),
        ('{"job": "A", "status": "SU", "status": "FA"}', "status is given twice: 'SU' and 'FA'"),
    ],
)  # fmt: skip
def test_a_field_with_two_values_is_an_error(text: Any, lines: Any) -> None:
    assert lines in " ".join(errors(text))
    assert read(text).events == ()
    assert only(text.replace("FA", "SU")).state is RunState.SUCCESS


def test_the_short_form_registers_a_dataset() -> None:
    event = only(
        '{"dataset": "ops/raw", "version": "v1", "status": "ok", "path": "/data/x.csv", "rows": 5, "partition": "p"}'
    )
    assert event.process == ""
    (output,) = event.outputs
    assert (output.dataset, output.tag, output.location, output.row_count, output.partition) == (
        "ops/raw",
        "v1",
        "/data/x.csv",
        5,
        "p",
    )


def test_an_array_and_documents_one_after_another() -> None:
    documents = [{"process": name, "status": "SU"} for name in "ABC"]
    for text in (
        json.dumps(documents, indent=1),
        "\n".join(json.dumps(each) for each in documents),
        "\n\n".join(json.dumps(each, indent=2) for each in documents),
    ):
        assert [event.process for event in read(text).events] == ["A", "B", "C"]
        assert errors(text) == []


def test_key_and_value_lines_of_several_runs() -> None:
    found = read(
        "# from the wrapper\nexport AUTO_JOB_NAME=LOAD\nAUTORUN='12'\nSTATUS: FAILURE\nExit-Code = 3\n"
        'REASON="no = file"\n'
        "END_TIME=11/28/2026 04:15:00\n\njob=CHECK\nstatus=SU\n",
        "load.txt",
        zone=ZoneInfo("Europe/Paris"),
    )
    assert found.errors == ()
    first, second = found.events
    assert (first.process, first.run, first.state, first.exit_code, first.reason) == (
        "LOAD",
        "12",
        RunState.FAILED,
        3,
        "no = file",
    )
    assert first.at == datetime(2026, 11, 28, 3, 15, tzinfo=UTC)
    assert (second.process, second.at, second.origin) == ("CHECK", AT, "drop/load.txt:9")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_csv_with_a_header(separator: Any) -> None:
    rows = ["job_name,status,run_num,dataset,rows", "A,SU,1,ops/a,5", '"B",TE,2,,', ""]
    found = read("\n".join(rows).replace(",", separator), "feed.csv")
    assert found.errors == ()
    assert [(event.process, event.state, event.run) for event in found.events] == [
        ("A", RunState.SUCCESS, "1"),
        ("B", RunState.TERMINATED, "2"),
    ]
    assert found.events[0].outputs[0].row_count == 5


def test_flags_say_it_by_their_name_alone() -> None:
    event = only("", "LOAD_FLIGHTS_20130101.done")
    assert (event.process, event.state, event.partition, event.at) == (
        "LOAD_FLIGHTS",
        RunState.SUCCESS,
        "2013-01-01",
        AT,
    )
    assert only("\n", "LOAD.FLIGHTS.failed").state is RunState.FAILED
    event = only("", "b~NIGHT~j~LOAD~r~7", patterns=[r"b~(?P<box>\w+)~j~(?P<process>\w+)~r~(?P<run>\d+)"])
    assert (event.box, event.process, event.run, event.state) == ("NIGHT", "LOAD", "7", RunState.SUCCESS)


@pytest.mark.parametrize(
    "text",
    ["842 rows\n", "Sat Nov 28 04:15", "[04:15:00] begins\n[04:16:00] ends", "Lines: 842\nall well", "{log}"],
)  # fmt: skip
@pytest.mark.parametrize("ending", ["done", "DONE", "Ok"])
def test_a_flag_may_hold_any_text(text: Any, ending: Any) -> None:
    event = only(text, f"LOAD_FLIGHTS_20130101.{ending}")
    assert (event.process, event.state, event.partition) == ("LOAD_FLIGHTS", RunState.SUCCESS, "2013-01-01")
    assert event.payload["text"] == text.strip()


@pytest.mark.parametrize(
    "text", ['{"status": "FAILURE", "ru', "status=FAILURE\nwhat", '[{"status": "FA"', "status=\xb7"]
)
def test_a_report_that_is_broken_is_no_text_of_a_flag(text: Any) -> None:
    assert read(text, "LOAD.done").events == ()
    assert errors(text, "LOAD.done")


def test_what_is_in_a_flag_wins_over_its_name() -> None:
    event = only("status=FAILURE\nrun=3\n", "LOAD_20130101.done")
    assert (event.process, event.state, event.run, event.partition) == (
        "LOAD",
        RunState.FAILED,
        "3",
        "2013-01-01",
    )


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{"process": "A", "status": "SUCESS"}', "drop/feed.json:1: error: A.status: unknown status 'SUCESS'"),
        ('{"process": "A"}', "drop/feed.json:1: error: A.status: is missing [report/field]"),
        ('{"status": "SU"}', "names neither a process nor a dataset"),
        ('{"process": "A", "status": "IN"}', "IN means that there is no run"),
        ('{"process": "A", "status": "SU", "exit_code": "x"}', "A.exit_code: 'x': input should be a valid integer"),
        ('{"process": "A", "status": "SU", "exit_code": 1e99}', "A.exit_code"),
        ('{"process": "A b", "status": "SU"}', "A b.process"),
        ('{"process": "A", "status": "SU", "at": "yesterday"}', "A.at: 'yesterday'"),
        ('{"process": "A", "status": "SU", "reason": "\\u0000"}', "A.reason: has a NUL character"),
        ('{"process": "A", "status": "SU", "reason": "\\ud800"}', "A.reason: has half of a surrogate pair"),
        ('{"process": "A", "status": "SU", "outputs": [{"dataset": "a/b"}, {"row_count": -1}]}', "outputs.1.dataset"),
        ('{"process": "A", "status": "SU", "outputs": [{"dataset": "a"}, {"dataset": "a"}]}', "names the same dataset"),
        ('{"process": "A", "technology": "SPARK", "status": "SU"}', "recorded by Headrace itself"),
        ('{"process": "A", "status', "drop/feed.json:1: error: it is not valid JSON: Unterminated string"),
        ("[1, 2]", "a report is an object in braces, not int"),
        ('[{"process": "A", "status": "SU"}', "the array is not closed"),
        ("[" * 100_000, "it is not valid JSON"),
        ("hello", "is neither JSON nor key=value nor CSV"),
        ("", "is empty, and no pattern matches the name feed.json"),
    ],
)  # fmt: skip
def test_errors_have_a_place(text: Any, lines: Any) -> None:
    found = errors(text)
    assert any(lines in error for error in found), found
    assert all(error.startswith("drop/feed.json:") for error in found)


def test_a_wrong_report_costs_itself_alone() -> None:
    good = '{"process": "A", "status": "SU"}'
    found = read(
        f'{good}\n{{"process": "B", "stat\n{good.replace("A", "C")}\n{{"process": "D", "status": "?"}}\n'
    )
    assert [event.process for event in found.events] == ["A", "C"]
    assert [(error.line, error.attribute) for error in found.errors] == [(2, None), (4, "status")]
    found = read("job,status\nA,SU\nB,SU,3,4\nC,nonsense\nD,SU\n", "feed.csv")
    assert [event.process for event in found.events] == ["A", "D"]
    assert [error.line for error in found.errors] == [3, 4]
    found = read("job=A\nstatus=SU\n\njob=B\nwhat\n\njob=C\nstatus=SU\n", "feed.txt")
    assert [event.process for event in found.events] == ["A", "C"]
    assert [error.line for error in found.errors] == [4]


def test_a_broken_array_element_is_reported_by_number_and_others_are_ingested() -> None:
    broken = [
        '{"process": "X", "status": SU}',
        '{"process": "X", "status": "SU",}',
        '{"process": "X", "outputs": [{"dataset": "a" "b"}, {}], "metadata": {"x": "}]"}, "status"}',
        '{\n"process": "X,\n"status": "SU"\n}',
        "X, SU",
    ]
    good = [f'{{"process": "{name}", "status": "SU"}}' for name in "ABCDEF"]
    elements = [each for pair in zip(good, [*broken, ""], strict=True) for each in pair if each]
    for text in (f"[{', '.join(elements)}]", f"[\n{', '.join(elements)}\n]\n", "\n\n".join(elements)):
        assert [event.process for event in read(text).events] == list("ABCDEF")
        assert len(errors(text)) > len(broken)
    assert [error[: error.index(" is ")] for error in errors(f"[{', '.join(elements)}]")][:4] == [
        *(f"drop/feed.json:1: error: element {number}: it" for number in (2, 4, 6)),
        "drop/feed.json:2: error: element 8: it",
    ]
    found = errors('[{"process": "A", "status": "SU"}, {"process": "B", "status": "?"}]')
    assert found[0].startswith("drop/feed.json:1: error: B.status: element 2: unknown status")


@pytest.mark.parametrize("cut", ['{"process": "B", "status": "SU", ', '{"a": [1, }, ', '{"process": "B'])
def test_a_broken_element_is_not_guessed(cut: Any) -> None:
    inner = (
        '{"process": "C", "outputs": [{"process": "D", "status": "SU"}, {"process": "E", "status": "SU"}]}'
    )
    found = read(f'[{{"process": "A", "status": "SU"}}, {cut}{inner}]')
    assert [event.process for event in found.events] == ["A"]
    assert "what follows it is not read" in str(found.errors[0])


@pytest.mark.parametrize(
    ("field", "value"),
    [("at", "2027-11-28T04:15:00Z"), ("started_at", "2099-01-01T00:00:00Z"), ("end_time", 4_000_000_000)],
)
def test_a_time_that_is_yet_to_come_is_refused_with_both_times(field: Any, value: Any) -> None:
    (error,) = errors(json.dumps({"process": "A", "status": "SU", field: value}))
    named = "at" if field == "end_time" else field
    assert re.search(
        rf"A.{named}: \d{{4}}-.*Z is in the future; it is \d{{4}}-.*Z now: check the clock and", error
    )


@pytest.mark.parametrize("value", ["1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", 0, 2026332])
def test_a_time_of_a_clock_that_was_never_set_is_refused(value: Any) -> None:
    (error,) = errors(json.dumps({"process": "A", "status": "SU", "at": value}))
    assert "is before 1990: was the clock of the sender set? [report/field]" in error


def test_a_clock_may_be_some_minutes_ahead() -> None:
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=10)
    assert only(json.dumps({"process": "A", "status": "SU", "at": soon.isoformat()})).at == soon


def test_the_time_of_a_file_is_checked_if_a_report_has_none() -> None:
    later = datetime.now(UTC) + timedelta(days=365)
    (error,) = read("", "LOAD.done", at=later).errors
    assert error.attribute == "at"
    assert "is missing, and the file's own time cannot be used" in error.message
    assert only("at=2026-11-28T04:15:00Z", "LOAD.done", at=later).at == AT


def test_a_date_may_be_a_number() -> None:
    assert only('{"process": "A", "status": "SU", "business_date": 20130131}').partition == "2013-01-31"


@pytest.mark.parametrize("value", ["31.01.2013", "2013-13-01", "20131301", 20131301, 5, True, "yesterday"])
def test_the_error_of_a_date_lists_the_notations(value: Any) -> None:
    (error,) = errors(json.dumps({"process": "A", "status": "SU", "business_date": value}))
    assert "business_date: " in error
    assert "is not a date; write 2013-01-31, 20130131 or 01/31/2013" in error


def test_the_error_of_a_time_lists_the_notations() -> None:
    (error,) = errors('{"process": "A", "status": "SU", "at": "28.11.2026 04:15"}')
    assert (
        "A.at: '28.11.2026 04:15' is not a time; write 2026-11-28T04:15:00Z, 20261128041500 or, as Autosys"
        in error
    )


def test_a_cut_off_first_line_of_many_costs_itself_alone() -> None:
    found = read(
        '{"process": "B", "stat\n{"process": "A", "status": "SU"}\n{"process": "C", "status": "SU"}\n'
    )
    assert [event.process for event in found.events] == ["A", "C"]
    assert [error.line for error in found.errors] == [1]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_any_encoding(encoding: Any) -> None:
    assert only("job=LOAD\r\nstatus=SU\r\nreason=é".encode(encoding), "x.txt").reason == "é"


def test_a_pattern_that_cannot_work_is_refused() -> None:
    with pytest.raises(WrongPattern, match="is not a regular expression"):
        fields_of("x", ["("])
    with pytest.raises(WrongPattern, match="names neither a process nor a dataset"):
        fields_of("x", [r"(?P<run>\d+)"])


@given(st.binary(max_size=300), st.sampled_from(["x.json", "LOAD.done", "feed.csv"]))
def test_no_bytes_stop_the_reader(data: Any, name: Any) -> None:
    found = read(data, name)
    for event in found.events:
        event.reason and event.reason.encode()
    for error in found.errors:
        str(error).encode()


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(sorted({*FULL, "dataset", "partition", "technology", "metadata", "key"})),
        _VALUES,
        max_size=6,
    )
)
def test_any_document_is_an_event_or_an_error(document: Any) -> None:
    found = read(json.dumps([{"process": "A", "status": "SU"}, {"process": "B", "status": "RU", **document}]))
    assert found.events[0].process == "A"
    assert len(found.events) == 2 or found.errors
    for event in found.events:
        assert event.at.tzinfo is UTC
        event.key.encode()


def test_what_statuses_mean() -> None:
    assert meaning("su") == meaning("4") == meaning("Success") == (RunState.SUCCESS, Ending.GENUINE)
    assert meaning("SU", by_hand=True) == (RunState.SUCCESS, Ending.FORCED)
    assert (
        meaning("SU/NE")
        == meaning("ON_NOEXEC")
        == meaning("OI")
        == meaning("0")
        == (
            RunState.SKIPPED,
            Ending.BYPASSED,
        )
    )
    assert meaning("RU/NE") == meaning("WAIT_REPLY") == (RunState.RUNNING, None)
    assert meaning("ON_HOLD") == (RunState.HELD, None)
    assert meaning("FAILURE") == (RunState.FAILED, Ending.GENUINE)
    assert meaning("INACTIVE") is None
    assert {state for state in STATES.values() if state} == set(RunState) - {
        RunState.BLOCKED,
        RunState.SUPERSEDED,
        RunState.LOST,
    }
    with pytest.raises(UnknownStatus, match="did you mean SUCCESS"):
        meaning("SUCESS")


@pytest.mark.parametrize(
    "written", ['"20261128041500"', "20261128041500", '"202611280415"', '"2026-11-28-04.15.00.000000"']
)
def test_a_packed_time_is_of_the_zone_of_other_texts(written: Any) -> None:
    document = f'{{"process": "A", "status": "SU", "at": {written}}}'
    assert only(document, zone=ZoneInfo("Europe/Zurich")).at == datetime(2026, 11, 28, 3, 15, tzinfo=UTC)


@pytest.mark.parametrize("written", ['"1764303300"', "1764303300", "1764303300000"])
def test_seconds_since_1970_are_an_instant(written: Any) -> None:
    document = f'{{"process": "A", "status": "SU", "at": {written}}}'
    assert only(document, at=AT, zone=ZoneInfo("Europe/Zurich")).at == datetime.fromtimestamp(1764303300, UTC)


def test_milliseconds_that_resemble_a_date_are_an_instant() -> None:
    event = only('{"process": "A", "status": "SU", "at": "1712013100000"}')
    assert event.at == datetime.fromtimestamp(1712013100, UTC)


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("at", "20261328041500", "time"),
        ("at", "20261128041", "time"),
        ("at", "20261128041500000", "time"),
        ("business_date", "20130131041500", "date"),
        ("business_date", "1764288000", "date"),
        ("business_date", 2013, "date"),
    ],
)
def test_digits_that_are_no_date_are_refused_clearly(field: Any, value: Any, kind: Any) -> None:
    (message,) = errors(json.dumps({"process": "A", "status": "SU", field: value}))
    assert f"{field}: " in message
    assert f"is not a {kind}; write" in message
