"""Search reveals nothing about words of other domains to a caller with one domain."""

from typing import Any

import pytest

from headrace.catalog.records import Column, DatasetRecord, ProcessRecord, Technology
from headrace.context import act_as
from headrace.queries.filters import ALL_DATASETS
from headrace.queries.search import filter_counts, search
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


@pytest.fixture
def code(two: Any) -> Any:
    processes = [
        ProcessRecord(key, Technology.SPARK, inputs=(), outputs=(key,), source=source)
        for key, source in (
            ("mart/churn", "SELECT dep_delay * 2 FROM crm.hazelnut"),
            ("crm/customers", "SELECT hazelnut FROM raw.x"),
        )
    ]
    register(two, [DatasetRecord(each.key, "csv") for each in processes], processes)
    return two


@pytest.mark.parametrize("words", ["hazelnut", "hazeln dep", "crm.hazelnut"])
def test_datasets_are_found_by_the_code_that_writes_them(code: Any, words: str) -> None:
    found = search(code, words, code_of=None).rows

    assert "mart/churn" in [each.key for each in found]
    assert all(each.in_code for each in found if each.key == "mart/churn")


def test_code_is_searched_only_where_it_may_be_read(code: Any) -> None:
    assert search(code, "hazelnut").rows == ()
    assert [each.key for each in search(code, "hazelnut", code_of=["mart"]).rows] == ["mart/churn"]
    with act_as(principal_of("default", domains=frozenset({"crm"}))):
        assert [each.key for each in search(code, "hazelnut", code_of=None).rows] == ["crm/customers"]


def test_counts_are_of_the_datasets_that_are_found_by_code(code: Any) -> None:
    counts = filter_counts(code, "hazelnut", ALL_DATASETS, code_of=None)

    assert {each.value for each in counts if each.filter == "domain"} == {"mart", "crm"}
    assert filter_counts(code, "hazelnut", ALL_DATASETS) == []


def test_code_is_that_of_the_domain_of_its_process(code: Any) -> None:
    split = ProcessRecord(
        "crm/split", Technology.SPARK, (), ("mart/churn", "crm/customers"), source="SELECT quokka"
    )
    register(code, [], [split])

    assert search(code, "quokka", code_of=["mart"]).rows == ()
    assert filter_counts(code, "quo", ALL_DATASETS, code_of=["mart"]) == []
    assert {each.key for each in search(code, "quokka", code_of=["crm"]).rows} == {
        "mart/churn",
        "crm/customers",
    }


@pytest.mark.parametrize("word", ["createDataFrame", "limitfoo", "numbat", "quoll"])
def test_words_of_code_are_those_between_signs_and_capitals(code: Any, word: str) -> None:
    odd = "spark.createDataFrame(x) if amount <limitfoo AND fee> 3 else '&numbat;' ~quoll/x"
    register(code, [], [ProcessRecord("mart/odd", Technology.SPARK, (), ("mart/churn",), source=odd)])

    assert [each.key for each in search(code, word, code_of=None).rows] == ["mart/churn"]


def test_code_of_any_length_is_registered(code: Any) -> None:
    long = " ".join(f"word{number}" for number in range(120_000))
    register(code, [], [ProcessRecord("mart/long", Technology.SPARK, (), ("mart/churn",), source=long)])

    assert [each.key for each in search(code, "word7", code_of=None).rows] == ["mart/churn"]
