"""`headrace legacy`: the output of each command for the sample estate, as tables and as JSON, and its errors."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from shutil import copytree
from subprocess import run
from typing import Any

import pytest
from typer.testing import Result

from tests.paths import REPOSITORY

Invoke = Callable[..., Result]
Ask = Callable[..., Any]
SAMPLES = Path(__file__).parents[1] / "autosys" / "samples"
NIGHT, FORMS, CALENDARS = (str(SAMPLES / name) for name in ("night_batch.jil", "forms.jil", "calendars.txt"))
ESTATE = (NIGHT, FORMS, CALENDARS)


@pytest.fixture(autouse=True)
def before_the_calendars_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.cli.legacy.commands.today", lambda: date(2026, 12, 1))


@pytest.fixture
def jil(tmp_path: Path) -> Callable[[str], str]:
    """Writes JIL into a file and names it."""

    def write(text: str, name: str = "a.jil") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_the_report_counts_and_lists_findings_by_file_and_line(invoke: Invoke) -> None:
    result = invoke("legacy", "report", *ESTATE)
    assert result.exit_code == 0
    for message in (
        "10: 6 CMD, 2 BOX, 1 FW, 1 DBPROC",
        "13, 1 to jobs of other schedulers",
        "Undefined names: 1",
        f"{NIGHT}:51: warning: FIN_GL_PROC.condition: n(FIN_EOM_CLOSE) names a job that does not exist",
        f"{FORMS}:49: error: RISK.PUB.condition: there is no NOT in conditions",
        "1 error, 4 warnings, 2 infos.",
    ):
        assert message in result.stdout


def test_the_report_in_json(ask: Ask) -> None:
    found = ask("legacy", "report", *ESTATE)
    assert found["counts"]["jobs"] == {"CMD": 6, "BOX": 2, "FW": 1, "DBPROC": 1}
    assert found["steps"][0] == {
        "statement": "update_job", "name": "FIN_LOAD_LEDGER", "affected": ["FIN_LOAD_LEDGER"], "file": FORMS,
        "line": 51,
    }  # fmt: skip
    [error] = [each for each in found["findings"] if each["severity"] == "ERROR"]
    assert (error["rule"], error["file"], error["line"], error["subject"]) == (
        "job/condition", FORMS, 49, "RISK.PUB",
    )  # fmt: skip


def test_the_sections_of_the_report(invoke: Invoke, jil: Callable[[str], str]) -> None:
    text = (
        "insert_job: DEAD\nowner: o\ncondition: s(GONE)\ninsert_job: AFTER\ncondition: s(DEAD)\n"
        "insert_job: C1\nowner: o\ncondition: s(C2)\ninsert_job: C2\nowner: o\ncondition: s(C1)\n"
        "insert_job: ORPHAN\nowner: o\ninsert_job: BOX job_type: b owner: o\ninsert_job: IN box_name: BOX owner: o\n"
        "delete_box: BOX\n"
    )
    message = invoke("legacy", "report", jil(text)).stdout
    titles = [line for line in message.splitlines() if line[:1].isupper() and line.rstrip()[-1:].isdigit()]
    assert [title.rstrip() for title in titles] == [
        "Changes by statements: 1", "Undefined names: 1", "Orphans: 1", "Cycles: 1", "Dead jobs: 2",
        "Jobs without an owner: 1", "Other findings: 10",
    ]  # fmt: skip
    assert "BOX, IN" in message


def test_an_expired_calendar_is_a_finding(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.cli.legacy.commands.today", lambda: date(2026, 12, 30))
    message = invoke("legacy", "report", *ESTATE).stdout
    assert f"{CALENDARS}:1: warning: UK_BUSINESS_DAYS: its last date is 2026-12-29" in message


def test_a_long_section_is_shortened(invoke: Invoke, ask: Ask, jil: Callable[[str], str]) -> None:
    path = jil("".join(f"insert_job: J{number}\nmachine: m\ncommand: x\n" for number in range(30)))
    message = invoke("legacy", "report", path).stdout
    assert "Orphans: 30, the first 20 of them (--json has all)" in message
    assert message.count("[estate/orphan]") == 20
    assert len([each for each in ask("legacy", "report", path)["findings"] if "orphan" in each["rule"]]) == 30


def test_strict_fails_on_errors_alone(invoke: Invoke) -> None:
    assert invoke("legacy", "report", *ESTATE, "--strict").exit_code == 1
    assert invoke("legacy", "report", *ESTATE, "--strict", "--json").exit_code == 1
    assert invoke("legacy", "report", NIGHT, "--strict").exit_code == 0


def test_jobs_with_what_starts_them_and_what_they_wait_for(invoke: Invoke) -> None:
    message = invoke("legacy", "jobs", NIGHT).stdout
    for words in (
        "at 21:55 Monday to Friday, Europe/London",
        "when its box starts, if its condition holds then",
        "s(FIN_WATCH_LEDGER)",
        "file /data/in/ledger/LEDGER_*.DAT",
    ):
        assert words in message
    assert invoke("legacy", "jobs", NIGHT, "--like", "NONE%").stdout == "No matching job.\n"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("FIN_L%", ["FIN_LOAD_LEDGER"]),
        ("*_PROC", ["FIN_GL_PROC"]),
        ("FIN_GL_PROC", ["FIN_GL_PROC"]),
        ("fin%", []),
        ("FIN[_]%", []),
    ],
)
def test_jobs_like_a_pattern(ask: Ask, pattern: str, names: list[str]) -> None:
    assert [job["name"] for job in ask("legacy", "jobs", NIGHT, "--like", pattern)["jobs"]] == names


def test_a_job_in_json_has_its_edges(ask: Ask) -> None:
    [job] = ask("legacy", "jobs", NIGHT, "--like", "FIN_GL_PROC")["jobs"]
    assert (job["type"], job["box"], job["line"]) == ("DBPROC", "FIN_NIGHT_BOX", 44)
    assert [(edge["upstream"], edge["text"], edge["orders"]) for edge in job["edges"]] == [
        ("FIN_LOAD_LEDGER", "s(FIN_LOAD_LEDGER)", True),
        ("REF_CCY_RATES", "d(REF_CCY_RATES, 12.30)", True),
        ("REF_CCY_FALLBACK", "e(REF_CCY_FALLBACK) = 4", True),
        ("FIN_EOM_CLOSE", "n(FIN_EOM_CLOSE)", False),
    ]
    assert {(edge["attribute"], edge["line"]) for edge in job["edges"]} == {("condition", 51)}


def test_an_expected_start_says_why_and_in_which_zone(invoke: Invoke) -> None:
    after = ("--after", "2026-07-03T20:56Z")  # a Friday, one minute past the start in London's summer
    message = " ".join(invoke("legacy", "expected", "FIN_NIGHT_BOX", NIGHT, *after).stdout.split())
    assert "next start 2026-07-06 20:55:00Z" in message
    assert "Mon 2026-07-06 21:55:00 BST" in message
    assert "zone Europe/London" in message
    assert "why the clock: days_of_week, start_times" in message


def test_a_job_without_a_zone_starts_in_that_of_the_server(ask: Ask, invoke: Invoke) -> None:
    words = ("legacy", "expected", "REF_CCY_RATES", *ESTATE, "--after", "2026-12-24T23:59:30Z")
    found = ask(*words, "--zone", "America/New_York")
    assert (found["at"], found["zone"]) == ("2026-12-25T00:00:00Z", "America/New_York")
    assert found["must_start"] == "2026-12-25T00:05:00Z"
    assert found["must_complete"] == "2026-12-25T00:45:00Z"
    assert "not on a day of UK_BANK_HOLIDAYS" in found["why"][0]
    message = " ".join(invoke(*words).stdout.split())
    assert "next start 2026-12-29 18:30:00Z" in message
    assert "zone UTC; the job has no time zone; set the server's with --zone" in message
    assert "must start by 2026-12-29 18:35:00Z" in message


def test_a_described_process_is_expected_by_its_schedule(ask: Ask, invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "processes.yaml").write_text(
        "- name: RM.REVAL\n  technology: run_management\n"
        '  schedule: {at: "02:00", timezone: Europe/London, calendar: PAYDAYS}\n  sla: {start_within: 15m}\n'
    )
    (tmp_path / "calendars.txt").write_text("calendar: PAYDAYS\ndescription: x\n07/01/2026 00:00:00\n")
    found = ask("legacy", "expected", "RM.REVAL", str(tmp_path), "--after", "2026-06-01")
    assert (found["at"], found["must_start"]) == ("2026-07-01T01:00:00Z", "2026-07-01T01:15:00Z")
    assert (found["zone"], found["finish"]) == ("Europe/London", None)
    message = " ".join(
        invoke("legacy", "expected", "RM.REVAL", str(tmp_path), "--after", "2026-07-02").stdout.split()
    )
    assert "next start unknown" in message
    assert "why no day of the calendar PAYDAYS is one of '0 2 * * *'" in message


def test_an_unknown_start_has_a_reason_and_a_lower_bound(ask: Ask, invoke: Invoke) -> None:
    words = ("legacy", "expected", "FIN_LOAD_LEDGER", NIGHT, "--after", "2026-12-04T20:00")
    message = " ".join(invoke(*words).stdout.split())
    assert "next start unknown, but not before 2026-12-04 21:55:00Z" in message
    assert "when FIN_WATCH_LEDGER ends is not known" in message
    found = ask(*words)
    assert (found["at"], found["not_before"], found["zone"]) == (None, "2026-12-04T21:55:00Z", None)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("expected", "fin_night_bx", NIGHT), 1, "no job fin_night_bx in these files; did you mean FIN_NIGHT"),
        (("expected", "ZZZ", NIGHT), 1, "`headrace legacy processes` lists the scanned jobs"),
        (("expected", "FIN_NIGHT_BOX", NIGHT, "--zone", "Nowhere"), 2, "write a name such as Europe/London"),
        (("report", "none.jil"), 2, "'none.jil' does not exist"),
        (("report",), 2, "Missing argument 'FILES'"),
        (("diff", NIGHT), 2, "Missing argument 'NEW'"),
    ],
)  # fmt: skip
def test_what_is_asked_wrongly(invoke: Invoke, words: tuple[str, ...], code: int, message: str) -> None:
    result = invoke("legacy", *words)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.split())


def test_a_directory_is_read_in_order_without_hidden_files(
    ask: Ask, invoke: Invoke, tmp_path: Path, jil: Callable[..., str]
) -> None:
    (tmp_path / "more").mkdir()
    jil("update_job: A\ncommand: b\n", "more/b.jil")
    jil("insert_job: A\ncommand: a\n", "a.jil")
    jil("insert_job: HIDDEN\n", ".a.jil.swp")
    [job] = ask("legacy", "jobs", str(tmp_path))["jobs"]
    assert job["command"] == "b"
    (tmp_path / "empty").mkdir()
    result = invoke("legacy", "report", str(tmp_path / "empty"))
    assert (result.exit_code, "contains no files" in result.stderr) == (1, True)


def test_a_file_that_vanishes_while_files_are_read(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("headrace.terminal.estate_files.files_of", lambda path: [path / "gone.jil"])
    result = invoke("legacy", "jobs", str(tmp_path))
    assert result.exit_code == 1
    assert result.stderr == f"error: {tmp_path / 'gone.jil'} cannot be read: No such file or directory\n"


def test_lost_statements_are_reported_on_stderr(invoke: Invoke) -> None:
    result = invoke("legacy", "jobs", FORMS, "--json")
    assert json.loads(result.stdout)["jobs"]
    assert result.stderr == f"1 error in {FORMS}; `headrace legacy report` shows what was lost.\n"


def test_candidates_with_evidence_and_confidence(ask: Ask, invoke: Invoke) -> None:
    found = {each["pattern"]: each for each in ask("legacy", "candidates", NIGHT)["candidates"]}
    assert "/apps/fin/log/load.out" not in found
    watched = found["/data/in/ledger/LEDGER_*.DAT"]
    assert (watched["confidence"], watched["writers"], watched["readers"]) == (0.95, [], ["FIN_WATCH_LEDGER"])
    [evidence] = watched["evidence"]
    assert (evidence["attribute"], evidence["file"], evidence["line"]) == ("watch_file", NIGHT, 21)
    message = invoke("legacy", "candidates", NIGHT).stdout
    assert "/data/out/ledger/ledger_$$AUTORUN.parquet" in message
    assert "3 below confidence 0.2 omitted; --at-least 0 shows them." in message
    everything = ask("legacy", "candidates", NIGHT, "--at-least", "0")["candidates"]
    assert len(everything) == len(found) + 3


def test_long_tables_are_shortened_and_json_is_not(
    ask: Ask, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.cli.legacy.commands.MAX_ROWS", 2)
    jobs, candidates = (invoke("legacy", each, NIGHT).stdout for each in ("jobs", "candidates"))
    assert "FIN_WATCH_LEDGER" in jobs
    assert "FIN_LOAD_LEDGER" not in jobs
    assert "Showing 2 of 5; filter with --like, or use --json for all." in jobs
    assert "The 2 most confident of 4; --json has all." in candidates
    assert len(ask("legacy", "jobs", NIGHT)["jobs"]) == 5


def test_a_difference(ask: Ask, invoke: Invoke, jil: Callable[..., str]) -> None:
    old = jil("insert_job: A\ncommand: a\nenvvars: X=1\nenvvars: Y=1\ninsert_job: B\n", "old.jil")
    new = jil("insert_job: C\ninsert_job: A\nenvvars: X=1\nenvvars: Y=2\ncommand: b\n", "new.jil")
    assert ask("legacy", "diff", old, new) == {
        "added": ["C"],
        "changed": {
            "A": [
                {"attribute": "command", "before": ["a"], "after": ["b"]},
                {"attribute": "envvars", "before": ["X=1", "Y=1"], "after": ["X=1", "Y=2"]},
            ]
        },
        "removed": ["B"],
    }
    lines = invoke("legacy", "diff", old, new).stdout.splitlines()
    assert lines[0] == "1 added, 1 changed, 1 removed."
    assert ["A", "envvars", "Y=1", "Y=2"] in [line.split() for line in lines]
    assert invoke("legacy", "diff", old, old).stdout == "Nothing differs.\n"


def test_what_the_page_about_estates_shows_is_what_the_commands_print(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copytree(SAMPLES, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    page = (REPOSITORY / "docs" / "autosys.md").read_text(encoding="utf-8")
    page, _, _ = page.partition("## Scan into the catalog")  # what follows needs more than files
    shown = re.findall(r"^\$ (.*)\n((?:(?!\$ |```).*\n)*)", page, re.MULTILINE)
    assert {shlex.split(line)[2] for line, _ in shown if line.startswith("headrace legacy ")} == {
        "report", "jobs", "expected", "candidates", "diff",
    }  # fmt: skip
    for line, output in shown:
        if line.startswith("headrace "):
            printed = invoke(*shlex.split(line)[1:]).stdout
            assert [each.rstrip() for each in printed.strip("\n ").splitlines()] == [
                each.rstrip() for each in output.strip("\n ").splitlines()
            ]
        else:
            run(["sh", "-c", line], check=True)


def test_neither_database_nor_spark_is_needed() -> None:
    script = f"""
import sys
from headrace.cli import app
try:
    app(["legacy", "report", {NIGHT!r}])
except SystemExit as end:
    assert not end.code, end.code
print("\\n" + " ".join(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""
    done = run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"dagster", "pyspark", "pandera", "pandas", "sqlalchemy", "psycopg"} & set(
        done.stdout.splitlines()[-1].split()
    )
