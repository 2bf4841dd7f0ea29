"""Parsed commands, patterns of paths, and the resulting candidates with their evidence."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.estates.dataset_candidates import candidates
from headrace.estates.paths import pattern_of
from headrace.estates.shell import Command, split
from headrace.estates.tools import Direction
from tests.platform.autosys.building import estate

READS, WRITES, UNKNOWN = Direction.READS, Direction.WRITES, Direction.UNKNOWN


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("a 'b c' \"d e\" f\\ g", [(("a", "b c", "d e", "f g"), ())]),
        ("a b > out 2>> err < in", [(("a", "b"), ((">", "out"), ("2>>", "err"), ("<", "in")))]),
        (
            "a>out;b|c&&d||e &",
            [(("a",), ((">", "out"),)), (("b",), ()), (("c",), ()), (("d",), ()), (("e",), ())],
        ),
        ("a $(date +%Y%m%d) `date '+%F'` ${X}", [(("a", "$(date +%Y%m%d)", "`date '+%F'`", "${X}"), ())]),
        ("a 2>&1 >&2", [(("a",), (("2>&", "1"), (">&", "2")))]),
        ("X=1 nohup a b", [(("a", "b"), ())]),
        ("ksh -c 'a b > c'", [(("a", "b"), ((">", "c"),))]),
        ("(cd /x && a) # rest", [(("cd", "/x"), ()), (("a",), ())]),
        (
            "C:\\bin\\a.exe C:\\in\\b.csv > D:\\out\\c.csv",
            [(("C:\\bin\\a.exe", "C:\\in\\b.csv"), ((">", "D:\\out\\c.csv"),))],
        ),
        ('"C:\\a b\\x.exe" "c d"', [(("C:\\a b\\x.exe", "c d"), ())]),
        ("a 'open", [(("a", "open"), ())]),
        ("", []),
    ],
)
def test_a_line_is_taken_apart(line: Any, commands: Any) -> None:
    assert split(line).commands == tuple(Command(*each) for each in commands)


@settings(deadline=None)
@given(st.text("ab '\"\\$`(){}<>|&;#/=%\n", max_size=40))
def test_no_line_is_refused(line: Any) -> None:
    split(line)


def test_variables_set_on_the_line() -> None:
    assert split("D=/data X=1; a").variables == (("D", "/data"), ("X", "1"))


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("/data/a/b.csv", "/data/a/b.csv"),
        ("/data//a/", "/data/a"),
        ("/d/f_20261128.csv", "/d/f_{YYYYMMDD}.csv"),
        ("/d/2026-11-28/f.csv", "/d/{YYYY-MM-DD}/f.csv"),
        ("/d/f_20261128221501.csv", "/d/f_{YYYYMMDDHHMISS}.csv"),
        ("/d/f_12345678.csv", "/d/f_12345678.csv"),
        ("/d/f_YYYYMMDD.csv", "/d/f_{YYYYMMDD}.csv"),
        ("/d/f_`date +%Y%m%d`.csv", "/d/f_{YYYYMMDD}.csv"),
        ("/d/f_$(date -d yesterday '+%Y-%m-%d').csv", "/d/f_{YYYY-MM-DD}.csv"),
        ("/d/f_`hostname`.csv", "/d/f_{...}.csv"),
        ("/d/$$DATE.csv", "/d/$$DATE.csv"),
        ("/d/$${DATE}.csv", "/d/$$DATE.csv"),
        ("/d/$$(DATE).csv", "/d/$$DATE.csv"),
        ("/d/$X/$NEW.csv", "/d/known/${NEW}.csv"),
        ("%Y%\\f.csv", "${Y}\\f.csv"),
        ("/d/%%DATE%%.csv", "/d/${DATE}.csv"),
        ("/d/${AUTO_JOB_NAME}_$AUTORUN.csv", "/d/JOB_{RUN}.csv"),
        ("/d/LEDGER_*.DAT", "/d/LEDGER_*.DAT"),
        ("C:\\d\\f.csv", "C:\\d\\f.csv"),
        ("\\\\host\\share\\f.csv", "\\\\host\\share\\f.csv"),
        ("hdfs:///risk/in", "hdfs:///risk/in"),
        ("s3://bucket//k/20261128/", "s3://bucket/k/{YYYYMMDD}"),
        ("me@host:/d/f.csv", "me@host:/d/f.csv"),
        ("in/f.csv", "in/f.csv"),
        ("./f/x.csv", "f/x.csv"),
        # No data, or no path
        ("/apps/bin/load.ksh", None),
        ("/etc/batch.profile", None),
        ("/dev/null", None),
        ("/", None),
        ("$IN/$OUT", None),
        ("http://host/x.csv", None),
        ("a/b", None),
        ("FIN.GL_DAILY", None),
    ],
)
def test_a_path_becomes_this_pattern(text: Any, pattern: Any) -> None:
    assert pattern_of(text, job="JOB", variables={"X": "known"}) == pattern


# Each row: a command, and what it reads and writes with which confidence.
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cp -p /a/x.csv /b/y.csv", [("/a/x.csv", READS, 0.9), ("/b/y.csv", WRITES, 0.9)]),
        ("mv /a/x.csv /a/z.csv /b", [("/a/x.csv", READS, 0.9), ("/a/z.csv", READS, 0.9), ("/b", WRITES, 0.9)]),
        ("scp -P 22 /a/x.csv me@h:/b/", [("/a/x.csv", READS, 0.9), ("me@h:/b", WRITES, 0.9)]),
        ("gzip /a/x.csv", [("/a/x.csv", READS, 0.9), ("/a/x.csv.gz", WRITES, 0.9)]),
        ("sort -k 2 -o /b/y /a/x", [("/b/y", WRITES, 0.9), ("/a/x", READS, 0.9)]),
        ("tar -czf /b/y.tgz /a/x", [("/b/y.tgz", WRITES, 0.9), ("/a/x", READS, 0.9)]),
        ("tar xf /b/y.tar", [("/b/y.tar", READS, 0.9)]),
        ("touch /flags/done.flag", [("/flags/done.flag", WRITES, 0.9)]),
        ("sqlldr u/p control=/c/x.ctl data=/a/x.dat log=/l/x.log bad=/a/x.bad",
         [("/a/x.dat", READS, 0.9), ("/a/x.bad", WRITES, 0.9)]),
        ("db2 load from /a/x.del of del insert into FIN.T", [("/a/x.del", READS, 0.9)]),
        ('db2 "export to /b/y.ixf of ixf select * from FIN.T"', [("/b/y.ixf", WRITES, 0.9)]),
        ("bcp DB..T out /b/t.bcp -c", [("/b/t.bcp", WRITES, 0.9)]),
        ("hdfs dfs -put -f /a/x.csv /raw/x", [("/a/x.csv", READS, 0.9), ("/raw/x", WRITES, 0.9)]),
        ("hadoop fs -get /raw/x /a/x.csv", [("/raw/x", READS, 0.9), ("/a/x.csv", WRITES, 0.9)]),
        ("aws s3 cp /a/x.csv s3://b/k --sse AES256", [("/a/x.csv", READS, 0.9), ("s3://b/k", WRITES, 0.9)]),
        ("curl -s -o /b/y.json https://h/x", [("/b/y.json", WRITES, 0.9)]),
        ("dd if=/a/x of=/b/y", [("/a/x", READS, 0.9), ("/b/y", WRITES, 0.9)]),
        ("spark-submit --master yarn --jars /l/a.jar /l/app.jar --in hdfs:///i --out=hdfs:///o",
         [("hdfs:///i", READS, 0.9), ("hdfs:///o", WRITES, 0.9)]),
        ("bteq < /s/load.btq > /l/load.log", [("/l/load.log", WRITES, 0.1)]),
        ("/bin/run.ksh -i /a/x.csv --output /b/y.csv /c/z.csv",
         [("/a/x.csv", READS, 0.7), ("/b/y.csv", WRITES, 0.7), ("/c/z.csv", UNKNOWN, 0.4)]),
        ("/bin/run.ksh --input=/a/x.csv --conf=/a/other.csv",
         [("/a/x.csv", READS, 0.7), ("/a/other.csv", UNKNOWN, 0.4)]),
        ("run < /a/x.csv >> /b/y.csv 2> /l/e.txt",
         [("/a/x.csv", READS, 0.8), ("/b/y.csv", WRITES, 0.8), ("/l/e.txt", WRITES, 0.1)]),
        ("cat /a/x.csv | run | tee /b/y.csv", [("/a/x.csv", READS, 0.9), ("/b/y.csv", WRITES, 0.9)]),
        ("D=/data; cp $D/x.csv $OUT/y.csv", [("/data/x.csv", READS, 0.9), ("${OUT}/y.csv", WRITES, 0.45)]),
        ("rm -rf /a/x.csv; echo /a/y.csv; cd /d/e", []),
    ],
)  # fmt: skip
def test_a_command_reads_and_writes(command: Any, expected: Any) -> None:
    text = f"insert_job: J\ncommand: {command}\n"
    found = [
        (each.pattern, one.direction, one.confidence)
        for each in candidates(estate(text))
        for one in each.evidence
    ]
    assert sorted(found) == sorted(expected)


def test_evidence_names_job_attribute_line_and_text() -> None:
    [candidate] = candidates(estate("insert_job: J\nmachine: m\nwatch_file: /in/F_20261128.DAT\n"))
    [evidence] = candidate.evidence
    assert (candidate.pattern, candidate.confidence) == ("/in/F_{YYYYMMDD}.DAT", 0.95)
    assert (evidence.job, evidence.attribute, evidence.file, evidence.line, evidence.text) == (
        "J", "watch_file", "1.jil", 3, "/in/F_20261128.DAT",
    )  # fmt: skip


def test_daily_files_and_spellings_of_one_file_are_one_candidate() -> None:
    found = candidates(
        estate(
            "insert_job: W\ncommand: make > /d/f_`date +%Y%m%d`.csv\n"
            "insert_job: R job_type: f\nwatch_file: /d/f_20261128.csv\n"
            "insert_job: O job_type: c\ncommand: run -i /d/f_YYYYMMDD.csv\n"
        )
    )
    [candidate] = found
    assert (candidate.writers, candidate.readers) == (("W",), ("R", "O"))
    assert candidate.confidence == round(0.95 + 0.05 / 3, 3)


def test_attributes_that_name_files() -> None:
    text = (
        "insert_job: J\nenvvars: D=/data\nstd_in_file: $D/in.dat\n"
        "std_out_file: >>/data/res.txt\nstd_err_file: /data/e.txt\n"
        "insert_job: T job_type: FTP\nftp_local_name: /a/x\nftp_remote_name: /b/x\nftp_transfer_direction: UPLOAD\n"
        "insert_job: S job_type: SCP\nscp_local_name: /c/x\nscp_remote_name: /d/x\nscp_transfer_direction: DOWNLOAD\n"
    )
    found = {each.pattern: (each.evidence[0].direction, each.confidence) for each in candidates(estate(text))}
    assert found == {
        "/data/in.dat": (READS, 0.9),
        "/data/res.txt": (WRITES, 0.3),
        "/data/e.txt": (WRITES, 0.1),
        "/a/x": (READS, 0.95),
        "/b/x": (WRITES, 0.95),
        "/d/x": (READS, 0.95),
        "/c/x": (WRITES, 0.95),
    }


def test_the_most_certain_come_first() -> None:
    text = "insert_job: J\nstd_out_file: /z/a.txt\nwatch_file: /b/x.csv\ncommand: run /a/y.csv\n"
    assert [each.pattern for each in candidates(estate(text))] == ["/b/x.csv", "/a/y.csv", "/z/a.txt"]
