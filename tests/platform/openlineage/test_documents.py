"""Documents of runs: a merge that is independent of order and repetition."""

from __future__ import annotations

from functools import reduce
from typing import Any
from uuid import UUID, uuid4, uuid5

from hypothesis import given
from hypothesis import strategies as st

from headrace.catalog.naming import place
from headrace.openlineage.documents import Ids, document_of, merged
from headrace.openlineage.outlines import edges, uses, versions
from headrace.openlineage.parsing import parse
from headrace.openlineage.run_fold import fold_document
from tests.platform.openlineage.events import dataset, facet, run_event

OWN = "headrace://default"


class _Every(dict):
    """An id for every name."""

    def __missing__(self, name: Any) -> Any:
        return uuid5(UUID(int=1), str(name))


IDS = Ids(lambda name: place(name, OWN), _Every(), _Every())


def events() -> st.SearchStrategy:
    """Events of one run: any kinds, several datasets, facets that replace and take away each other."""
    used = st.builds(
        lambda name, rows, lineage: dataset(
            name,
            use={"outputFacets": {"outputStatistics": facet(rowCount=rows)}},
            **({"lineage": facet(inputs=lineage)} if lineage is not None else {}),  # type: ignore[arg-type]
        ),
        st.sampled_from("abc"),
        st.integers(0, 3),
        st.sampled_from([None, [], [{"type": "DATASET", "namespace": "db", "name": "a"}]]),
    )
    parent = facet(run={"runId": str(UUID(int=5))}, job={"namespace": "airflow", "name": "dag"})
    return st.builds(
        run_event,
        st.sampled_from([None, "START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER"]),
        minutes=st.integers(0, 4),
        inputs=st.lists(st.sampled_from("abc"), max_size=3),
        outputs=st.lists(used, max_size=3),
        run_facets=st.sampled_from([{}, {"parent": parent}, {"parent": facet(_deleted=True)}]),
    )


@given(st.lists(events(), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_order_and_repetition_change_nothing(message: Any, order: Any) -> None:
    documents = [document_of(parse(event), IDS, OWN) for event in message]  # type: ignore[arg-type]
    orderly = reduce(merged, documents)
    doubled = [*documents, *documents]
    order.shuffle(doubled)
    assert reduce(merged, doubled) == orderly
    middle = len(documents) // 2
    if middle:
        parts = (reduce(merged, documents[middle:]), reduce(merged, documents[:middle]))
        assert merged(*parts) == orderly
    run = uuid4()
    other = reduce(merged, doubled)
    assert (fold_document(run, other), edges(other), versions(other), list(uses(run, other))) == (
        fold_document(run, orderly),
        edges(orderly),
        versions(orderly),
        list(uses(run, orderly)),
    )
