"""Contracts that consumers pin, and the changes that break them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from headrace.contracts.checking import broken_contracts, check_contracts
from headrace.contracts.pins import InvalidConsumer, compare_file, compare_pinned, pin
from headrace.contracts.terms import NotDeclared, terms_of
from headrace.execution.plan import Plan
from tests.platform.contracts.conftest import Declare

Plans = Callable[..., tuple[Plan, ...]]
DAY = {"type": "date", "nullable": False}
FEWER = {"schema": {"columns": {"id": "bigint", "day": "date"}}, "checks": None}


def version(file: Path) -> str:
    return str(yaml.safe_load(file.read_text())["version"])


def test_a_contract_is_pinned_for_a_consumer(declare: Declare, tmp_path: Path) -> None:
    file = pin(tmp_path, declare(), "pricing")
    assert file == tmp_path / "contracts" / "shop.orders.pricing.odcs.yaml"
    (comparison,) = compare_pinned(tmp_path, declare())
    assert (comparison.consumer, comparison.changes) == ("pricing", ())


def test_the_version_of_a_contract_grows_with_its_changes(declare: Declare, tmp_path: Path) -> None:
    assert version(pin(tmp_path, declare(), "pricing")) == "1.0.0"
    assert version(pin(tmp_path, declare(), "pricing")) == "1.0.0"
    assert version(pin(tmp_path, declare(owners=["team:sales"]), "pricing")) == "1.1.0"
    assert version(pin(tmp_path, declare(owners=["team:sales"], **FEWER), "pricing")) == "2.0.0"


def test_a_breaking_change_is_refused_and_names_consumer_owners_and_remedy(
    declare: Declare, plans: Plans, tmp_path: Path
) -> None:
    file = pin(tmp_path, declare(), "pricing")
    pin(tmp_path, declare(**FEWER), "audit")
    (problem,) = broken_contracts(tmp_path, plans(**FEWER), complete=True)
    assert problem.file == file
    assert problem.message.startswith(
        "shop/orders breaks the contract that pricing relies on: schema: column "
    )
    assert "schema: column email (string) was removed" in problem.message
    assert problem.hint == (
        "Its owners (team:shop, ann@example.com) agree with pricing on the change; then run "
        "`headrace contract pin shop/orders --consumer pricing`. Otherwise undo it."
    )


def test_a_compatible_change_is_not_refused(declare: Declare, plans: Plans, tmp_path: Path) -> None:
    pin(tmp_path, declare(), "pricing")
    assert broken_contracts(tmp_path, plans(owners=["team:sales"]), complete=True) == []


def test_a_dataset_that_is_renamed_or_removed_breaks_its_contracts(
    declare: Declare, plans: Plans, tmp_path: Path
) -> None:
    pin(tmp_path, declare(), "pricing")
    renamed = plans(key="shop/sales", renamed_from="shop/orders")
    (problem,) = broken_contracts(tmp_path, renamed, complete=True)
    assert "shop/orders, whose contract pricing relies on, was renamed to shop/sales" in problem.message
    assert "headrace contract pin shop/sales --consumer pricing" in str(problem.hint)
    (problem,) = broken_contracts(tmp_path, plans(key="shop/sales"), complete=True)
    assert "is not declared any more" in problem.message
    assert broken_contracts(tmp_path, plans(key="shop/sales"), complete=False) == []


def test_a_contract_that_cannot_be_read_is_a_problem(declare: Declare, plans: Plans, tmp_path: Path) -> None:
    file = pin(tmp_path, declare(), "pricing")
    file.write_text(file.read_text().replace("kind: DataContract", "kind: Other"))
    (problem,) = broken_contracts(tmp_path, plans(), complete=True)
    assert (problem.file, problem.field) == (file, "kind")


def test_a_project_without_contracts_has_no_broken_ones(tmp_path: Path) -> None:
    assert check_contracts(tmp_path, complete=True) == []


def test_any_contract_can_be_compared(declare: Declare, tmp_path: Path) -> None:
    file = pin(tmp_path, declare(), "pricing").rename(tmp_path / "theirs.yaml")
    assert [change.breaking for change in compare_file(file, declare(sla=None)).changes][:1] == [True]


def test_a_consumer_may_remove_what_they_do_not_rely_on(
    declare: Declare, plans: Plans, tmp_path: Path
) -> None:
    file = pin(tmp_path, declare(), "pricing")
    document = yaml.safe_load(file.read_text())
    del document["customProperties"], document["slaProperties"], document["schema"][0]["quality"]
    (day,) = [each for each in document["schema"][0]["properties"] if each["name"] == "day"]
    document["schema"][0]["properties"] = [day]
    file.write_text(yaml.safe_dump(document))
    assert broken_contracts(tmp_path, plans(), complete=True) == []
    assert (
        broken_contracts(tmp_path, plans(schema={"columns": {"day": DAY}}, checks=None), complete=True) == []
    )
    changed = plans(schema={"columns": {"day": "date"}}, checks=None)
    (problem,) = broken_contracts(tmp_path, changed, complete=True)
    assert problem.message.endswith("relies on: schema: column day may now be null")


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "a.b"])
def test_a_consumer_has_a_name_that_a_file_can_have(declare: Declare, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidConsumer, match="is not a name of a consumer"):
        pin(tmp_path, declare(), name)
    assert not (tmp_path / "contracts").exists()


def test_an_unknown_dataset_is_not_declared(plans: Plans) -> None:
    with pytest.raises(NotDeclared, match=r"does not declare shop/order; did you mean shop/orders\?"):
        terms_of(plans(), "shop/order")
