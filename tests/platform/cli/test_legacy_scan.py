"""`headrace legacy scan`, `review`, `confirm`, `processes` and `adopt`, from the files to the catalog and back."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml
from sqlalchemy import Engine, text
from typer.testing import Result

from headrace import queries
from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.estates.described.processes import read_processes
from headrace.registration.declarations import register
from tests.paths import REPOSITORY

Invoke = Callable[..., Result]
Ask = Callable[..., Any]
SAMPLES = Path(__file__).parents[1] / "autosys" / "samples"
JIL = (
    "insert_job: BOX   job_type: BOX \nowner: ops@unx\n"
    "insert_job: WATCH   job_type: FW \nbox_name: BOX\nwatch_file: /data/in/ledger_20261128.csv\n"
    "insert_job: LOAD   job_type: CMD \nbox_name: BOX\nmachine: m1\ncondition: s(WATCH)\n"
    "command: load.sh < /data/in/ledger_20261127.csv > /data/out/ledger.dat\n"
)


@pytest.fixture
def estate(tmp_path: Path) -> Path:
    path = tmp_path / "a.jil"
    path.write_text(JIL)
    return path


def unscanned(engine: Engine, name: str) -> None:
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO catalog.process (organisation_id, process_key, technology, trigger_mode, owners, steps, "
                "metadata_json, declaration_hash, external_name, lifecycle) SELECT organisation_id, "
                "'AUTOSYS/' || :name, 'AUTOSYS', 'PROCESS', '{}', '[]', '{}', '', :name, 'UNSCANNED' "
                "FROM catalog.organisation"
            ),
            {"name": name},
        )


def edges(engine: Engine) -> set[tuple[str, str, str]]:
    with engine.connect() as connection:
        rows = connection.execute(
            text(
                "SELECT process_key, edge_role, full_name FROM catalog.lineage_edge edge "
                "JOIN catalog.process USING (process_id) JOIN catalog.dataset "
                "ON dataset_id = CASE edge_role WHEN 'PRODUCES' THEN target_id ELSE source_id END "
                "WHERE edge.valid_to IS NULL AND edge_role <> 'DERIVES'"
            )
        )
        return {tuple(row) for row in rows}


def test_a_scan_shows_its_plan_and_stores_it(engine: Engine, invoke: Invoke, estate: Path) -> None:
    message = invoke("legacy", "scan", str(estate), "--dry-run").stdout
    assert "added      3" in message
    assert "Nothing stored." in message
    assert invoke("legacy", "processes").stdout == "No processes have been scanned yet.\n"
    assert invoke("legacy", "scan", str(estate)).stdout.endswith("Stored.\n")
    estate.write_text(JIL.replace("m1", "m2") + "insert_job: NEW\nmachine: m1\n")
    message = invoke("legacy", "scan", str(estate)).stdout
    assert "LOAD      machine     m1     m2" in message
    assert "NEW" in message


def test_a_scan_in_json(engine: Engine, ask: Ask, estate: Path) -> None:
    found = ask("legacy", "scan", str(estate), "--instance", "PRD")
    assert found["stored"]
    assert found["instance"] == "PRD"
    assert found["counts"]["added"] == 3
    assert found["files"][0]["path"] == str(estate)


def test_lost_statements_are_reported_by_file_and_line(engine: Engine, invoke: Invoke, estate: Path) -> None:
    estate.write_text(JIL + "insert_job: BAD\ncondition: !s(LOAD)\n")
    message = invoke("legacy", "scan", str(estate)).stdout
    assert f"{estate}:12: error: BAD.condition: there is no NOT in conditions" in message
    assert "1 errors" not in message
    assert "1 error, " in message


def test_an_incomplete_file_needs_a_word(engine: Engine, invoke: Invoke, estate: Path) -> None:
    invoke("legacy", "scan", str(estate))
    estate.write_text("insert_job: BOX   job_type: BOX \nowner: ops@unx\n")
    refused = invoke("legacy", "scan", str(estate))
    assert refused.exit_code == 1
    assert "2 of 3 known processes are not in these files" in refused.stderr
    assert invoke("legacy", "scan", str(estate), "--yes").exit_code == 0


def test_processes_are_listed_with_their_lifecycle(
    engine: Engine, ask: Ask, invoke: Invoke, estate: Path
) -> None:
    invoke("legacy", "scan", str(estate))
    found = ask("legacy", "processes", "--like", "LO%")["processes"]
    [load] = found
    assert (load["key"], load["lifecycle"], load["condition"]) == ("AUTOSYS/BOX/LOAD", "ACTIVE", "s(WATCH)")
    assert load["place"] == f"{estate}:6"
    assert load["run_state"] is None
    assert "AUTOSYS/BOX/WATCH" in invoke("legacy", "processes").stdout
    assert invoke("legacy", "processes", "--like", "l_ad").stdout == "No matching process.\n"


def test_an_unscanned_job_is_adopted(engine: Engine, invoke: Invoke, ask: Ask, estate: Path) -> None:
    invoke("legacy", "scan", str(estate))
    unscanned(engine, "EXTRA")
    assert [each["name"] for each in ask("legacy", "unscanned")["processes"]] == ["EXTRA"]
    assert "did you mean EXTRA" in invoke("legacy", "adopt", "EXTRAS").stderr
    message = invoke("legacy", "adopt", "EXTRA", "--box", "BOX", "--owner", "team:ops")
    assert message.stdout == "AUTOSYS/BOX/EXTRA is active.\n"
    assert ask("legacy", "unscanned")["processes"] == []
    assert "is active: a scan knows it" in invoke("legacy", "adopt", "LOAD").stderr
    assert "no box BOXX; did you mean BOX?" in invoke("legacy", "adopt", "EXTRA", "--box", "BOXX").stderr
    assert invoke("legacy", "adopt", "EXTRA", "--box", "").stdout == "AUTOSYS/EXTRA is active.\n"
    assert invoke("legacy", "adopt", "EXTRA", "--box", "BOX").stdout == "AUTOSYS/BOX/EXTRA is active.\n"
    invoke("legacy", "scan", str(estate))  # has it still not
    [extra] = ask("legacy", "processes", "--like", "EXTRA")["processes"]
    assert (extra["lifecycle"], extra["owners"], extra["box"]) == ("ACTIVE", ["team:ops"], "BOX")
    estate.write_text(JIL + "insert_job: EXTRA\nmachine: m\n")
    found = ask("legacy", "scan", str(estate))
    assert (found["taken_over"], found["changed"]) == (["EXTRA"], {})


def test_a_confirmed_candidate_is_a_dataset_with_its_jobs(
    engine: Engine, invoke: Invoke, ask: Ask, estate: Path
) -> None:
    invoke("legacy", "scan", str(estate))
    pattern = "/data/in/ledger_{YYYYMMDD}.csv"
    assert ask("datasets")["datasets"] == []
    assert "did you mean" in invoke("legacy", "confirm", "/data/in/ledger.csv", "--as", "fin/raw").stderr
    assert "is not a valid dataset key" in invoke("legacy", "confirm", pattern, "--as", "raw").stderr
    message = invoke("legacy", "confirm", pattern, "--as", "fin/raw", "--owner", "team:fin")
    assert message.stdout == f"{pattern} is confirmed as fin/raw.\n"
    invoke("legacy", "confirm", "/data/out/ledger.dat", "--as", "fin/loaded")
    detail = queries.dataset(engine, "fin/raw")
    assert (detail.format, detail.owners, detail.metadata["location"]) == ("csv", ("team:fin",), pattern)
    assert edges(engine) == {
        ("AUTOSYS/BOX/WATCH", "CONSUMES", "fin/raw"),
        ("AUTOSYS/BOX/LOAD", "CONSUMES", "fin/raw"),
        ("AUTOSYS/BOX/LOAD", "PRODUCES", "fin/loaded"),
    }
    assert queries.dataset(engine, "fin/loaded").upstream == ("fin/raw",)
    with engine.connect() as connection:
        registered = connection.execute(
            text(
                "SELECT status, reviewer IS NOT NULL, review_comment FROM catalog.dataset_registration ORDER BY 3"
            )
        ).all()
    assert registered == [
        ("APPROVED", True, f"found as {pattern}"),
        ("APPROVED", True, "found as /data/out/ledger.dat"),
    ]
    estate.write_text(JIL + "insert_job: MORE\nmachine: m\ncommand: cat < /data/in/ledger_20261101.csv\n")
    invoke("legacy", "scan", str(estate))
    assert ("AUTOSYS/MORE", "CONSUMES", "fin/raw") in edges(engine)
    invoke("legacy", "reject", "/data/out/ledger.dat")
    assert ("AUTOSYS/BOX/LOAD", "PRODUCES", "fin/loaded") not in edges(engine)


def test_producers_and_readers_can_be_given_if_the_evidence_is_open(
    engine: Engine, invoke: Invoke, estate: Path
) -> None:
    estate.write_text(JIL + "insert_job: PACK\nmachine: m\ncommand: pack.sh /data/packed.csv\n")
    invoke("legacy", "scan", str(estate))
    assert invoke("legacy", "confirm", "/data/packed.csv", "--as", "fin/packed").exit_code == 0
    assert edges(engine) == set()
    message = ("--written-by", "PACK", "--read-by", "AUTOSYS/BOX/LOAD")
    invoke("legacy", "confirm", "/data/packed.csv", "--as", "fin/packed", *message)
    wanted = {("AUTOSYS/PACK", "PRODUCES", "fin/packed"), ("AUTOSYS/BOX/LOAD", "CONSUMES", "fin/packed")}
    assert edges(engine) == wanted
    invoke("legacy", "scan", str(estate))
    assert edges(engine) == wanted
    register(engine, [DatasetRecord("fin/declared", "csv")])
    refused = invoke("legacy", "confirm", "/data/out/ledger.dat", "--as", "fin/declared", "--read-by", "PACK")
    assert "it is declared; name its producer there, with `produced_by`" in refused.stderr


def test_a_review_file_goes_out_and_comes_back(
    engine: Engine, invoke: Invoke, ask: Ask, estate: Path, tmp_path: Path
) -> None:
    invoke("legacy", "scan", str(estate), "--instance", "PRD")
    file = tmp_path / "review.yaml"
    assert "2 candidates" in invoke("legacy", "review", "--export", str(file)).stdout
    written = file.read_text()
    assert f"# reads WATCH ({estate}:5), watch_file: /data/in/ledger_20261128.csv" in written
    entries = yaml.safe_load(written)
    assert [(each["decision"], each["instance"]) for each in entries] == [("pending", "PRD")] * 2
    assert invoke("legacy", "review", "--apply", str(file)).stdout == "0 of 2 decisions were new.\n"
    file.write_text(
        written.replace("decision: pending\n  dataset:", "decision: confirm\n  dataset: fin/raw", 1)
    )
    assert ask("legacy", "review", "--apply", str(file)) == {"decided": 1, "errors": []}
    assert ask("legacy", "review", "--apply", str(file)) == {"decided": 0, "errors": []}
    [row, _] = ask("legacy", "review", "--all")["candidates"]
    assert (row["status"], row["dataset"]) == ("CONFIRMED", "fin/raw")
    assert len(ask("legacy", "review")["candidates"]) == 1


def test_a_wrong_entry_of_a_review_is_lost_alone(
    engine: Engine, invoke: Invoke, estate: Path, tmp_path: Path
) -> None:
    invoke("legacy", "scan", str(estate))
    file = tmp_path / "review.yaml"
    file.write_text(
        "- pattern: /data/out/ledger.dat\n  decision: confirm\n\n"
        "- pattern: '/data/in/ledger_{YYYYMMDD}.csv'\n  decision: confirm\n  dataset: fin/raw\n"
        "- pattern: a\n  decision: perhaps\n- pattern: [\n"
    )
    result = invoke("legacy", "review", "--apply", str(file))
    assert result.exit_code == 1
    assert result.stdout == "1 of 1 decisions were new.\n"
    for message in (
        f"{file}:1: error: /data/out/ledger.dat: a confirmed candidate needs a `dataset: domain/name`",
        f"{file}:8: error: a.decision: input should be 'pending', 'confirm' or 'reject'",
        f"{file}:10: error: invalid YAML",
    ):
        assert message in result.stderr


def test_a_dataset_that_spark_computes_takes_no_file(engine: Engine, invoke: Invoke, estate: Path) -> None:
    register(
        engine,
        [DatasetRecord("fin/sums", "parquet", declared_at="assets/fin/defs.yaml:1")],
        [ProcessRecord("fin/sums", Technology.SPARK, outputs=("fin/sums",))],
    )
    invoke("legacy", "scan", str(estate))
    refused = invoke("legacy", "confirm", "/data/out/ledger.dat", "--as", "fin/sums")
    assert refused.exit_code == 1
    message = (
        "fin/sums is computed by Spark here (assets/fin/defs.yaml:1), and takes no versions from elsewhere"
    )
    assert message in " ".join(refused.stderr.split())
    assert ("AUTOSYS/BOX/LOAD", "PRODUCES", "fin/sums") not in edges(engine)


def test_an_unknown_writer_is_refused_with_near_names(engine: Engine, invoke: Invoke, estate: Path) -> None:
    invoke("legacy", "scan", str(estate))
    refused = invoke("legacy", "confirm", "/data/out/ledger.dat", "--as", "fin/raw", "--written-by", "LAOD")
    assert refused.exit_code == 1
    assert "no process is named LAOD; did you mean LOAD?" in " ".join(refused.stderr.split())


def test_every_wrong_decision_of_a_review_is_reported_at_once(
    engine: Engine, invoke: Invoke, estate: Path, tmp_path: Path
) -> None:
    invoke("legacy", "scan", str(estate))
    file = tmp_path / "review.yaml"
    file.write_text(
        "- pattern: /data/nowhere.csv\n  decision: reject\n"
        "- pattern: /data/out/ledger.dat\n  decision: confirm\n  dataset: fin/out\n  written_by: NO_SUCH_JOB\n"
        "- pattern: '/data/in/ledger_{YYYYMMDD}.csv'\n  decision: confirm\n  dataset: fin/raw\n"
        "- pattern: a\n  decision: maybe\n"
    )
    result = invoke("legacy", "review", "--apply", str(file))
    assert (result.exit_code, result.stdout) == (1, "1 of 3 decisions were new.\n")
    for message in (
        f"{file}:1: error: /data/nowhere.csv: no scan has found /data/nowhere.csv",
        f"{file}:3: error: /data/out/ledger.dat: no process is named NO_SUCH_JOB",
        f"{file}:11: error: a.decision: input should be",
    ):
        assert message in result.stderr


def test_the_lineage_of_a_process_is_found_by_its_key(engine: Engine, invoke: Invoke, tmp_path: Path) -> None:
    described = tmp_path / "p.yaml"
    described.write_text("- name: RM.NIGHTLY_REVAL\n  technology: run_management\n  writes: /data/a.csv\n")
    invoke("legacy", "scan", str(described))
    invoke("legacy", "confirm", "/data/a.csv", "--as", "risk/reval")
    shown = invoke("lineage", "RUNMGR/RM.NIGHTLY_REVAL", "--down")
    assert (shown.exit_code, shown.stdout.split()[-1]) == (0, "risk/reval")
    assert "not registered in the catalog" in invoke("lineage", "RUNMGR/RM.OTHER").stderr


def test_the_json_of_a_plan_is_one_document(engine: Engine, invoke: Invoke, estate: Path) -> None:
    invoke("legacy", "scan", str(estate))
    estate.write_text(JIL.replace("m1", "m2"))
    changed = json.loads(invoke("legacy", "scan", str(estate), "--json", "--dry-run").stdout)["changed"]
    assert changed == {"LOAD": [{"attribute": "machine", "before": ["m1"], "after": ["m2"]}]}


def test_the_page_shows_what_a_scan_prints(
    engine: Engine, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copytree(SAMPLES, tmp_path / "samples")
    monkeypatch.chdir(tmp_path / "samples")
    page = (REPOSITORY / "docs" / "autosys.md").read_text(encoding="utf-8")
    section = page.partition("## Scan into the catalog")[2]
    files = ("night_batch.jil", "forms.jil", "calendars.txt")
    assert f"headrace legacy scan {' '.join(files)}\n" in section
    invoke("legacy", "scan", *files)
    night = Path("night_batch.jil").read_text()
    Path("night_batch.jil").write_text(night.replace("21:55", "22:10").replace("n_retrys: 2\n", ""))
    printed = [line.rstrip() for line in invoke("legacy", "scan", *files).stdout.splitlines()]
    [shown] = re.findall(r"```text\n(files .*?)\n```", section, re.DOTALL)
    assert [line.rstrip() for line in shown.splitlines()] == printed[: len(shown.splitlines())]
    [described] = re.findall(r"```yaml\n(- name.*?)\n```", section, re.DOTALL)
    assert read_processes(described, "page")[1] == ()
    for line in re.findall(r"^headrace legacy (?:review|confirm|reject).*?(?=  #|$)", section, re.MULTILINE):
        if "--export" not in line and "--apply" not in line and "/tmp/" not in line:
            assert invoke(*shlex.split(line)[1:]).exit_code == 0, line


@pytest.mark.parametrize("text", ["processes:\n  - name: A\n", "", "some words\n"])
def test_files_without_statements_are_an_error(
    engine: Engine, invoke: Invoke, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(text)
    result = invoke("legacy", "scan", str(file))
    assert result.exit_code == 1
    assert "no jobs or other processes in these files" in " ".join(result.stderr.split())


def test_the_next_start_is_the_same_from_catalog_and_files(engine: Engine, invoke: Invoke) -> None:
    files = [str(SAMPLES / name) for name in ("night_batch.jil", "forms.jil", "calendars.txt")]
    words = (
        "legacy",
        "expected",
        "REF_CCY_RATES",
        "--zone",
        "Europe/London",
        "--after",
        "2026-12-24T23:59:30",
    )
    invoke("legacy", "scan", *files, "--instance", "PRD")
    assert invoke(*words, "--instance", "PRD").stdout == invoke(*words, *files).stdout
    assert "no job REF_CCY_RATES in the catalog" in " ".join(invoke(*words).stderr.split())


def test_kept_and_doubtful_processes_are_listed(engine: Engine, invoke: Invoke, estate: Path) -> None:
    described = estate.with_name("p.yaml")
    described.write_text("- name: a.sh\n  technology: shell\n  after: autosys/LAOD\n")
    message = invoke("legacy", "scan", str(estate), str(described)).stdout
    assert f"{described}:3: warning: a.sh.after: autosys/LAOD is neither in these files" in message
    described.write_text("- name: a sh\n  technology: shell\n")
    message = invoke("legacy", "scan", str(estate), str(described)).stdout
    assert "kept       1" in message
    assert "SHELL/a.sh" in message


def test_descriptions_are_stored_as_of_no_instance(engine: Engine, invoke: Invoke, tmp_path: Path) -> None:
    described = tmp_path / "p.yaml"
    described.write_text("- name: a.sh\n  technology: shell\n  reads: /data/a.csv\n")
    assert invoke("legacy", "scan", str(described), "--instance", "PRD").stdout.endswith("Stored.\n")
    refused = invoke("legacy", "confirm", "/data/a.csv", "--as", "fin/a", "--instance", "PRD").stderr
    assert "/data/a.csv was found without an instance; omit `--instance`" in " ".join(refused.split())
