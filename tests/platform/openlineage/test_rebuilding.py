"""Rebuilding the catalog from its events, while the service keeps receiving others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import Engine

from headrace.retention.rebuild import rebuild
from tests.platform.openlineage.events import (
    SCENARIOS,
    everything,
    ingest_valid,
    recorded,
    run_event,
    wipe,
)


def test_events_that_come_meanwhile_are_neither_lost_nor_counted_twice(engine: Engine) -> None:
    message = [event for scenario in SCENARIOS for event in recorded(scenario)]
    message += [
        run_event(kind, run=number, minutes=minute, inputs=["a"], outputs=[f"b{number % 5}"])
        for number in range(60)
        for minute, kind in enumerate(("START", "COMPLETE"))
    ]
    ingest_valid(engine, *message)
    orderly = everything(engine)
    wipe(engine)
    with ThreadPoolExecutor(4) as senders:
        sent = [
            senders.submit(ingest_valid, engine, *message[begin : begin + 3])
            for begin in range(0, len(message), 3)
        ]
        rebuilt = [rebuild(engine).events]
        while not all(each.done() for each in sent):
            rebuilt.append(rebuild(engine).events)
        for each in sent:
            each.result()
    assert len(set(rebuilt)) > 1  # it was at work while others were
    assert everything(engine) == orderly
