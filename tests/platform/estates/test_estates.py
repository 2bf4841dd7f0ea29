"""Scanning an estate: the catalog after one scan and after several, and what is never lost or duplicated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from headrace.autosys import lint, read_estate
from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.database.connection import transaction
from headrace.declarations.loading.known import known
from headrace.declarations.loading.project import load, records
from headrace.errors import ScanRefused
from headrace.estates.estates import MassRetirementRefused, scan
from headrace.estates.plan import Plan
from headrace.estates.stored_estate import stored_estate
from headrace.registration.declarations import register
from tests.paths import REPOSITORY

BOX = "insert_job: BOX   job_type: BOX \nowner: ops@unx\napplication: APP\n"
LOAD = (
    "insert_job: LOAD   job_type: CMD \nbox_name: BOX\nmachine: m1\nowner: ops@unx\ndescription: load it\n"
    "condition: s(WATCH, 12.00) & n(BLOCK) & d(FAR^PRD)\ncommand: load.sh < /data/in/a.csv > /data/out/b.dat\n"
)
WATCH = "insert_job: WATCH   job_type: FW \nbox_name: BOX\nmachine: m1\nwatch_file: /data/in/a.csv\n"
ESTATE = BOX + WATCH + LOAD


def run(engine: Engine, tmp_path: Path, *texts: str, **given: Any) -> Plan:
    files = []
    for number, content in enumerate(texts):
        file = tmp_path / f"{number}.jil"
        file.write_text(content)
        files.append(file)
    return scan(engine, files, **given)


def rows(engine: Engine, query: str) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(text(query)).mappings()]


def processes(engine: Engine) -> dict[str, str]:
    found = rows(engine, "SELECT process_key, lifecycle FROM catalog.process ORDER BY 1")
    return {row["process_key"]: row["lifecycle"] for row in found}


def state(engine: Engine) -> Sequence[Any]:
    """Everything that scans keep, ids and times apart."""
    return [
        rows(
            engine,
            "SELECT process_key, description, owners, source, metadata_json, declaration_hash, instance, "
            "external_name, lifecycle FROM catalog.process ORDER BY process_key",
        ),
        rows(
            engine,
            "SELECT process_key, upstream_technology, upstream_instance, upstream_name, attribute, condition, orders, "
            "valid_to IS NULL AS holds FROM catalog.process_dependency JOIN catalog.process USING (process_id) "
            "ORDER BY 1, 2, 3, 4, 5, 6, 8",
        ),
        rows(
            engine,
            "SELECT process_key, direction, pattern, status, confidence, attribute, excerpt, evidence.line "
            "FROM catalog.candidate_evidence evidence JOIN catalog.dataset_candidate USING (candidate_id) "
            "JOIN catalog.process USING (process_id) ORDER BY 1, 2, 3",
        ),
    ]


def places(engine: Engine) -> list[dict[str, Any]]:
    return rows(
        engine,
        "SELECT process_key, file, line, text_line, text_digest, lost FROM catalog.process_place "
        "JOIN catalog.process USING (process_id) ORDER BY 1",
    )


def test_a_job_is_kept_with_all_that_its_files_say(engine: Engine, tmp_path: Path) -> None:
    plan = run(engine, tmp_path, ESTATE)
    assert plan.added == ("BOX", "WATCH", "LOAD")
    assert processes(engine) == {
        "AUTOSYS/BOX": "ACTIVE",
        "AUTOSYS/BOX/LOAD": "ACTIVE",
        "AUTOSYS/BOX/WATCH": "ACTIVE",
    }
    [load] = rows(engine, "SELECT * FROM catalog.process WHERE external_name = 'LOAD'")
    assert (load["technology"], load["description"], load["owners"]) == ("AUTOSYS", "load it", ["ops@unx"])
    assert load["source"] == LOAD
    metadata = load["metadata_json"]
    assert metadata["machine"] == "m1"
    assert metadata["schedule"] == "when its box starts, if its condition holds then"
    assert metadata["condition"] == "s(WATCH, 12.00) & n(BLOCK) & d(FAR^PRD)"
    assert ["command", "load.sh < /data/in/a.csv > /data/out/b.dat"] in metadata["attributes"]
    place = {each["process_key"]: (each["file"], each["line"]) for each in places(engine)}
    assert place["AUTOSYS/BOX/LOAD"] == (str(tmp_path / "0.jil"), 8)


def test_dependencies_keep_their_condition_and_the_name_of_what_is_not_there(
    engine: Engine, tmp_path: Path
) -> None:
    run(engine, tmp_path, ESTATE, instance="TST")
    found = rows(engine, "SELECT * FROM catalog.process_dependency ORDER BY upstream_name")
    assert [
        (one["upstream_instance"], one["upstream_name"], one["condition"], one["attribute"], one["orders"])
        for one in found
    ] == [
        ("TST", "BLOCK", "n(BLOCK)", "condition", False),
        ("PRD", "FAR", "d(FAR^PRD)", "condition", True),
        ("TST", "WATCH", "s(WATCH, 12.00)", "condition", True),
    ]


def test_candidates_wait_for_a_decision(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE)
    found = {(each["pattern"], each["process_key"], each["direction"]) for each in state(engine)[2]}
    assert found == {
        ("/data/in/a.csv", "AUTOSYS/BOX/WATCH", "reads"),
        ("/data/in/a.csv", "AUTOSYS/BOX/LOAD", "reads"),
        ("/data/out/b.dat", "AUTOSYS/BOX/LOAD", "writes"),
    }
    assert {each["status"] for each in state(engine)[2]} == {"PENDING"}
    assert rows(engine, "SELECT * FROM catalog.dataset") == []


def test_the_second_scan_shows_changes_by_attribute(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE)
    changed = ESTATE.replace("12.00", "06.00").replace("machine: m1\nowner", "machine: m2\nowner")
    plan = run(engine, tmp_path, changed + "insert_job: NEW\nmachine: m1\n")
    assert (plan.added, plan.removed) == (("NEW",), ())
    assert {(change.attribute, change.before, change.after) for change in plan.changed["LOAD"]} == {
        (
            "condition",
            ("s(WATCH, 12.00) & n(BLOCK) & d(FAR^PRD)",),
            ("s(WATCH, 06.00) & n(BLOCK) & d(FAR^PRD)",),
        ),
        ("machine", ("m1",), ("m2",)),
    }
    held = rows(
        engine,
        "SELECT condition, valid_to IS NULL AS holds FROM catalog.process_dependency WHERE upstream_name = 'WATCH' "
        "ORDER BY valid_from",
    )
    assert held == [
        {"condition": "s(WATCH, 12.00)", "holds": False},
        {"condition": "s(WATCH, 06.00)", "holds": True},
    ]


def test_what_is_only_written_otherwise_has_not_changed(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE)
    plan = run(engine, tmp_path, ESTATE.replace("s(WATCH, 12.00)", "success(WATCH,12.00)") + "\n# end\n")
    assert (plan.added, plan.changed, plan.removed) == ((), {}, ())


def test_jobs_that_move_within_the_files_keep_their_new_place(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE)
    before = {each["process_key"]: each["line"] for each in places(engine)}
    plan = run(engine, tmp_path, f"# one\n# two\n{ESTATE}")
    assert plan.counts["changed"] == 0
    assert {each["process_key"]: each["line"] for each in places(engine)} == {
        key: line + 2 for key, line in before.items()
    }


@pytest.mark.parametrize("largest", [1, 2, 4, 500])
def test_only_lines_below_a_change_move(
    engine: Engine, tmp_path: Path, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.estates.storage._MAX_BLOCK_TEXTS", largest)
    jobs = [f"insert_job: J{number}\nmachine: m\n" for number in range(6)]
    run(engine, tmp_path, "".join(jobs))
    run(engine, tmp_path, "".join(jobs), instance="PRD")  # the same file, and another estate
    other = [each for each in places(engine) if "/PRD/" in each["process_key"]]
    jobs[1] += "priority: 1\n"
    jobs[3] = ""
    plan = run(engine, tmp_path, "".join(jobs))
    assert (set(plan.changed), plan.removed) == ({"J1"}, ("J3",))
    found = {each["process_key"]: (each["line"], each["text_line"]) for each in places(engine)}
    lines = {"J0": 1, "J1": 3, "J2": 6, "J4": 8, "J5": 10}
    assert {key: found[f"AUTOSYS/{key}"] for key in lines} == {key: (at, at) for key, at in lines.items()}
    assert [each for each in places(engine) if "/PRD/" in each["process_key"]] == other
    jobs[0], jobs[5] = jobs[5], jobs[0]
    assert run(engine, tmp_path, "".join(jobs)).counts["changed"] == 0
    found = {each["process_key"]: each["line"] for each in places(engine)}
    assert (found["AUTOSYS/J5"], found["AUTOSYS/J0"], found["AUTOSYS/J2"]) == (1, 10, 6)  # type: ignore[comparison-overlap]


def test_places_are_right_after_any_changes(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.estates.storage._MAX_BLOCK_TEXTS", 3)
    chance = Random(5)  # noqa: S311 - the same at each run
    jobs = {number: f"insert_job: J{number}\nmachine: m\n" for number in range(15)}
    order = list(jobs)
    for round_ in range(25):
        content = "".join(jobs[number] for number in order)
        run(engine, tmp_path, content, allow_mass_retirement=True)
        lines = {
            found[1]: number
            for number, line in enumerate(content.split("\n"), 1)
            if (found := re.match(r"insert_job: (J\d+)", line))
        }
        active = {
            key.rpartition("/")[2] for key, lifecycle in processes(engine).items() if lifecycle == "ACTIVE"
        }
        assert active == set(lines)
        found = {each["process_key"].rpartition("/")[2]: each for each in places(engine)}  # type: ignore[assignment]
        assert {name: found[name]["line"] for name in active} == lines
        assert {name: found[name]["text_line"] for name in active} == lines
        for _ in range(chance.randrange(3)):
            jobs[chance.choice(order)] += f"max_run_alarm: {round_}\n"
        if chance.random() < 0.3:
            order.insert(0, order.pop(chance.randrange(len(order))))
        if chance.random() < 0.3:
            number = len(jobs)
            jobs[number] = f"insert_job: J{number}\nmachine: m\n"
            order[chance.randrange(len(order))] = number


def test_a_removed_job_is_retired_and_comes_back_under_its_id(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE)
    [before] = rows(engine, "SELECT process_id FROM catalog.process WHERE external_name = 'WATCH'")
    assert run(engine, tmp_path, BOX + LOAD).removed == ("WATCH",)
    assert processes(engine)["AUTOSYS/BOX/WATCH"] == "RETIRED"
    plan = run(engine, tmp_path, ESTATE)
    assert (plan.returned, plan.added) == (("WATCH",), ())
    assert processes(engine)["AUTOSYS/BOX/WATCH"] == "ACTIVE"
    assert [before] == rows(engine, "SELECT process_id FROM catalog.process WHERE external_name = 'WATCH'")


def test_a_scan_that_would_retire_most_asks_first_and_stores_nothing(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE)
    before = state(engine)
    with pytest.raises(MassRetirementRefused, match=r"2 of 3 known processes are not in these files .*--yes"):
        run(engine, tmp_path, BOX)
    assert state(engine) == before
    run(engine, tmp_path, BOX, allow_mass_retirement=True)
    assert sorted(processes(engine).values()) == ["ACTIVE", "RETIRED", "RETIRED"]


def test_nothing_is_stored_when_the_plan_is_not_accepted(engine: Engine, tmp_path: Path) -> None:
    seen: list[Plan] = []
    run(engine, tmp_path, ESTATE, accept=lambda plan: bool(seen.append(plan)))  # type: ignore[func-returns-value]
    assert seen[0].added == ("BOX", "WATCH", "LOAD")
    assert processes(engine) == {}
    assert rows(engine, "SELECT * FROM catalog.estate_scan") == []


def test_instances_are_compared_apart(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE, instance="PRD")
    plan = run(engine, tmp_path, BOX, instance="TST")
    assert (plan.known, plan.removed, plan.added) == (0, (), ("BOX",))
    assert processes(engine)["AUTOSYS/PRD/BOX/LOAD"] == "ACTIVE"
    assert processes(engine)["AUTOSYS/TST/BOX"] == "ACTIVE"


def test_calendars_alone_retire_nothing(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE)
    assert run(engine, tmp_path, "calendar: HOLIDAYS\n01/01/2027\n").removed == ()


def test_a_job_known_from_events_keeps_its_id_after_a_scan(engine: Engine, tmp_path: Path) -> None:
    register(engine, [], [ProcessRecord("AUTOSYS/LOAD", Technology.AUTOSYS)])
    with transaction(engine) as cursor:
        cursor.execute(
            "UPDATE catalog.process SET external_name = 'LOAD', lifecycle = 'UNSCANNED' RETURNING process_id"
        )
        reported_ones = cursor.fetchone()
    plan = run(engine, tmp_path, ESTATE)
    assert (plan.added, plan.taken_over) == (("BOX", "WATCH", "LOAD"), ("LOAD",))
    [load] = rows(
        engine, "SELECT process_id, process_key, lifecycle FROM catalog.process WHERE external_name = 'LOAD'"
    )
    assert load == {**dict(reported_ones), "process_key": "AUTOSYS/BOX/LOAD", "lifecycle": "ACTIVE"}  # type: ignore[arg-type]


def test_an_update_that_goes_away_changes_the_job_back(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE, "update_job: LOAD\nmachine: m9\n")
    plan = run(engine, tmp_path, ESTATE)
    assert [(change.attribute, change.after) for change in plan.changed["LOAD"]] == [("machine", ("m1",))]
    plan = run(engine, tmp_path, ESTATE, "update_job: LOAD\nmachine: m9\n")
    assert [(change.attribute, change.after) for change in plan.changed["LOAD"]] == [("machine", ("m9",))]


def test_a_job_inserted_a_second_time_still_counts_once(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE)
    plan = run(engine, tmp_path, ESTATE + "insert_job: LOAD\nmachine: other\n")
    assert (plan.processes, plan.changed) == (3, {})
    assert [error.rule for error in plan.errors] == ["estate/duplicate"]


def test_errors_have_their_current_line_at_each_scan(engine: Engine, tmp_path: Path) -> None:
    wrong = "insert_job: WRONG\nmachine: m\ncondition: !s(LOAD)\n"
    first = run(engine, tmp_path, ESTATE + wrong)
    again = run(engine, tmp_path, "# a line\n" + ESTATE + wrong)
    [error], [moved] = first.errors, again.errors
    assert (moved.rule, moved.subject, moved.message) == (error.rule, error.subject, error.message)
    assert moved.line == error.line + 1
    assert again.counts["changed"] == 0


def test_decisions_survive(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE)
    with transaction(engine) as cursor:
        cursor.execute(
            "UPDATE catalog.dataset_candidate SET status = 'REJECTED' WHERE pattern = '/data/in/a.csv'"
        )
    run(engine, tmp_path, ESTATE.replace("m1", "m2"))
    run(engine, tmp_path, BOX + LOAD)
    run(engine, tmp_path, ESTATE)
    [kept] = rows(engine, "SELECT status FROM catalog.dataset_candidate WHERE pattern = '/data/in/a.csv'")
    assert kept["status"] == "REJECTED"


def test_a_scan_is_kept_with_its_files_and_counts(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE, by="dana")
    [kept] = rows(engine, "SELECT instance, scanned_by, files, counts FROM catalog.estate_scan")
    assert kept["scanned_by"] == "dana"
    assert kept["counts"]["added"] == 3
    assert kept["files"][0]["byte_size"] == len(ESTATE)


def test_two_scans_at_once_do_not_mix(engine: Engine, tmp_path: Path) -> None:
    def meanwhile(plan: Plan) -> bool:
        run(engine, tmp_path, BOX)
        return True

    file = tmp_path / "mine.jil"
    file.write_text(ESTATE)
    with pytest.raises(ScanRefused, match="another scan was stored at the same time"):
        scan(engine, [file], accept=meanwhile)
    assert set(processes(engine)) == {"AUTOSYS/BOX"}


def test_what_a_declaration_says_is_produced_is_linked_once_the_job_is_known(
    engine: Engine, tmp_path: Path
) -> None:
    register(engine, [DatasetRecord("ops/raw", "csv", metadata={"produced_by": ["LOAD"]})])
    query = (
        "SELECT process_key, full_name, edge_role, valid_to IS NULL AS holds FROM catalog.lineage_edge edge "
        "JOIN catalog.process ON source_id = process.process_id JOIN catalog.dataset ON target_id = dataset_id "
        "ORDER BY valid_to NULLS LAST"
    )
    assert rows(engine, query) == []
    edge = {"process_key": "AUTOSYS/BOX/LOAD", "full_name": "ops/raw", "edge_role": "PRODUCES", "holds": True}
    run(engine, tmp_path, ESTATE)
    run(engine, tmp_path, ESTATE)
    assert rows(engine, query) == [edge]
    register(engine, [DatasetRecord("ops/raw", "csv")])
    assert rows(engine, query) == [{**edge, "holds": False}]
    register(engine, [DatasetRecord("ops/raw", "csv", metadata={"produced_by": ["AUTOSYS/BOX/LOAD"]})])
    assert [each["holds"] for each in rows(engine, query)] == [False, True]
    run(engine, tmp_path, BOX + WATCH)
    assert [each["holds"] for each in rows(engine, query)] == [False, False]


def test_a_character_that_the_database_cannot_hold_is_replaced(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, "insert_job: A\ncommand: a\x00b\ndescription: x\x00\nowner: o\x00\n")
    assert (
        run(engine, tmp_path, "insert_job: A\ncommand: a\x00b\ndescription: x\x00\nowner: o\x00\n").changed
        == {}
    )


NAMES = st.sampled_from(["A", "B", "C", "D.x", "E#1"])
CONDITIONS = st.sampled_from(
    ["s(A)", "d(B, 12.00) | f(C)", "n(A) & s(C^PRD)", "e(B) = 3", "!s(A)", "v(G) = 1"]
)
STANZAS = st.builds(
    lambda name, box, condition, command, update: (
        f"insert_job: {name}   job_type: c\n"
        + (f"box_name: {box}\n" if box else "")
        + (f"condition: {condition}\n" if condition else "")
        + f"command: {command}\n"
        + (f"update_job: {update}\nmachine: m7\n" if update else "")
    ),
    NAMES,
    st.none() | NAMES,
    st.none() | CONDITIONS,
    st.sampled_from(["x", "cp /data/a /data/b", "load < /data/in/a.csv", "ls /* */ /data/x/*"]),
    st.none() | st.none() | NAMES,
)
TEXTS = st.lists(STANZAS, min_size=1, max_size=5).map("".join)
SHARED = settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _emptied(engine: Engine) -> None:
    tables = "estate_scan, process_text, process_dependency, candidate_evidence, dataset_candidate, process"
    with transaction(engine) as cursor:
        cursor.execute(f"TRUNCATE {', '.join(f'catalog.{name}' for name in tables.split(', '))} CASCADE")


@SHARED
@given(TEXTS, TEXTS)
def test_scanning_twice_is_scanning_once(engine: Engine, tmp_path: Path, before: str, after: str) -> None:
    """Whatever was scanned before, and however often, the result is that of one scan."""
    _emptied(engine)
    run(engine, tmp_path, after)
    wanted, placed = state(engine), places(engine)
    again = run(engine, tmp_path, after)
    assert (again.added, again.changed, again.removed) == ((), {}, ())
    assert (state(engine), places(engine)) == (wanted, placed)

    _emptied(engine)
    run(engine, tmp_path, before)
    run(engine, tmp_path, after, allow_mass_retirement=True)
    active = {each["process_key"] for each in wanted[0]}
    assert [each for each in state(engine)[0] if each["lifecycle"] == "ACTIVE"] == wanted[0]
    assert [each for each in state(engine)[1] if each["holds"] and each["process_key"] in active] == wanted[1]
    assert [each for each in state(engine)[2] if each["process_key"] in active] == wanted[2]
    assert [each for each in places(engine) if each["process_key"] in active] == placed


@SHARED
@given(st.permutations(["A", "B", "C"]), st.data())
def test_the_order_of_files_with_different_jobs_does_not_matter(
    engine: Engine, tmp_path: Path, order: list[str], data: st.DataObject
) -> None:
    texts = {
        name: f"insert_job: {name}\ncondition: {data.draw(CONDITIONS)}\ncommand: cp /data/{name} /data/x\n"
        for name in order
    }
    files = {}
    for name, content in texts.items():
        files[name] = tmp_path / f"{name}.jil"
        files[name].write_text(content)
    _emptied(engine)
    scan(engine, [files[name] for name in order])
    wanted = state(engine), places(engine)
    _emptied(engine)
    scan(engine, [files[name] for name in sorted(files)])
    assert (state(engine), places(engine)) == wanted
    assert scan(engine, [files[name] for name in order]).counts["changed"] == 0


DESCRIBED = """\
- name: SALES.LOAD
  technology: db2_procedure
  description: loads
  after: autosys/LOAD
  reads: /data/out/b.dat
