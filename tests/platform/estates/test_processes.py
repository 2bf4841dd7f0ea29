"""Descriptions of processes in YAML and listings of DB2 dependencies: errors have line and field."""

from headrace.catalog.records import Technology
from headrace.estates.described.db2 import read_listing
from headrace.estates.described.processes import read_processes
from headrace.estates.tools import Direction
from headrace.severity import Severity

GOOD = """\
# What runs beside Autosys.
---
- name: SALES.LOAD
  technology: db2_procedure
  owners: [team:sales]
  reads: SALES.ORDERS
  writes: [SALES.DAILY, /data/out/daily.csv]
- name: nightly.sh
  technology: Shell
  after: [SALES.LOAD, autosys/PRD/NIGHT_JOB, autosys/OTHER, db2_sp/SALES.LOAD, autosis/OTHER, shell/PRD/x]
"""


def test_processes_are_read_with_what_they_run_after() -> None:
    (load, nightly), findings = read_processes(GOOD, "p.yaml")
    assert findings == ()
    assert (load.technology, load.line, load.lines["writes"]) == (Technology.DB2_SP, 3, 7)
    assert load.description.reads == ["SALES.ORDERS"]
    assert nightly.technology is Technology.SHELL
    assert list(nightly.after()) == [
        ("SALES.LOAD", Technology.SHELL, "", "SALES.LOAD"),
        ("autosys/PRD/NIGHT_JOB", Technology.AUTOSYS, "PRD", "NIGHT_JOB"),
        ("autosys/OTHER", Technology.AUTOSYS, None, "OTHER"),
        ("db2_sp/SALES.LOAD", Technology.DB2_SP, "", "SALES.LOAD"),
        ("autosis/OTHER", None, "", "OTHER"),
        ("shell/PRD/x", None, "", "shell/PRD/x"),
    ]


def test_a_wrong_entry_is_lost_by_line_and_field_and_the_others_stay() -> None:
    text = GOOD + (
        "- name: a b\n  technology: shell\n"
        "- name: x\n  technology: cobol\n  wrong: 1\n"
        "- name: y\n  technology: shell\n  reads: {a: b}\n"
        "- name: [\n"
        "- just text\n"
        "- name: SALES.LOAD\n  technology: db2_sp\n"
        "- name: z\n  technology: shell\n"
    )
    found, findings = read_processes(text, "p.yaml")
    assert [one.description.name for one in found] == ["SALES.LOAD", "nightly.sh", "z"]
    assert [
        (each.line, each.subject, each.attribute) for each in sorted(findings, key=lambda each: each.line)
    ] == [
        (11, "a b", "name"),
        (14, "x", "technology"),
        (15, "x", "wrong"),
        (18, "y", "reads"),
        (20, None, None),
        (20, None, None),
        (21, "SALES.LOAD", "name"),
    ]
    assert "the fields are name, technology, description" in next(
        each.message for each in findings if each.attribute == "wrong"
    )
    assert str(findings[0]).startswith("p.yaml:11: error: a b.name: ")


def test_a_text_without_entries_is_one_finding() -> None:
    assert [str(each) for each in read_processes("# none yet\n---\n", "p.yaml")[1]] == [
        "p.yaml: warning: it has no entries: write a list, each entry beginning with `- name:` [entry/nothing]"
    ]


def test_text_before_the_entries_is_reported() -> None:
    for text, line in (
        ("processes:\n  - name: a\n", 1),
        ("# x\n\n-name: a\n  technology: shell\n" + GOOD, 3),
    ):
        found, [finding] = read_processes(text, "p.yaml")
        assert len(found) in (0, 2)
        assert (finding.rule, finding.severity, finding.line) == ("entry/outside", Severity.ERROR, line)


def test_a_listing_gives_each_procedure_its_tables() -> None:
    text = (
        "Schema,Procedure,OBJECT,Access\n"
        "S,SALES.LOAD,SALES.ORDERS,select\n"
        "S,SALES.LOAD,SALES.DAILY,RW\n"
        "\n"
        "S,SALES.LOAD,SALES.AUDIT_PROC,call\n"
        'S,SALES.CLOSE,"SALES.DAILY",delete\n'
    )
    (load, close), findings = read_listing(text, "d.csv")
    assert findings == ()
    assert [(use.table, use.direction) for use in load.uses] == [
        ("SALES.ORDERS", Direction.READS),
        ("SALES.DAILY", Direction.READS),
        ("SALES.DAILY", Direction.WRITES),
    ]
    assert load.calls == ["SALES.AUDIT_PROC"]
    assert (close.procedure, close.line, close.uses[0].direction) == ("SALES.CLOSE", 6, Direction.WRITES)


def test_a_wrong_row_is_lost_by_line_and_column() -> None:
    text = "procedure,object,access\nP,T,sometimes\nP,,read\nQ\nP,T,read\n"
    (found,), findings = read_listing(text, "d.csv")
    assert [use.table for use in found.uses] == ["T"]
    assert [(each.line, each.attribute) for each in findings] == [(2, "access"), (3, "object"), (4, "object")]


def test_a_file_without_the_columns_says_which() -> None:
    found, [finding] = read_listing("procedure;object;access\nP;T;read\n", "d.csv")
    assert found == ()
    assert "has no column procedure, object, access" in finding.message
