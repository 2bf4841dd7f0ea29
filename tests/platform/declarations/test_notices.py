"""Notifications of a published version: flag files, and Autosys events."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from headrace.catalog.records import Outcome, Version
from headrace.execution import notices
from headrace.execution.notices import AutosysEvent, FlagFile, notify
from headrace.publishing.unreported import unreported_versions
from tests.platform.declarations.conftest import Project
from tests.platform.projects import load_project, write_project

DECLARED = """
type: headrace.Dataset
attributes:
  key: shop/orders
  sql: SELECT id FROM VALUES (1), (2) AS t(id)
  notify:
"""


def version(partition: str | None = "2013-01-31", dataset: str = "shop/orders") -> Version:
    return Version(
        version_id=uuid4(),
        dataset=dataset,
        partition=partition,
        tag="20130201T041500Z-1a2b3c4d",
        location="file:///nowhere",
        format="parquet",
        columns=(),
        row_count=2,
        byte_size=1,
        file_count=1,
        checksum="00",
        schema_hash="00",
        code_version=None,
        fingerprint=None,
        run_id=None,
        outcome=Outcome.PUBLISHED,
        created_at=datetime(2013, 2, 1, tzinfo=UTC),
    )


Calls = Callable[[], list[list[str]]]


@pytest.fixture
def sendevent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """A `sendevent` that notes what it is called with; it fails as often as the file `failures` has lines."""
    tools = tmp_path / "tools"
    tools.mkdir()
    program = tools / "sendevent"
    program.write_text(
        "#!/bin/sh\n"
        f"cd {tools}\n"
        'printf "%s\\0" "$@" >> calls; printf "\\n\\0" >> calls\n'
        "if [ -s failures ]; then sed -i 1d failures; echo 'CAUAJM_E_10062 no database' >&2; exit 1; fi\n"
    )
    program.chmod(0o755)
    (tools / "calls").touch()
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")

    def calls() -> list[list[str]]:
        output = (tools / "calls").read_text().split("\n\0")
        return [[word for word in call.split("\0") if word] for call in output if call]

    return calls


def test_a_flag_appears_whole_and_says_what_it_is_about(tmp_path: Path) -> None:
    flag = FlagFile(f"{tmp_path}/{{dataset}}_{{partition}}.done")
    [notified] = notify([flag], [version()])
    assert (notified.delivered, notified.failed) == ((f"{tmp_path}/shop.orders_2013-01-31.done",), ())
    [written] = tmp_path.iterdir()
    assert written.name == "shop.orders_2013-01-31.done"
    output = json.loads(written.read_text())
    assert (output["dataset"], output["partition"], output["row_count"]) == ("shop/orders", "2013-01-31", 2)
    assert notify([flag], [version()])[0].failed == ()


@given(
    partition=st.text(min_size=1), name=st.sampled_from(["{partition}", "{partition}.done", "x{partition}"])
)
def test_no_partition_key_leads_out_of_the_folder(partition: str, name: str) -> None:
    path = Path(notices.described(FlagFile(f"/flags/{name}"), version(partition)))
    assert path.parent == Path("/flags")
    assert path.name not in ("", ".", "..")
    assert not path.name.startswith(".")


def test_an_event_is_sent_without_a_shell(sendevent: Calls, tmp_path: Path) -> None:
    odd = f"$(touch {tmp_path}/no); 'x' \"y\" *\n-E"
    event = AutosysEvent(("-E", "SET_GLOBAL", "-G", "SALES={partition}", "-S", "PRD"))
    assert [each.failed for each in notify([event], [version(), version(odd)])] == [(), ()]
    plain, strange = sendevent()
    assert plain == ["-E", "SET_GLOBAL", "-G", "SALES=2013-01-31", "-S", "PRD"]
    assert strange[3] == f"SALES={odd.replace(chr(10), '_')}"
    assert not (tmp_path / "no").exists()


def test_an_event_is_tried_again(sendevent: Calls, tmp_path: Path) -> None:
    event = AutosysEvent(("-E", "STARTJOB", "-J", "X"))
    (tmp_path / "tools" / "failures").write_text("1\n2\n")
    assert notify([event], [version()], pauses=(0, 0))[0].failed == ()
    assert len(sendevent()) == 3


def test_failed_notifications_are_reported(
    sendevent: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tools" / "failures").write_text("1\n2\n")
    event, flag = AutosysEvent(("-E", "STARTJOB", "-J", "X")), FlagFile(f"{tmp_path}/missing/x")
    [notified] = notify([event, flag], [version()], pauses=(0,))
    assert notified.delivered == ()
    assert notified.failed == (
        "sendevent -E STARTJOB -J X: it ended with 1: CAUAJM_E_10062 no database",
        f"{tmp_path}/missing/x: it cannot be written: No such file or directory",
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "`sendevent` is not on the PATH" in notify([event], [version()], pauses=())[0].failed[0]


def test_a_scheduler_that_does_not_answer_does_not_hold_up_a_year_of_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "sendevent"
    program.write_text("#!/bin/sh\nexec sleep 20\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(notices, "SENDEVENT_TIMEOUT_SECONDS", 0.2)
    days = [version(f"2013-01-{day:02}") for day in range(1, 32)]
    notified = notify([AutosysEvent(("-E", "STARTJOB", "-J", "X"))], days, pauses=(), within=0.5)
    failed = [problem for each in notified for problem in each.failed]
    assert len(failed) == 31
    assert "it did not end within" in failed[0]
    assert "the time limit was reached" in failed[-1]


@pytest.mark.parametrize(
    ("declared", "line", "message"),
    [
        ("- {flag_file: flags/x}", 6, "'flags/x' has the wrong form"),
        (
            "- {flag_file: '/flags/{date}'}",
            6,
            "{date} is not a known placeholder; there are {domain}, {name}",
        ),
        ("- {flag_file: '/flags/{'}", 6, "there is an unmatched brace"),
        ("- {flag_file: '/flags/{partition}'}", 6, "uses {partition}, but shop/orders has no partitions"),
        ("- {}", 6, "give one of `flag_file`, `sendevent`, `post` and `call`"),
        ("- {sendevent: {event: SET_GLOBAL, global: X}}", 6, "SET_GLOBAL needs `value`"),
        ("- {sendevent: {event: STARTJOB, job: X, value: y}}", 6, "`value` does not belong to STARTJOB"),
        ("- {sendevent: {event: CHANGE_STATUS, job: X}}", 6, "CHANGE_STATUS needs `status`"),
        ("- {sendevent: {event: STARTJOB, job: '-S x'}}", 6, "'-S x' has the wrong form"),
        ("- {sendevent: {event: KILLJOB, job: X}}", 6, "'KILLJOB' is not valid"),
    ],
)
def test_a_wrong_notice_is_an_error_of_its_line(
    project: Project, declared: str, line: int, message: str
) -> None:
    project.write("shop/defs.yaml", f"{DECLARED.strip()}\n    {declared}\n")
    [problem] = project.load().problems
    assert problem.line == line
    assert (problem.field or "").startswith("notify.0")
    assert message in problem.message


def test_a_declared_event_is_a_call(project: Project) -> None:
    declared = "- {sendevent: {event: CHANGE_STATUS, job: WAIT_SALES, status: SUCCESS, instance: PRD}}"
    project.write("shop/defs.yaml", f"{DECLARED.strip()}\n    {declared}\n")
    [notice] = project.plan("shop/orders").outputs[0].notices
    assert notice == AutosysEvent(("-E", "CHANGE_STATUS", "-J", "WAIT_SALES", "-s", "SUCCESS", "-S", "PRD"))


@pytest.mark.usefixtures("spark")
def test_a_run_notifies_after_the_publish_and_a_failure_undoes_nothing(
    tmp_path: Path, engine: Engine, sendevent: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "PAUSES", ())
    flags = tmp_path / "flags"
    flags.mkdir()
    declared = f"""{DECLARED.strip()}
    - flag_file: {flags}/{{name}}.{{version}}.done
    - flag_file: {tmp_path}/missing/flag
    - sendevent: {{event: SET_GLOBAL, global: SALES, value: "{{version}}"}}
"""
    project = load_project(write_project(tmp_path, "shop", declared), engine)
    (result,) = project.materialize()
    assert result.success
    (event,) = result.get_asset_materialization_events()
    tag = event.materialization.tags["dagster/data_version"]
    assert [flag.name for flag in flags.iterdir()] == [f"orders.{tag}.done"]
    assert sendevent() == [["-E", "SET_GLOBAL", "-G", f"SALES={tag}"]]
    assert "missing/flag: it cannot be written" in str(event.materialization.metadata["not_notified"].value)
    output = "\n".join(entry.user_message for entry in project.instance.all_logs(result.run_id))
    assert "`headrace legacy notify shop/orders` sends them immediately" in output
    [unreported] = unreported_versions(engine).versions
    assert set(unreported.delivered) == {
        f"{flags}/orders.{tag}.done",
        f"sendevent -E SET_GLOBAL -G SALES={tag}",
    }
    assert unreported.failure == f"{tmp_path}/missing/flag: it cannot be written: No such file or directory"
    assert unreported_versions(engine, due=True).total == 0
