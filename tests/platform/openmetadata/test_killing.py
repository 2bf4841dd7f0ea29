"""Changes on both sides, and a synchronisation that is killed in between: equal to one that never was."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from headrace.queries.proposed_changes import proposed_changes
from tests.platform.openmetadata.conftest import ORDERS, PROCESSES, SALES
from tests.platform.openmetadata.killing import Both, contents
from tests.platform.openmetadata.server import Contract


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_it_ends_as_if_it_had_not_been(shop: Engine, seed: int) -> None:
    datasets = [replace(ORDERS, partitions=None), SALES, replace(SALES, key="shop/returns")]
    chance = random.Random(seed)  # noqa: S311
    both = Both(shop, datasets, PROCESSES, Contract(), Contract(), chance)
    for _ in range(5):
        both.round()
        assert contents(both.killed) == contents(both.undisturbed)
    assert both.kills >= 5
    assert proposed_changes(shop), "what stewards wrote is not lost"
