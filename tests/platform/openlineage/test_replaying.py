"""Generated streams of events: the same catalog in any order and batches."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from headrace.retention.rebuild import rebuild
from tests.platform.openlineage.events import (
    dataset,
    dataset_event,
    everything,
    facet,
    ingest_valid,
    job_event,
    run_event,
    wipe,
)

_SPEC = "https://openlineage.io/spec/facets/"
_NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
_JOBS = st.sampled_from(["load", "report"])
_MINUTES = st.integers(0, 6)
_KINDS = st.sampled_from(["START", "COMPLETE", "COMPLETE", "FAIL", "ABORT", None])


def _facet(schema: str, **content: Any) -> dict[str, Any]:
    return {**facet(**content), "_schemaURL": f"{_SPEC}{schema}.json"}


def _input(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "DATASET", "namespace": "db", "name": name, **more}


_FACETS = st.fixed_dictionaries(
    {},
    optional={
        "symlinks": _NAMES.map(
            lambda name: _facet(
                "1-0-1/SymlinksDatasetFacet",
                identifiers=[{"namespace": "db", "name": name, "type": "TABLE"}],
            )
        ),
        "lifecycleStateChange": _NAMES.map(
            lambda name: _facet(
                "1-0-1/LifecycleStateChangeDatasetFacet",
                lifecycleStateChange="RENAME",
                previousIdentifier={"namespace": "db", "name": name},
            )
        ),
        "version": st.sampled_from(["v1", "v2"]).map(
            lambda tag: _facet("1-0-1/DatasetVersionDatasetFacet", datasetVersion=tag)
        ),
        "schema": st.sampled_from(["id", "key"]).map(
            lambda name: _facet("1-1-1/SchemaDatasetFacet", fields=[{"name": name, "type": "int"}])
        ),
        "columnLineage": _NAMES.map(
            lambda name: _facet(
                "1-2-0/ColumnLineageDatasetFacet",
                fields={"id": {"inputFields": [{"namespace": "db", "name": name, "field": "id"}]}},
            )
        ),
        "lineage": st.one_of(
            st.lists(_NAMES.map(_input), max_size=2).map(
                lambda inputs: _facet("1-0-0/LineageFacet", inputs=inputs)
            ),
            st.just(_facet("1-0-0/LineageFacet", _deleted=True)),
        ),
    },
)
_DATASETS = st.lists(
    st.tuples(_NAMES, _FACETS).map(lambda each: dataset(each[0], **each[1])),
    max_size=2,
    unique_by=lambda d: d["name"],
)


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    found = []
    for _ in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(["run", "run", "run", "job", "dataset"]))
        if kind == "job":
            names = st.lists(_NAMES, max_size=2, unique=True)
            found.append(job_event(draw(_JOBS), draw(names), draw(names), draw(_MINUTES)))
        elif kind == "dataset":
            found.append(dataset_event(dataset(draw(_NAMES), **draw(_FACETS)), draw(_MINUTES)))
        else:
            found.append(
                run_event(
                    draw(_KINDS),
                    run=draw(st.integers(0, 2)),
                    job=draw(_JOBS),
                    minutes=draw(_MINUTES),
                    inputs=draw(_DATASETS),
                    outputs=draw(_DATASETS),
                )
            )
    return found


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
    print_blob=False,
)
@given(st.data())
def test_any_order_comes_to_the_same(engine: Engine, data: st.DataObject) -> None:
    message = data.draw(streams())
    wipe(engine)
    ingest_valid(engine, *message)
    together = everything(engine)
    rebuild(engine)
    assert everything(engine) == together
    wipe(engine)
    for event in data.draw(st.permutations(message)):
        ingest_valid(engine, event)
    ingest_valid(engine, *message)
    assert everything(engine) == together
    rebuild(engine)
    assert everything(engine) == together
