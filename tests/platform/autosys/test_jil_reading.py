"""JIL as found in practice, each form parsed as intended."""

from typing import Any

import pytest

from headrace.autosys.jil import scan
from headrace.severity import Severity


def one(text: Any) -> Any:
    [statement] = scan(text, "f.jil").statements
    return statement


def values(text: Any) -> Any:
    return [(each.name, each.value) for each in one(text).attributes]


def rules(text: Any) -> Any:
    return [each.rule for each in scan(text, "f.jil").findings]


# Split only at known attribute names, outside quotes, unescaped.
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('command: "C:\\tmp\\run.bat"', "C:\\tmp\\run.bat"),
        ("command: C\\:\\tmp\\run.bat", "C:\\tmp\\run.bat"),
        ("command: run --status: ok", "run --status: ok"),
        ("command: curl http://h:8080/x", "curl http://h:8080/x"),
        ("command: Server type: web tier", "Server type: web tier"),
        ('command: "a b" -x', '"a b" -x'),
        ('command: "a b"', "a b"),
        ('command: "echo \\"hi\\""', 'echo "hi"'),
        ("command: echo 'machine: m'", "echo 'machine: m'"),
        ("command: rm $HOME/test/*", "rm $HOME/test/*"),
        ("command: rm $HOME/test/* /* delete */", "rm $HOME/test/*"),
        ('command: echo "/* no comment */"', 'echo "/* no comment */"'),
        ("command: a # no comment", "a # no comment"),
        ("command : spaced", "spaced"),
        ("COMMAND: loud", "loud"),
        ("command:", ""),
        ("command: $$(GLOBAL)/$${OTHER} $x", "$$(GLOBAL)/$${OTHER} $x"),
    ],
)
def test_a_value_is_read_as_meant(line: Any, expected: Any) -> None:
    assert values(f"insert_job: A\nmachine: m\n{line}\n") == [("machine", "m"), ("command", expected)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Several attributes on a line
        (
            "insert_job: X job_type: c box_name: B machine: m command: /x -a",
            [("job_type", "c"), ("box_name", "B"), ("machine", "m"), ("command", "/x -a")],
        ),
        ("insert_job:X job_type:CMD\nmachine:m", [("job_type", "CMD"), ("machine", "m")]),
        # An English word in prose, and the same word where the line holds several attributes
        (
            "insert_job: X\ndescription: the owner: nobody",
            [("description", "the owner: nobody")],
        ),
        (
            "insert_job: X job_type: c description: fast owner: me",
            [("job_type", "c"), ("description", "fast"), ("owner", "me")],
        ),
        ("insert_job: X\ncommand: /x   machine: m", [("command", "/x"), ("machine", "m")]),
        ("insert_job: X\ncommand: /x condition: s(A)", [("command", "/x"), ("condition", "s(A)")]),
        ("insert_job: X\ncommand: /x std_out_file: /o", [("command", "/x"), ("std_out_file", "/o")]),
        # Continuation without a mark, as on the vendor's autostatus page
        (
            "insert_job: X\ncondition: done(Account_Run) and\ndone(Corp_Run) and done(End_Run)",
            [("condition", "done(Account_Run) and done(Corp_Run) and done(End_Run)")],
        ),
        (
            'insert_job: X\nstart_times: "10:00",\n "11:00"\nmachine: m',
            [("start_times", '"10:00", "11:00"'), ("machine", "m")],
        ),
        (
            "insert_job: X\ncommand: a \\\n  --b c\\:d\nmachine: m",
            [("command", "a --b c:d"), ("machine", "m")],
        ),
        ('insert_job: X\ncommand: "a\nb"\nmachine: m', [("command", "a\nb"), ("machine", "m")]),
        ("insert_job: X\ncommand: a\n/* in between */\n b", [("command", "a b")]),
        # A comment may hide attribute lines
        ("insert_job: X\n/* machine: m\nowner: o */\ncommand: a", [("command", "a")]),
        ("insert_job: X\n  # owner: o\ncommand: a", [("command", "a")]),
        ("insert_job: X\n/* c */ command: a", [("command", "a")]),
        ("/* c\nd */ insert_job: X command: a", [("command", "a")]),
        ("jil>>1> insert_job: X\njil>>2> command: a\nexit\n", [("command", "a")]),
    ],
)
def test_statements_are_taken_apart_as_meant(text: Any, expected: Any) -> None:
    assert values(text) == expected


def test_a_commented_owner_is_a_soft_value() -> None:
    [owner] = one("insert_job: X\n#owner: svc@host\n").attributes
    assert (owner.name, owner.value, owner.soft) == ("owner", "svc@host", True)