- name: mail.sh
  technology: shell
"""


def scan_all(engine: Engine, tmp_path: Path, **files: str) -> Plan:
    paths = []
    for name, content in files.items():
        path = tmp_path / name.replace("_", ".")
        path.write_text(content)
        paths.append(path)
    return scan(engine, paths)


def test_described_processes_are_stored_with_the_jobs(engine: Engine, tmp_path: Path) -> None:
    listing = "procedure,object,access\nSALES.LOAD,SALES.DAILY,write\nSALES.OTHER,SALES.DAILY,read\n"
    plan = scan_all(engine, tmp_path, a_jil=ESTATE, p_yaml=DESCRIBED, d_csv=listing)
    assert plan.added == ("BOX", "WATCH", "LOAD", "DB2_SP/SALES.LOAD", "SHELL/mail.sh", "DB2_SP/SALES.OTHER")
    found = {(each["pattern"], each["process_key"], each["direction"]) for each in state(engine)[2]}
    assert {
        ("/data/out/b.dat", "DB2_SP/SALES.LOAD", "reads"),
        ("db2:SALES.DAILY", "DB2_SP/SALES.LOAD", "writes"),
        ("db2:SALES.DAILY", "DB2_SP/SALES.OTHER", "reads"),
    } <= found
    waits = [each for each in state(engine)[1] if each["process_key"] == "DB2_SP/SALES.LOAD"]
    assert [(each["upstream_technology"], each["upstream_name"], each["orders"]) for each in waits] == [
        ("AUTOSYS", "LOAD", True)
    ]
    again = scan_all(engine, tmp_path, a_jil=ESTATE, p_yaml=DESCRIBED, d_csv=listing)
    assert (again.added, again.changed, again.removed) == ((), {}, ())


def test_each_kind_of_file_is_compared_with_its_own(engine: Engine, tmp_path: Path) -> None:
    scan_all(engine, tmp_path, a_jil=ESTATE, p_yaml=DESCRIBED)
    assert scan_all(engine, tmp_path, a_jil=ESTATE).removed == ()
    plan = scan_all(
        engine, tmp_path, p_yaml=DESCRIBED.replace("loads", "fills").replace("mail.sh", "tell.sh")
    )
    assert [change.after for change in plan.changed["DB2_SP/SALES.LOAD"]] == [("fills",)]
    assert (plan.added, plan.removed) == (("SHELL/tell.sh",), ("SHELL/mail.sh",))


def test_a_listing_alone_does_not_undo_a_description(engine: Engine, tmp_path: Path) -> None:
    scan_all(engine, tmp_path, p_yaml=DESCRIBED)
    plan = scan_all(engine, tmp_path, d_csv="procedure,object,access\nSALES.LOAD,SALES.DAILY,write\n")
    assert plan.changed == {}
    [error] = plan.errors
    assert "SALES.LOAD is described in" in error.message


def scan_as(engine: Engine, tmp_path: Path, instance: str, **files: str) -> Plan:
    paths = []
    for name, content in files.items():
        path = tmp_path / name.replace("_", ".")
        path.write_text(content)
        paths.append(path)
    return scan(engine, paths, instance)


def after(engine: Engine, key: str) -> list[tuple[str, str, str]]:
    found = [each for each in state(engine)[1] if each["process_key"] == key and each["holds"]]
    return [(each["upstream_technology"], each["upstream_instance"], each["upstream_name"]) for each in found]


def test_unknown_names_are_reported_where_they_are_used(engine: Engine, tmp_path: Path) -> None:
    text = (
        "- name: A.LOAD\n  technology: db2_sp\n  after: [autosys/LAOD, autosis/LOAD, B.LOAD, mail.sh]\n"
        "- name: mail.sh\n  technology: shell\n  after:\n    - db2_sp/A.LOAD\n    - autosys/LOAD\n"
    )
    plan = scan_all(engine, tmp_path, a_jil=ESTATE, p_yaml=text)
    reported = f"{tmp_path / 'p.yaml'}:3: %s: A.LOAD.after: %s [entry/after]"
    assert [str(each) for each in plan.errors] == [
        reported % ("error", "'autosis/LOAD' is not a name: write NAME, autosys/JOB, autosys/INSTANCE/JOB, shell/NAME "
                "(the process is kept without it)")
    ]  # fmt: skip
    assert [str(each) for each in plan.doubts] == [
        reported % ("warning", f"{name} is neither in these files nor in the catalog ({hint})")
        for name, hint in (
            ("autosys/LAOD", "did you mean autosys/LOAD?"),
            ("B.LOAD", "misspelt, or not scanned yet?"),
            ("mail.sh", "did you mean shell/mail.sh?"),
        )
    ]
    assert plan.warnings == 3
    assert after(engine, "SHELL/mail.sh") == [("AUTOSYS", "", "LOAD"), ("DB2_SP", "", "A.LOAD")]
    assert len(after(engine, "DB2_SP/A.LOAD")) == 3
    again = scan_all(engine, tmp_path, p_yaml=text)
    assert (again.errors, again.doubts) == (plan.errors, plan.doubts)


def test_what_the_catalog_knows_is_no_doubt_until_it_is_gone(engine: Engine, tmp_path: Path) -> None:
    text = "- name: mail.sh\n  technology: shell\n  after: [autosys/LOAD, autosys/PRD/LOAD]\n"
    scan_as(engine, tmp_path, "PRD", a_jil=ESTATE)
    [doubt] = scan_all(engine, tmp_path, p_yaml=text).doubts
    assert doubt.message.startswith("autosys/LOAD is neither")
    assert doubt.hint == "did you mean autosys/PRD/LOAD?"
    assert scan_as(engine, tmp_path, "PRD", p_yaml=text).doubts == ()
    assert set(after(engine, "SHELL/mail.sh")) == {("AUTOSYS", "PRD", "LOAD")}
    assert len(scan_as(engine, tmp_path, "PRD", a_jil=BOX + WATCH, p_yaml=text).doubts) == 2


def test_descriptions_have_no_scheduler(engine: Engine, tmp_path: Path) -> None:
    assert scan_as(engine, tmp_path, "PRD", p_yaml=DESCRIBED).instance == ""
    assert scan_as(engine, tmp_path, "PRD", a_jil=ESTATE, p_yaml=DESCRIBED).instance == "PRD"
    found = rows(engine, "SELECT instance FROM catalog.estate_scan ORDER BY scanned_at")
    assert [each["instance"] for each in found] == ["", "PRD"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (DESCRIBED.replace("db2_procedure", "db2_procedur"), "DB2_SP/SALES.LOAD"),
        (DESCRIBED.replace("SALES.LOAD", "SALES LOAD"), "DB2_SP/SALES.LOAD"),
        (DESCRIBED.replace("  reads: ", "  read: "), "DB2_SP/SALES.LOAD"),
        (DESCRIBED.replace("- name: mail.sh", "-name: mail.sh"), "SHELL/mail.sh"),
        (
            DESCRIBED.replace("mail.sh\n  technology: shell", "SALES.LOAD\n  technology: db2_sp"),
            "SHELL/mail.sh",
        ),
    ],
)
def test_an_entry_that_cannot_be_read_retires_nothing(
    engine: Engine, tmp_path: Path, text: str, name: str
) -> None:
    scan_all(engine, tmp_path, a_jil=ESTATE, p_yaml=DESCRIBED)
    plan = scan_all(engine, tmp_path, a_jil=ESTATE, p_yaml=text)
    assert plan.errors != ()
    assert (plan.removed, name in plan.kept) == ((), True)
    assert set(processes(engine).values()) == {"ACTIVE"}
    assert scan_all(engine, tmp_path, a_jil=ESTATE, p_yaml=DESCRIBED).counts["changed"] == 0


def test_what_two_files_describe_counts_once_and_what_two_list_adds_up(
    engine: Engine, tmp_path: Path
) -> None:
    listing = "procedure,object,access\nSALES.LOAD,SALES.%s,write\n"
    files = {"p_yaml": DESCRIBED, "q_yaml": DESCRIBED, "d_csv": listing % "A", "e_csv": listing % "B"}
    plan = scan_all(engine, tmp_path, **files)
    assert [f"{each.file}:{each.line} {each.rule}" for each in plan.errors] == [
        f"{tmp_path / 'q.yaml'}:{line} entry/duplicate" for line in (1, 6)
    ]
    found = {each["pattern"] for each in state(engine)[2] if each["direction"] == "writes"}
    assert found == {"db2:SALES.A", "db2:SALES.B"}


def test_a_listing_that_cannot_be_read_retires_nothing(engine: Engine, tmp_path: Path) -> None:
    listing = "procedure,object,access\nS.A,S.T,read\nS.B,S.T,write\nS.C,S.T,read\n"
    scan_all(engine, tmp_path, d_csv=listing)
    assert scan_all(engine, tmp_path, d_csv=listing.replace("write", "wriet")).kept == ("DB2_SP/S.B",)
    plan = scan_all(engine, tmp_path, d_csv=listing.replace("S.B,S.T,write\n", ""))
    assert (plan.removed, plan.kept) == (("DB2_SP/S.B",), ())


@pytest.mark.parametrize(
    "slip",
    [
        "insrt_job: LOAD",
        "insert_job LOAD",
        "insert-job: LOAD",
        "insertjob:LOAD",
        "insert_job: ",
        "insert_job: LO\\AD",
    ],
)
def test_a_job_that_cannot_be_read_is_not_retired(engine: Engine, tmp_path: Path, slip: str) -> None:
    run(engine, tmp_path, ESTATE)
    for _ in range(2):  # and so it is when its text is known
        plan = run(engine, tmp_path, ESTATE.replace("insert_job: LOAD", slip))
        assert [each.severity for each in plan.errors] == ["ERROR"]
        assert (plan.removed, plan.kept) == ((), ("LOAD",))
        assert processes(engine)["AUTOSYS/BOX/LOAD"] == "ACTIVE"
    plan = run(engine, tmp_path, BOX + WATCH)
    assert (plan.removed, plan.kept) == (("LOAD",), ())


def test_what_goes_with_a_slip_elsewhere_is_retired(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE)
    plan = run(engine, tmp_path, BOX + LOAD + "insrt_job: OTHER\nmachine: m\n")
    assert (plan.removed, plan.kept) == (("WATCH",), ())


MACHINES = (
    "insert_machine: m1\ntype: a\nnode_name: m1.example\n\ninsert_resource: TAPES\nres_type: R\namount: 2\n"
    "insert_glob: DAY\nvalue: 1\n"
)
CALENDARS = (
    "calendar: OPEN\n02/01/2027 00:00\n13/01/2027\n\ncalendar: SHUT\ndescription: feasts\n03/01/2027\n"
)


def objects(engine: Engine) -> dict[tuple[str, str], str]:
    found = rows(engine, "SELECT instance, kind, name, source FROM catalog.estate_object")
    assert len({each["instance"] for each in found}) <= 1
    return {(each["kind"], each["name"]): each["source"] for each in found}


def test_objects_other_than_jobs_are_kept_as_written(engine: Engine, tmp_path: Path) -> None:
    run(engine, tmp_path, ESTATE, MACHINES, CALENDARS, instance="PRD")
    found = objects(engine)
    assert set(found) == {
        ("machine", "m1"), ("resource", "TAPES"), ("glob", "DAY"), ("calendar", "OPEN"), ("calendar", "SHUT"),
    }  # fmt: skip
    assert "insert_machine: m1\ntype: a\nnode_name: m1.example\n" in found["machine", "m1"]
    assert found["calendar", "OPEN"] == "calendar: OPEN\n02/01/2027 00:00\n13/01/2027\n"
    run(engine, tmp_path, ESTATE, MACHINES.replace("TAPES", "DISKS"), instance="PRD")
    assert set(objects(engine)) == set(found) - {("resource", "TAPES")} | {("resource", "DISKS")}


def test_the_stored_estate_is_the_one_that_was_read(engine: Engine, tmp_path: Path) -> None:
    clock = "insert_job: TICK\nmachine: m1\ndate_conditions: 1\nrun_calendar: OPEN\nstart_times: 10:00\n"
    run(engine, tmp_path, ESTATE + clock + "insert_job: GONE\nmachine: m\n", MACHINES, CALENDARS)
    run(engine, tmp_path, "# moved\n" + ESTATE + clock, MACHINES, CALENDARS)
    read = read_estate([tmp_path / name for name in ("0.jil", "1.jil", "2.jil")])
    kept = stored_estate(engine, "")
    assert kept.jobs == read.jobs
    assert kept.things == read.things
    assert (kept.calendars.calendars, kept.calendars.cycles) == (
        read.calendars.calendars,
        read.calendars.cycles,
    )
    assert kept.waits_for == read.waits_for
    assert stored_estate(engine, "PRD").jobs == {}


def test_the_estate_of_the_demo_is_in_order_and_delivers_the_feed(engine: Engine) -> None:
    folder = REPOSITORY / "legacy"
    found = load(REPOSITORY)
    register(engine, *records(found.plans))
    plan = scan(engine, sorted(path for path in folder.iterdir() if path.is_file()))
    assert (plan.errors, plan.warnings) == ((), 0)
    assert len(plan.added) == 11
    estate = read_estate([folder / "estate.jil", folder / "calendars.txt"])
    assert list(lint(estate, today=date(2026, 11, 28))) == []
    query = (
        "SELECT external_name, full_name FROM catalog.lineage_edge edge JOIN catalog.process USING (process_id) "
        "JOIN catalog.dataset ON target_id = dataset_id WHERE edge_role = 'PRODUCES' "
        "AND external_name IS NOT NULL ORDER BY full_name"
    )
    assert [(each["external_name"], each["full_name"]) for each in rows(engine, query)] == [
        ("LOAD_REFERENCE", "flights/raw_airlines"),
        ("LOAD_REFERENCE", "flights/raw_airports"),
        ("LOAD_FLIGHTS", "flights/raw_flights"),
        ("FETCH_PLANES", "flights/raw_planes"),
        ("LOAD_WEATHER", "flights/raw_weather"),
    ]
    loaded = load(REPOSITORY, known())
    drawn = {
        spec.key.path[-1]: sorted(dep.asset_key.path[-1] for dep in spec.deps) for spec in loaded.estate.specs
    }
    assert drawn == {
        "OPS.EXPORT_DEPARTURES": [],
        "WATCH_DEPARTURES": [],
        "UNLOAD_DEPARTURES": ["WATCH_DEPARTURES"],
        "LOAD_FLIGHTS": ["UNLOAD_DEPARTURES"],
        "FLIGHTS_OPS_DAILY": ["LOAD_FLIGHTS"],
        "FETCH_PLANES": ["LOAD_FLIGHTS"],
        "LOAD_WEATHER": ["LOAD_FLIGHTS"],
        "LOAD_REFERENCE": ["FETCH_PLANES", "LOAD_WEATHER"],
        "FLIGHTS_OPS_REFERENCE": ["LOAD_REFERENCE"],
        "PURGE_WORK": [],
        "delivery_receipt.sh": ["LOAD_FLIGHTS"],
    }
    assert {spec.group_name for spec in loaded.estate.specs if spec.kinds == {"autosys"}} == {"FLIGHTS_OPS"}
