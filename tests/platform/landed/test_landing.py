from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from sqlalchemy import Engine

from headrace.catalog.records import Column, DatasetRecord
from headrace.execution.plan import ExternalPlan
from headrace.landed.observation import observe
from headrace.orchestration.sensors.landing import landing_sensor
from headrace.queries import published

COLUMNS = (Column("carrier", "string"), Column("flights", "int"))
DAYS = dg.DailyPartitionsDefinition(start_date="2013-01-01", end_date="2014-01-01")


def external(
    name: str, location: str, partitions: dg.PartitionsDefinition[str] | None = None
) -> ExternalPlan:
    record = DatasetRecord(key=f"landed/{name}", format="csv", columns=COLUMNS, metadata={"external": True})
    return ExternalPlan(record, partitions, location, {"header": "true", "nullValue": "NA"})


DAILY = external("daily", "landing/daily_{partition}.csv", DAYS)
WHOLE = external("whole", "landing/whole.csv")


def write(landing: Path, name: str, *rows: str, header: str = "carrier,flights") -> Path:
    file = landing / name
    file.write_text("\n".join((header, *rows)) + "\n")
    return file


def test_a_file_that_landed_is_a_version(engine: Engine, landing: Path) -> None:
    file = write(landing, "daily_2013-01-02.csv", "UA,3", 'AA,"1\n"')
    observation = observe(engine, [DAILY, WHOLE])
    assert observation.problems == ()
    assert observation.new == observation.published
    (version,) = observation.new
    assert (version.dataset, version.partition, version.row_count) == ("landed/daily", "2013-01-02", 2)
    assert version.location == f"file://{file.resolve()}"
    assert version.byte_size == file.stat().st_size
    assert version.columns == COLUMNS
    assert version.metadata["options"] == {"header": "true", "nullValue": "NA"}


def test_a_second_look_changes_nothing(engine: Engine, landing: Path) -> None:
    file = write(landing, "whole.csv", "UA,3")
    first = observe(engine, [WHOLE])
    file.touch()
    second = observe(engine, [WHOLE])
    assert second.new == ()
    assert [version.tag for version in second.published] == [version.tag for version in first.new]


def test_other_content_is_another_version_and_old_content_again_as_well(
    engine: Engine, landing: Path
) -> None:
    counts = []
    for rows in (["UA,3"], ["UA,3", "AA,1"], ["UA,3"]):
        write(landing, "whole.csv", *rows)
        counts.append([version.row_count for version in observe(engine, [WHOLE]).new])
    assert counts == [[1], [2], [1]]
    assert [row.version.row_count for row in published(engine, ["landed/whole"])] == [1]


@pytest.mark.parametrize("content", [b"flights,carrier\n1,UA\n", b"carrier,flights\n\xff\xfe,1\n", b""])
def test_a_file_that_does_not_read_as_declared_is_blocked(
    engine: Engine, landing: Path, content: bytes
) -> None:
    (landing / "whole.csv").write_bytes(content)
    for _ in range(2):
        observation = observe(engine, [WHOLE])
        assert observation.published == ()
        (problem,) = observation.problems
        assert "whole.csv" in problem
        assert "reads_as_declared" in problem
    write(landing, "whole.csv", "UA,3")
    assert [version.row_count for version in observe(engine, [WHOLE]).new] == [1]


def test_files_in_the_making_and_files_of_no_partition(engine: Engine, landing: Path) -> None:
    write(landing, ".daily_2013-01-01.csv.17")
    write(landing, "daily_2014-01-01.csv")
    write(landing, "daily_lately.csv")
    observation = observe(engine, [DAILY])
    assert observation.published == ()
    assert sorted(problem.rpartition(" ")[2] for problem in observation.problems) == ["2014-01-01", "lately"]


def test_what_time_does_not_allow_is_left_for_the_next_look(engine: Engine, landing: Path) -> None:
    write(landing, "whole.csv", "UA,3")
    early = observe(engine, [WHOLE], within=timedelta(0))
    assert (early.published, early.left) == ((), 1)
    assert len(observe(engine, [WHOLE]).new) == 1


def test_dagster_gets_each_version_once(engine: Engine, landing: Path) -> None:
    write(landing, "daily_2013-01-01.csv", "UA,3", "AA,1")
    sensor = landing_sensor([DAILY, WHOLE])
    instance = dg.DagsterInstance.ephemeral()

    def tick(cursor: str | None) -> dg.SensorResult:
        result = sensor(dg.build_sensor_context(instance=instance, cursor=cursor))
        assert isinstance(result, dg.SensorResult)
        return result

    first = tick(None)
    (event,) = first.asset_events
    assert isinstance(event, dg.AssetMaterialization)
    assert (event.asset_key, event.partition) == (dg.AssetKey(["landed", "daily"]), "2013-01-01")
    assert event.metadata["dagster/partition_row_count"].value == 2
    again = tick(first.cursor)
    assert again.asset_events == []
    assert again.cursor == first.cursor
    # Published by another process, or by a tick that died before it could report.
    write(landing, "whole.csv", "UA,3")
    observe(engine, [WHOLE])
    assert [event.asset_key.path[-1] for event in tick(again.cursor).asset_events] == ["whole"]
