"""The sensor that judges SLAs: promises against what came in, what is foreseen, what went wrong and why."""

from __future__ import annotations

from datetime import UTC, datetime
from time import monotonic, sleep

import dagster as dg

from catalog.alerts import heartbeat
from catalog.database import connect
from catalog.sla.tick import Tick, evaluate
from legacy.collection import paused

DAEMON_LOOP = 5.0  # seconds from one look of Dagster's daemon at its sensors to the next
PAUSE = 2.0
LONGEST = 40.0  # Dagster cuts a tick at 60 s


def slas_sensor() -> dg.SensorDefinition:
    """The sensor over all promises. A tick looks several times, each look in a transaction of its own.

    It keeps no state of its own: how promises stand is in the catalog, and a tick that dies is as one that was not.
    What happened while none ticked is told at the time at which it happened.
    """

    @dg.sensor(
        name=heartbeat.JUDGING,
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Judges what was promised of datasets and jobs, foresees what will be late, and finds out why.",
    )
    def slas(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        engine = connect()
        began = monotonic()
        looks = []
        while True:
            with paused():
                looks.append(evaluate(engine))
            heartbeat.beat(engine, heartbeat.JUDGING, datetime.now(UTC))
            if monotonic() - began >= min(DAEMON_LOOP - 2 * PAUSE, LONGEST):
                break
            sleep(PAUSE)
        for look in looks:
            if look.told:
                context.log.info(", ".join(f"{count} {kind.value}" for kind, count in look.told.items()))
        return dg.SensorResult(skip_reason=dg.SkipReason(words(looks)))

    return slas


def words(looks: list[Tick]) -> str:
    """What the looks of a tick came to, for its line on the Automation page."""
    done = [look for look in looks if not look.skipped]
    if not done:
        return "Another process judges."
    said = f"{sum(look.judged for look in done)} promises judged, {sum(look.predicted for look in done)} foreseen."
    compiled = sum(look.compiled for look in done)
    told: dict[str, int] = {}
    for look in done:
        for kind, count in look.told.items():
            word = kind.value.lower().replace("_", " ")
            told[word] = told.get(word, 0) + count
    parts = [said]
    if compiled:
        parts.append(f"{compiled} SLAs are new or have changed.")
    if told:
        parts.append("Happened: " + ", ".join(f"{count} {word}" for word, count in told.items()) + ".")
    return " ".join(parts)