def test_a_dump_with_boxes_indents_and_blanks() -> None:
    text = (
        "/* ----------------- B ----------------- */ \n\ninsert_job: B   job_type: BOX \nowner: o\npermission: \n\n"
        " /* ----------------- J ----------------- */ \n\n insert_job: J   job_type: CMD \n box_name: B\n"
    )
    first, second = scan(text, "f.jil").statements
    assert [(each.name, each.value) for each in first.attributes] == [
        ("job_type", "BOX"), ("owner", "o"), ("permission", ""),
    ]  # fmt: skip
    assert second.get("box_name") == "B"
    assert second.line == 9


def test_each_attribute_keeps_its_line() -> None:
    text = 'insert_job: X job_type: c\n\nmachine: m\ncommand: "a\nb"\n/* x\ny */ owner: o\nresources: r machine: n\n'
    assert [(each.name, each.line) for each in one(text).attributes] == [
        ("job_type", 1), ("machine", 3), ("command", 4), ("owner", 7), ("resources", 8), ("machine", 8),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "word",
    [
        "insert_job",
        "update_job",
        "delete_job",
        "delete_box",
        "override_job",
        "insert_machine",
        "delete_machine",
        "update_machine",
        "insert_resource",
        "update_resource",
        "delete_resource",
        "insert_glob",
        "delete_glob",
        "insert_blob",
        "delete_blob",
        "insert_xinst",
        "update_xinst",
        "delete_xinst",
        "insert_monbro",
        "insert_job_type",
        "update_job_type",
        "delete_job_type",
        "insert_connectionprofile",
        "rename_job",
        "insert_view",
        "modify_filter",
        "insert_alert_policy",
        "delete_user",
    ],
)
def test_every_subcommand_begins_a_statement(word: Any) -> None:
    statement = one(f"{word}: NAME\ndescription: d\n")
    assert f"{statement.action}_{statement.kind}" == word
    assert (statement.name, statement.get("description")) == ("NAME", "d")


def test_a_statement_that_is_not_known_is_kept_and_ends_the_one_before() -> None:
    jil = scan("insert_job: A\ncommand: a\ninsert_calendar: C\ndates: 2025-01-01\n", "f.jil")
    assert [(each.kind, each.name, each.get("dates")) for each in jil.statements] == [
        ("job", "A", None), ("calendar", "C", "2025-01-01"),
    ]  # fmt: skip
    assert [(each.rule, each.line) for each in jil.findings] == [
        ("jil/unknown-statement", 3),
        ("jil/unknown-attribute", 4),
    ]


def test_a_second_test_without_an_operator_does_not_spoil_the_condition_above_it() -> None:
    jil = scan("insert_job: A\ncondition: s(B)\ns(C)\nmachine: m\n", "f.jil")
    assert jil.statements[0].get("condition") == "s(B)"
    assert [(each.rule, each.line) for each in jil.findings] == [("jil/stray-line", 3)]
    assert values("insert_job: A\ncondition: s(B)\n& s(C)\n") == [("condition", "s(B) & s(C)")]
    assert values("insert_job: A\ncondition:\n  s(B) |\n\n  s(C)\n") == [("condition", "s(B) | s(C)")]


def test_a_blob_is_literal_up_to_its_end() -> None:
    text = "insert_job: X\nblob_input: <auto_blobt>a\ninsert_job: NOT_ONE\n# b\n</auto_blobt>\nmachine: m\n"
    assert values(text) == [
        ("blob_input", "<auto_blobt>a\ninsert_job: NOT_ONE\n# b\n</auto_blobt>"),
        ("machine", "m"),
    ]


def test_a_blob_may_begin_below_its_name() -> None:
    assert values("insert_job: X\nblob_input:\n<auto_blobt>input</auto_blobt>\nmachine: m\n") == [
        ("blob_input", "<auto_blobt>input</auto_blobt>"),
        ("machine", "m"),
    ]


def test_a_blob_that_does_not_close_costs_no_more_than_its_line() -> None:
    text = "insert_job: X\nblob_input: <auto_blobt>a\nmachine: m\n"
    assert values(text) == [("blob_input", "<auto_blobt>a"), ("machine", "m")]
    assert rules(text) == ["jil/open-blob"]


def test_repeated_and_unknown_attributes_are_kept_in_order() -> None:
    text = "insert_job: X\nenvvars: A=1\nenvvars: B=2\nnew_thing: 7\ninsert_job: Y\nnew_thing: 8\n"
    first, second = scan(text, "f.jil").statements
    assert [(each.name, each.value) for each in first.attributes] == [
        ("envvars", "A=1"),
        ("envvars", "B=2"),
        ("new_thing", "7"),
    ]
    assert second.get("new_thing") == "8"
    assert rules(text) == ["jil/unknown-attribute"]


