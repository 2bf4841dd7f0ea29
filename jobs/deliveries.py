"""Report the deliveries of the airport's batch: one line in the wrapper of each job, as in any other batch."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from headrace.autosys.client.headrace_client import register_process

LOADS = {  # what each job of legacy delivers
    "weather.csv": "LOAD_WEATHER",
    "planes.csv": "FETCH_PLANES",
    "airports.csv": "LOAD_REFERENCE",
    "airlines.csv": "LOAD_REFERENCE",
}
_FLIGHTS = re.compile(r"flights_(\d{4}-\d\d-\d\d)\.csv")


def report(delivered: Sequence[Path], completions: Path) -> int:
    """Drop a completion file into the folder `completions` for each run that these deliveries take; how many.

    A day of flights is a run of LOAD_FLIGHTS with its business date; the reference files are one run of each job.
    """
    days = [date.fromisoformat(found[1]) for path in delivered if (found := _FLIGHTS.fullmatch(path.name))]
    others = sorted({LOADS[path.name] for path in delivered if path.name in LOADS})
    began = datetime.now(UTC) - timedelta(milliseconds=len(days))  # one after the other, the newest day last
    with _to(completions):
        reported = [
            register_process(
                "LOAD_FLIGHTS",
                "SUCCESS",
                run=f"{day:%j}",
                business_date=str(day),
                exit_code=0,
                at=(began + timedelta(milliseconds=number)).isoformat(),
            )
            for number, day in enumerate(days)
        ]
        reported += [register_process(job, "SUCCESS", run="1", exit_code=0) for job in others]
    return sum(reported)


@contextmanager
def _to(completions: Path) -> Iterator[None]:
    """The client's environment on a host of the batch."""
    completions.mkdir(parents=True, exist_ok=True)
    here = {"HEADRACE_COMPLETIONS": str(completions), "HEADRACE_SPOOL": str(completions.with_name("spool"))}
    before = {name: os.environ.get(name) for name in (*here, "HEADRACE_URL")}
    os.environ.pop("HEADRACE_URL", None)
    os.environ.update(here)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
