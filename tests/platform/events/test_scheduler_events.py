"""Scheduler reports as OpenLineage events: lossless, and valid by the spec."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from headrace.catalog.records import Column, RunState
from headrace.catalog.run_events import RunEvent
from headrace.database.jsonb import encoded
from headrace.events.scheduler_events import openlineage_event, scheduler_report
from headrace.openlineage.parsing import parse
from tests.platform.events.run_events import histories, job_event, output


def stored(event: RunEvent) -> dict[str, Any]:
    """The event as it comes back from the database."""
    return dict(json.loads(encoded(openlineage_event(event))))


@given(histories())
def test_a_report_comes_back_as_it_was(history: list[RunEvent]) -> None:
    for event in history:
        assert scheduler_report(stored(event), historical=False) == event


@pytest.mark.parametrize("process", ["LOAD", ""])
@pytest.mark.parametrize("outputs", [0, 1, 2])
def test_so_does_all_that_it_may_say(process: str, outputs: int) -> None:
    columns = (
        Column("id", "bigint", nullable=False, description="a key", tags=("pii",)),
        Column("name", "string"),
    )
    written = [
        output(
            f"ops/raw{number}",
            partition="2026-11-26",
            tag="v1",
            location="s3://bucket/raw",
            format="csv",
            row_count=0,
            byte_size=12,
            checksum="sha256:00",
            columns=columns,
            metadata={"a": [1, {"b": None}]},
        )
        for number in range(outputs)
    ]
    event = job_event(process, RunState.SUCCESS, 5, None, outputs=tuple(written), reason="why", box="BOX")
    event = replace(event, instance="PRD", payload={"status": "SU"}, origin="file:1", historical=True)
    assert scheduler_report(stored(event), historical=True) == event


@given(histories())
def test_the_spec_allows_such_events(history: list[RunEvent]) -> None:
    for event in history:
        body = stored(event)
        known = parse(body)
        assert known.at == event.at
        assert body["job"]["namespace"] == "AUTOSYS"
