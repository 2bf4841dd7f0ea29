"""Retiring datasets that are no longer declared or produced, and restoring them."""

from collections.abc import Sequence

import pytest
from sqlalchemy import Engine

from headrace import queries
from headrace.access.audit import entries
from headrace.catalog.records import DatasetRecord, ProcessRecord
from headrace.database.connection import transaction
from headrace.errors import RetirementRefused, UnknownDataset
from headrace.queries import Direction, lineage
from headrace.registration.declarations import register
from headrace.registration.retirement import deprecate, restore, retire, retire_undeclared, retirements
from headrace.settings import settings
from tests.platform.conftest import DATASETS, PROCESSES

ALL = {record.key for record in DATASETS}


def listed(engine: Engine, *, retired: bool = False) -> set[str]:
    return {row.key for row in queries.datasets(engine, retired=retired).rows}


def keep(engine: Engine, datasets: Sequence[DatasetRecord], processes: Sequence[ProcessRecord]) -> list[str]:
    """Register these as all declarations of the project."""
    register(engine, datasets, processes)
    return retire_undeclared(engine, {each.key for each in datasets}, {each.key for each in processes})


def lifecycle(engine: Engine, process: str) -> str:
    with transaction(engine) as cursor:
        row = cursor.execute(
            "SELECT lifecycle FROM catalog.process WHERE process_key = %s", [process]
        ).fetchone()
    assert row is not None
    return str(row["lifecycle"])


def test_what_is_no_longer_declared_is_retired_with_its_process_and_edges(catalog: Engine) -> None:
    assert keep(catalog, DATASETS[:-1], PROCESSES[:-1]) == ["mart/report"]
    assert listed(catalog) == ALL - {"mart/report"}
    assert listed(catalog, retired=True) == {"mart/report"}
    assert "mart/report" not in {each.key for each in queries.status(catalog)}
    assert [each.key for each in queries.status(catalog, retired=True)] == ["mart/report"]
    assert lifecycle(catalog, "mart/report") == "RETIRED"
    assert not lineage(catalog, "mart/delays", Direction.DOWN, 9).edges
    [found] = retirements(catalog)
    project = settings().project_name
    assert (found.by, found.reason) == (f"project:{project}", f"{project} no longer declares it")


def test_retiring_again_changes_nothing(catalog: Engine) -> None:
    keep(catalog, DATASETS[:-1], PROCESSES[:-1])
    assert keep(catalog, DATASETS[:-1], PROCESSES[:-1]) == []
    assert len(retirements(catalog)) == 1


def test_the_same_declaration_again_restores(catalog: Engine) -> None:
    before = queries.dataset(catalog, "mart/report").dataset_id
    keep(catalog, DATASETS[:-1], PROCESSES[:-1])
    assert keep(catalog, DATASETS, PROCESSES) == []
    assert listed(catalog) == ALL
    assert queries.dataset(catalog, "mart/report").dataset_id == before
    assert lifecycle(catalog, "mart/report") == "ACTIVE"
    assert [edge.target for edge in lineage(catalog, "mart/delays", Direction.DOWN, 9).edges] == [
        "mart/report"
    ]
    assert retirements(catalog) == []


def test_datasets_of_other_projects_and_external_ones_are_never_retired(catalog: Engine) -> None:
    with transaction(catalog) as cursor:
        cursor.execute("UPDATE catalog.dataset SET project = 'other' WHERE full_name = 'mart/report'")
        cursor.execute(
            "UPDATE catalog.dataset SET project = NULL, declaration_hash = '', status = 'DRAFT' "
            "WHERE full_name = 'mart/delays'"
        )
    retired = retire_undeclared(catalog, {"raw/flights"}, {each.key for each in PROCESSES})
    assert not {"mart/report", "mart/delays"} & set(retired)
    assert {"mart/report", "mart/delays"} <= listed(catalog)


