"""Search reveals nothing about words of other domains to a caller with one domain."""

from typing import Any

import pytest

from headrace.catalog.records import Column, DatasetRecord
from headrace.context import act_as
from headrace.queries.search import search
from headrace.registration.declarations import register
from tests.platform.access.conftest import principal_of


@pytest.fixture
def words(two: Any) -> Any:
    register(
        two,
        [
            DatasetRecord("crm/secretplan", "csv", columns=(Column("takeover", "string"),)),
            DatasetRecord("mart/takings", "csv", description="what was taken over the counter"),
        ],
        [],
    )
    return two


@pytest.mark.parametrize("word", ["takeover", "takeove", "takeovre", "secretplan", "secretplna", "secret"])
def test_search_reveals_no_words_of_hidden_datasets(words: Any, word: Any) -> None:
    with act_as(principal_of("default", domains=frozenset({"mart"}))):
        found = search(words, word)
        assert [row.key for row in found.rows if row.key.startswith("crm")] == []
        assert (found.misspelt == ()) == (found.rows == ())
        assert not any(each in found.misspelt for each in ("takeover", "secretplan")) or found.rows


def test_those_who_see_them_find_them(words: Any) -> None:
    for caller in (None, principal_of("default"), principal_of("default", domains=frozenset({"crm"}))):
        with act_as(caller):
            for word in ("takeover", "takeovre", "secretplan", "secretplna"):
                assert "crm/secretplan" in [row.key for row in search(words, word).rows], (caller, word)
    with act_as(principal_of("default", domains=frozenset({"mart"}))):
        assert [row.key for row in search(words, "takigns").rows] == ["mart/takings"]
        assert [row.key for row in search(words, "delays").rows] == ["mart/delays"]
