"""Every sample file is read completely, or has findings with lines."""

from pathlib import Path
from typing import Any

import pytest

from headrace.autosys.estate import read_estate
from headrace.autosys.jil import read, scan, write
from headrace.severity import Severity

SAMPLES = Path(__file__).parent / "samples"

# File, statements, jobs after all statements, findings of reading as (line, rule).
EXPECTED = [
    ("night_batch.jil", 5, 5, []),
    ("forms.jil", 14, 5, [(55, "jil/stray-line"), (49, "job/condition")]),
]  # fmt: skip


def test_no_sample_is_left_out() -> None:
    assert sorted(str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*.jil")) == sorted(
        name for name, *_ in EXPECTED
    )


@pytest.mark.parametrize(("name", "statements", "jobs", "findings"), EXPECTED)
def test_a_sample_comes_to_these_figures(name: Any, statements: Any, jobs: Any, findings: Any) -> None:
    path = SAMPLES / name
    assert len(read(path.read_bytes(), name).statements) == statements
    estate = read_estate([path])
    assert len(estate.jobs) == jobs
    reported = [(each.line, each.rule) for each in estate.findings if each.rule != "estate/nothing-to-change"]
    assert sorted(reported) == sorted(findings)


@pytest.mark.parametrize("name", [name for name, *_ in EXPECTED])
def test_a_sample_written_and_read_again_means_the_same(name: Any) -> None:
    first = read((SAMPLES / name).read_bytes(), name).statements
    again = scan(write(first), name)
    assert [each.meaning for each in again.statements] == [each.meaning for each in first]
    assert [each.rule for each in again.findings if each.severity is Severity.ERROR] == []


def test_a_wrong_condition_is_reported_by_line_and_the_job_stays() -> None:
    estate = read_estate([SAMPLES / "night_batch.jil", SAMPLES / "forms.jil"])
    [wrong] = [each for each in estate.findings if each.rule == "job/condition"]
    assert (Path(wrong.file).name, wrong.line, wrong.subject, wrong.attribute) == (
        "forms.jil",
        49,
        "RISK.PUB",
        "condition",
    )
    assert "there is no NOT" in wrong.message
    assert estate.jobs["RISK.PUB"].command == "cp /risk/out/positions.csv /data/out/risk/positions.csv"
    assert estate.jobs["RISK.PUB"].condition is None


def test_attributes_on_one_line_are_separated() -> None:
    job = read_estate([SAMPLES / "night_batch.jil"]).jobs["FIN_EXTRACT_GL"]
    assert job.type == "CMD"
    assert job.command == "/apps/fin/bin/unload.sh FIN.GL_DAILY /data/out/gl/gl_daily.csv"
    assert (
        job.values["condition"] == 'success(FIN_GL_PROC) and v(FIN_OPEN) = "Y" and s(RISK_POSITIONS^PRD, 0)'
    )


def test_an_update_in_a_later_file_changes_the_job_and_keeps_its_own_place() -> None:
    estate = read_estate([SAMPLES / "night_batch.jil", SAMPLES / "forms.jil"])
    job = estate.jobs["FIN_LOAD_LEDGER"]
    assert job.schedule.max_run_alarm == 60
    file, line = job.place("max_run_alarm")
    assert (Path(file).name, line) == ("forms.jil", 52)


def test_everything_that_is_no_job_is_kept() -> None:
    things = read_estate([SAMPLES / "night_batch.jil", SAMPLES / "forms.jil"]).things
    assert {kind: list(named) for kind, named in things.items()} == {
        "machine": ["unxhost01", "pool_risk"],
        "resource": ["RISK_SLOTS"],
        "glob": ["FIN_OPEN"],
        "xinst": ["PRD"],
    }
    assert things["glob"]["FIN_OPEN"].get("value") == "Y"


def test_a_file_that_is_no_jil_is_one_finding_and_no_error() -> None:
    estate = read_estate([SAMPLES / "README.md"])
    assert [(each.rule, each.line, each.severity) for each in estate.findings] == [
        ("jil/nothing", 0, Severity.WARNING)
    ]