def test_another_project_may_declare_what_this_one_no_longer_declares(
    catalog: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(catalog, DATASETS[:-1], PROCESSES[:-1])
    monkeypatch.setenv("HEADRACE_NAME", "other")
    settings.cache_clear()
    register(catalog, DATASETS[-1:], PROCESSES[-1:])
    assert listed(catalog) == ALL


def test_a_person_retires_and_restores_a_dataset_with_a_reason(catalog: Engine) -> None:
    retire(catalog, "mart/report", by="user:alice", reason="nobody reads it")
    [found] = retirements(catalog)
    assert (found.key, found.by, found.reason) == ("mart/report", "user:alice", "nobody reads it")
    assert lifecycle(catalog, "mart/report") == "RETIRED"
    assert "RETIREMENT" in entries(catalog, object_name="mart/report")[0].object_type
    with pytest.raises(RetirementRefused, match="is already retired"):
        retire(catalog, "mart/report", by="user:bob", reason="again")
    restore(catalog, "mart/report", by="user:bob", reason="the auditors read it")
    assert listed(catalog) == ALL
    assert lifecycle(catalog, "mart/report") == "ACTIVE"
    assert entries(catalog, object_name="mart/report")[0].subject == "user:bob"
    with pytest.raises(RetirementRefused, match="neither retired nor deprecated"):
        restore(catalog, "mart/report", by="user:bob", reason="again")
    with pytest.raises(UnknownDataset):
        retire(catalog, "mart/none", by="user:bob", reason="no such dataset")


def test_a_dataset_that_a_person_retired_stays_retired_until_it_is_declared_anew(catalog: Engine) -> None:
    retire(catalog, "mart/report", by="user:alice", reason="nobody reads it")
    changed = DatasetRecord("mart/report", "csv", description="changed")
    register(catalog, [changed])
    assert listed(catalog, retired=True) == {"mart/report"}
    keep(catalog, DATASETS[:-1], PROCESSES[:-1])
    keep(catalog, DATASETS, PROCESSES)
    assert listed(catalog) == ALL
    assert retirements(catalog) == []


def shown(engine: Engine, key: str = "mart/delays") -> tuple[str, str | None]:
    """The status of a dataset, and the reason that its readers see."""
    found = queries.dataset(engine, key)
    return found.status, found.retirement.reason if found.retirement else None


def test_a_deprecated_dataset_is_listed_and_names_the_reason_until_it_is_restored(catalog: Engine) -> None:
    deprecate(catalog, "mart/delays", by="ann", reason="use mart/punctuality")

    assert shown(catalog) == ("DEPRECATED", "use mart/punctuality")
    assert "mart/delays" in listed(catalog)
    assert lifecycle(catalog, "mart/delays") == "ACTIVE"
    assert retirements(catalog) == []
    register(catalog, DATASETS, PROCESSES)
    assert shown(catalog)[0] == "DEPRECATED"

    restore(catalog, "mart/delays", by="ann", reason="not yet")
    assert shown(catalog) == ("ACTIVE", None)


def test_what_was_deprecated_before_it_was_retired_is_deprecated_again(catalog: Engine) -> None:
    deprecate(catalog, "mart/delays", by="ann", reason="use mart/punctuality")
    retire(catalog, "mart/delays", by="bob", reason="gone")
    assert shown(catalog) == ("RETIRED", "gone")

    restore(catalog, "mart/delays", by="bob", reason="an auditor reads it")
    assert shown(catalog) == ("DEPRECATED", "use mart/punctuality")
    assert lifecycle(catalog, "mart/delays") == "ACTIVE"


def test_only_what_is_active_is_deprecated(catalog: Engine) -> None:
    deprecate(catalog, "mart/delays", by="ann", reason="x")
    with pytest.raises(RetirementRefused, match="is not active"):
        deprecate(catalog, "mart/delays", by="ann", reason="x")
    with pytest.raises(UnknownDataset):
        deprecate(catalog, "mart/gone", by="ann", reason="x")
