"""Versions of other systems are profiled by a sample of their rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import Column
from headrace.execution.plan import ExternalPlan
from headrace.landed.observation import observe
from headrace.queries.profiles import profile
from headrace.queries.versions import version
from headrace.settings import settings

pytestmark = pytest.mark.usefixtures("spark")
COLUMNS = {
    "carrier": "string",
    "flights": "int",
    "pilot": Column("pilot", "string", tags=("pii",)),
}


def landed(landing: Path, rows: int) -> None:
    lines = [f"{'UA' if n % 4 else ''},{n},Ann" for n in range(rows)]
    (landing / "flights.csv").write_text("\n".join(["carrier,flights,pilot", *lines]) + "\n")


def full(external: Callable[..., ExternalPlan]) -> ExternalPlan:
    plan = external("flights", "landing/flights.csv", "csv", COLUMNS, options={"header": "true"})
    plan.record.metadata["profile"] = "full"
    return plan


def test_a_small_version_is_profiled_whole_and_once(
    engine: Engine, landing: Path, external: Callable[..., ExternalPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    landed(landing, 100)

    assert observe(engine, [full(external)]).problems == ()

    found = version(engine, "landed/flights").statistics
    assert found["carrier"]["top_values"] == [["UA", 75]]
    assert found["carrier"]["null_count"] == 25
    assert (found["flights"]["min"], found["flights"]["max"], found["flights"]["distinct_count"]) == (
        0,
        99,
        100,
    )
    assert found["pilot"] == {"null_count": 0}
    monkeypatch.setattr(
        "headrace.landed.observation.profile_sample", lambda *_: pytest.fail("profiled again")
    )
    observe(engine, [full(external)])


def test_a_large_version_is_profiled_by_a_sample(
    engine: Engine, landing: Path, external: Callable[..., ExternalPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings(), "profile_sample_rows", 500)
    landed(landing, 5000)

    assert observe(engine, [full(external)]).problems == ()

    found = profile(engine, "landed/flights")
    assert found.row_count == 5000
    assert found.columns["flights"]["sampled_rows"] == pytest.approx(500, rel=0.2)
    assert found.columns["flights"]["quantiles"]["p50"] == pytest.approx(2500, rel=0.15)
    assert found.columns["carrier"]["null_count"] == pytest.approx(1250, rel=0.2)


def test_without_a_full_profile_nothing_is_read(
    engine: Engine, landing: Path, external: Callable[..., ExternalPlan]
) -> None:
    landed(landing, 10)

    observe(engine, [external("flights", "landing/flights.csv", "csv", COLUMNS, options={"header": "true"})])

    assert version(engine, "landed/flights").statistics == {}


def test_a_version_whose_rows_cannot_be_read_is_a_problem_and_stays(
    engine: Engine, landing: Path, external: Callable[..., ExternalPlan]
) -> None:
    plan = full(external)
    landed(landing, 10)
    (published,) = observe(
        engine, [external("flights", "landing/flights.csv", "csv", COLUMNS, options={"header": "true"})]
    ).new
    (landing / "flights.csv").unlink()

    observation = observe(engine, [plan])

    assert [each.tag for each in observation.published] == [published.tag]
    assert any("landed/flights could not be observed" in problem for problem in observation.problems)
