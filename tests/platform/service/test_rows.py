"""The first rows of a version: read without Spark, masked, and only from where Headrace writes the dataset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Permission
from headrace.access.sensitivity import MASK
from headrace.catalog.records import Column, DatasetRecord
from headrace.context import current_context
from headrace.files.filesystem import local_path, normalised
from headrace.registration.declarations import register
from tests.platform.service.conftest import Ask, put

COLUMNS = (Column("id", "bigint"), Column("name", "string", tags=("pii",)))
PEOPLE = {"id": [1, 2, 3], "name": ["Ann", None, "Bob"]}
Write = Callable[..., Path]


@pytest.fixture
def write(catalog: Engine) -> Write:
    """Publishes a version of crm/people with these rows, by default in the warehouse."""
    register(catalog, [DatasetRecord("crm/people", "parquet", columns=COLUMNS)])

    def written(
        rows: dict[str, Any] = PEOPLE,
        tag: str = "one",
        folder: Path | None = None,
        columns: tuple[Column, ...] = COLUMNS,
        **given: Any,
    ) -> Path:
        warehouse = local_path(normalised(current_context().settings.warehouse_uri))
        place = folder or warehouse / "crm/people" / tag
        place.mkdir(parents=True)
        file = place / "part-0.parquet"
        pq.write_table(pa.table(rows), file)
        size = file.stat().st_size
        put(catalog, "crm/people", tag, columns=columns, location=f"file:{place}", byte_size=size, **given)
        return place

    return written


def rows(client: TestClient, query: str = "") -> Any:
    answer = client.get(f"/api/v1/dataset/crm/people/rows{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_values_of_sensitive_columns_are_masked(write: Write, ask: Ask) -> None:
    write()
    found = rows(ask(Permission.READ))

    assert found["values"] == {"id": [1, 2, 3], "name": MASK}
    assert found["row_count"] == 3
    assert found["version"]["tag"] == "one"


def test_those_who_may_see_all_values_and_it_is_recorded(write: Write, ask: Ask, catalog: Engine) -> None:
    write()
    assert rows(ask(Permission.READ, Permission.READ_SENSITIVE))["values"] == PEOPLE

    trail = ask(Permission.AUDIT).get("/api/v1/audit?of=crm/people").json()["items"]
    assert "VALUES" in trail[0]["detail"]["kinds"]


def test_twenty_rows_are_shown_and_long_texts_cut(write: Write, reader: TestClient) -> None:
    write({"id": list(range(50)), "name": ["x" * 5000] * 50})
    found = rows(reader)

    assert found["values"]["id"] == list(range(20))
    assert len(found["values"]["name"][0]) == 1001


def test_a_version_is_chosen_by_tag_or_partition(write: Write, reader: TestClient) -> None:
    write({"id": [1], "name": ["a"]}, "one", partition="2026-01-01")
    write({"id": [2], "name": ["b"]}, "two", partition="2026-01-02")

    assert rows(reader)["values"]["id"] == [2]
    assert rows(reader, "?version=one")["values"]["id"] == [1]
    assert rows(reader, "?partition=2026-01-01")["values"]["id"] == [1]
    assert reader.get("/api/v1/dataset/crm/people/rows?version=three").status_code == 404


def test_columns_that_only_spark_reads_are_named(write: Write, reader: TestClient) -> None:
    nested = (*COLUMNS, Column("tags", "array<string>"), Column("photo", "binary"))
    write({**PEOPLE, "tags": [["a"], [], None], "photo": [b"\xff", None, b""]}, columns=nested)
    found = rows(reader)

    assert found["values"] == PEOPLE
    assert found["left_out"] == ["tags", "photo"]


def test_a_version_that_cannot_be_read_has_a_reason_without_its_place(write: Write, ask: Ask) -> None:
    place = write()
    (place / "part-0.parquet").unlink()
    found = rows(ask(Permission.READ))

    assert found["values"] == {}
    assert found["reason"].startswith("Its files are gone or changed")
    assert str(place) not in str(found)


def test_other_formats_are_left_to_spark(write: Write, reader: TestClient) -> None:
    write(format="csv")
    assert rows(reader)["reason"] == "Only Spark reads its csv files."


def test_nothing_is_published_yet(reader: TestClient, catalog: Engine) -> None:
    found = reader.get("/api/v1/dataset/mart/report/rows").json()
    assert (found["version"], found["reason"]) == (None, "No version has been published.")


@pytest.mark.parametrize(
    "place", ["elsewhere", "warehouse/hr/people/one", "warehouse/crm/people/../../hr/one"]
)
def test_a_reported_place_outside_the_dataset_is_not_read(
    write: Write, reader: TestClient, place: str
) -> None:
    home = local_path(normalised(current_context().settings.warehouse_uri)).parent
    write(folder=home / place)
    found = rows(reader)

    assert found["values"] == {}
    assert "not in the warehouse of this service" in found["reason"]


def test_rows_of_another_domain_do_not_exist(write: Write, ask: Ask) -> None:
    write()
    assert ask(Permission.READ, domain="mart").get("/api/v1/dataset/crm/people/rows").status_code == 404
