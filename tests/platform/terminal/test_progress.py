"""Terminal output while a run is executed."""

from __future__ import annotations

import os
from types import SimpleNamespace

import dagster as dg
import pytest

from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.execution.plan import InputPlan, OutputPlan, ProcessPlan
from headrace.execution.transform import Pipeline
from headrace.orchestration import launching
from headrace.orchestration.launching import Ending
from headrace.orchestration.materialization import PlannedRun
from headrace.terminal.progress import execute_all, line, own_output


def test_what_a_transform_prints_does_not_mix_with_what_the_command_says(
    capfd: pytest.CaptureFixture[str],
) -> None:
    os.write(1, b"before\n")
    with own_output() as terminal:
        os.write(1, b"printed by a transform\n")
        os.write(2, b"logged by Spark\n")
        terminal.write("progress\n")
    os.write(1, b"{}\n")
    os.write(2, b"failed\n")
    assert capfd.readouterr() == ("before\n{}\n", "progress\nfailed\n")


def process(name: str, *inputs: str) -> ProcessPlan:
    return ProcessPlan(
        record=ProcessRecord(name, Technology.SPARK),
        inputs=[InputPlan(item, "source") for item in inputs],
        outputs=[OutputPlan(DatasetRecord(name, "parquet"))],
        transform=Pipeline((), {}),
    )


@pytest.mark.usefixtures("engine")
def test_a_failed_process_does_not_unmake_what_the_others_of_its_run_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def asset(name: str) -> dg.AssetsDefinition:
        @dg.asset(key=["shop", name])
        def compute() -> None:
            if name == "bad":
                raise dg.Failure("no column price", allow_retries=False)

        return compute

    definitions = dg.Definitions(
        assets=[asset(name) for name in ("good", "bad", "after_good", "after_bad")],
        executor=dg.in_process_executor,
        loggers={"console": dg.colored_console_logger},
    )
    monkeypatch.setattr(launching, "_logging_to", lambda *_: definitions)
    runs = [
        PlannedRun((process("shop/good"), process("shop/bad"))),
        PlannedRun((process("shop/after_good", "shop/good"),)),
        PlannedRun((process("shop/after_bad", "shop/bad"),)),
    ]
    with dg.DagsterInstance.ephemeral() as instance:
        first, second, third = execute_all(runs, instance, lambda _: None)
    assert (first.ending, first.published, first.missing) == (Ending.FAILED, ("shop/good",), ("shop/bad",))
    assert (second.ending, second.published, second.missing) == (Ending.SUCCESS, ("shop/after_good",), ())
    assert (third.ending, third.published, third.missing) == (Ending.SKIPPED, (), ("shop/after_bad",))
    message = [text.strip() for text in line(first).splitlines()]
    assert message[0].startswith("failed   shop/bad after ")
    assert message[1:3] == ["published nevertheless: shop/good", "shop__bad: no column price"]


@pytest.mark.usefixtures("engine")
def test_the_warnings_of_a_run_are_shown_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    @dg.asset(key=["shop", "ledger"])
    def ledger() -> None:
        log = dg.AssetExecutionContext.get().log
        log.info("computing")
        log.warning("built from other code")

    definitions = dg.Definitions(assets=[ledger], executor=dg.in_process_executor)
    monkeypatch.setattr(launching, "project_code", lambda: SimpleNamespace(defs=definitions))
    with dg.DagsterInstance.ephemeral() as instance:
        (run,) = execute_all(
            [PlannedRun((process("shop/ledger"),), full_refresh=True)], instance, lambda _: None
        )

        assert run.dagster_run_id is not None
        started = instance.get_run_by_id(run.dagster_run_id)
    assert line(run).splitlines()[1:] == ["         built from other code"]
    assert started is not None
    assert started.tags["headrace/full_refresh"] == "true"