# An open quote ends with its line, and the finding names the right attribute.
def test_an_open_quote_ends_with_its_line() -> None:
    jil = scan('insert_job: X\ncommand: "echo hello\npermission: gx\ndescription: "d"\n', "f.jil")
    [statement] = jil.statements
    assert [(each.name, each.value) for each in statement.attributes] == [
        ("command", '"echo hello'), ("permission", "gx"), ("description", "d"),
    ]  # fmt: skip
    [finding] = jil.findings
    assert (finding.rule, finding.line, finding.subject, finding.attribute) == (
        "jil/open-quote",
        2,
        "X",
        "command",
    )


def test_a_measure_in_inches_is_no_quote() -> None:
    assert values('insert_job: X\ndescription: "12" monitor feed\nmachine: m\n') == [
        ("description", '"12" monitor feed'),
        ("machine", "m"),
    ]
    assert values('insert_job: X\ndescription: 12" monitor feed\nmachine: m\n')[1] == ("machine", "m")


def test_a_windows_path_that_ends_in_a_backslash_is_closed_by_its_quote() -> None:
    assert values('insert_job: X\nprofile: "c:\\tmp\\"\nmachine: m\n') == [
        ("profile", "c:\\tmp\\"),
        ("machine", "m"),
    ]


def test_an_open_comment_costs_one_line() -> None:
    text = "/* ---- A ----\ninsert_job: A\nmachine: m\n\n/* ---- B ---- */\ninsert_job: B\n"
    jil = scan(text, "f.jil")
    assert [each.name for each in jil.statements] == ["A", "B"]
    assert [(each.rule, each.line) for each in jil.findings] == [("jil/open-comment", 1)]


@pytest.mark.parametrize(
    "noise",
    [
        "sendevent -E FORCE_STARTJOB -J X",
        "Job Name       Last Start",
        "_______________ ______",
        "user@host:~$ autorep -J ALL -q",
        "$ autorep -J ALL -q",
        "C:\\Users\\me> jil < x.jil",
    ],
)
def test_a_stray_line_is_a_finding_and_leaves_the_value_before_alone(noise: Any) -> None:
    text = f"insert_job: X\ncommand: a\n{noise}\nmachine: m\n"
    assert values(text) == [("command", "a"), ("machine", "m")]
    [finding] = scan(text, "f.jil").findings
    assert (finding.rule, finding.line) == ("jil/stray-line", 3)


def test_a_line_below_a_one_word_value_is_no_part_of_it() -> None:
    text = "insert_job: X\nn_retrys: 2\nsome words\n"
    assert values(text) == [("n_retrys", "2")]
    assert rules(text) == ["jil/stray-line"]


def test_a_run_of_stray_lines_is_one_finding() -> None:
    [finding] = scan("a b\nc d\ne f\n", "f.jil").findings
    assert "lines 1 to 3" in finding.message


def test_a_statement_without_a_name_is_lost_alone() -> None:
    jil = scan("insert_job:\nmachine: m\ninsert_job: B\n", "f.jil")
    assert [each.name for each in jil.statements] == ["B"]
    [finding] = jil.findings
    assert (finding.rule, finding.severity, finding.line) == ("jil/no-name", Severity.ERROR, 1)


@pytest.mark.parametrize("name", ['"a b"', '"', "a\\b", 'a"b', "a/*b"])
def test_a_name_that_cannot_be_one_loses_its_statement_alone(name: Any) -> None:
    jil = scan(f"insert_job: {name}\nmachine: m\ninsert_job: B\n", "f.jil")
    assert [each.name for each in jil.statements] == ["B"]
    assert ("jil/no-name", 1) in [(each.rule, each.line) for each in jil.findings]


def test_an_invalid_autosys_name_is_kept_and_reported() -> None:
    jil = scan("insert_job: a%b\ninsert_job: " + "x" * 65 + "\n", "f.jil")
    assert [len(each.name) for each in jil.statements] == [3, 65]
    assert [each.rule for each in jil.findings] == ["jil/name", "jil/name"]


def test_override_with_delete_and_other_words_after_a_name() -> None:
    assert one("override_job: X delete\n").rest == "delete"
    assert rules("override_job: X delete\n") == []
    assert rules("insert_job: X stuff\n") == ["jil/after-name"]


def test_a_doubt_about_the_line_that_inserts_a_job_is_about_that_job() -> None:
    jil = scan(
        'insert_job: GOOD job_type: CMD\ncommand: /x\n\ninsert_job: BAD machine: m command: "echo hello\n',
        "q.jil",
    )
    (found,) = [each for each in jil.findings if each.rule == "jil/open-quote"]
    assert (found.subject, found.attribute) == ("BAD", "command")
