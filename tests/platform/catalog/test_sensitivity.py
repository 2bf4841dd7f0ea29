"""Sensitive tags are inherited along columns, through masking and unknown steps, until an owner clears them."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import pytest
from sqlalchemy import Engine

from headrace.access.callers import Caller, CallerKind, Grant, Permission
from headrace.access.sensitivity import Sensitive, SubjectKey, VersionId
from headrace.catalog.column_lineage import (
    ColumnLineage,
    ColumnSource,
    How,
    LineageOfOutput,
    Subtype,
    unknown,
)
from headrace.catalog.masking import visible
from headrace.catalog.records import Column, DatasetRecord, ProcessRecord, Technology
from headrace.catalog.sensitivity import (
    SensitivityStatus,
    clear,
    cleared,
    hidden_columns,
    marked,
    sensitive_sources,
    sensitivity,
    withdraw,
)
from headrace.context import Principal, act_as, current_context
from headrace.database.connection import transaction
from headrace.errors import DecisionRefused
from headrace.publishing.pins import pin, unpin
from headrace.publishing.publication import publish
from headrace.registration.declarations import register


@dataclass(frozen=True)
class Measures:
    key: SubjectKey
    statistics: Annotated[dict[str, Any], Sensitive.STATISTICS]


@dataclass(frozen=True)
class MeasuresOfVersion:
    version_id: VersionId
    key: SubjectKey
    statistics: Annotated[dict[str, Any], Sensitive.STATISTICS]


PEOPLE = (Column("email", "string", tags=("PII",)), Column("city", "string"))


def column(
    name: Any, dataset: Any, source: Any, *, masking: Any = False, subtype: Any = Subtype.TRANSFORMATION
) -> Any:
    how = How.INDIRECT if subtype is Subtype.FILTER else How.DIRECT
    return ColumnLineage(name, (ColumnSource(dataset, source, how, subtype, masking),))


@pytest.fixture
def chain(engine: Engine, draft: Any) -> Any:
    """hr/people (email tagged) -> hr/addresses -> mart/mails, of which email became `address`, `text` and `digest`."""
    register(
        engine,
        [
            DatasetRecord("hr/people", "parquet", columns=PEOPLE),
            DatasetRecord("hr/addresses", "parquet"),
            DatasetRecord("mart/mails", "parquet"),
        ],
        [
            ProcessRecord("hr/addresses", Technology.SPARK, inputs=("hr/people",), outputs=("hr/addresses",)),
            ProcessRecord("mart/mails", Technology.SPARK, inputs=("hr/addresses",), outputs=("mart/mails",)),
        ],
    )
    addresses = LineageOfOutput(
        (
            column("address", "hr/people", "email", subtype=Subtype.IDENTITY),
            column("digest", "hr/people", "email", masking=True),
            column("city", "hr/people", "city"),
        ),
        whole=column("", "hr/people", "email", subtype=Subtype.FILTER).sources,
    )
    mails = LineageOfOutput(
        (column("text", "hr/addresses", "address"), column("digest", "hr/addresses", "digest")),
    )
    publish(engine, None, [draft("hr/addresses", lineage=addresses), draft("mart/mails", lineage=mails)])
    return engine


def statuses(engine: Engine, *datasets: Any) -> Any:
    return [
        (e.dataset, e.column, e.status, e.from_dataset, e.from_column) for e in sensitivity(engine, datasets)
    ]


def test_a_tag_travels_along_direct_columns_and_not_through_a_mask_or_a_filter(chain: Any) -> None:
    assert statuses(chain, "hr/people", "hr/addresses", "mart/mails") == [
        ("hr/addresses", "address", SensitivityStatus.INHERITED, "hr/people", "email"),
        ("hr/people", "email", SensitivityStatus.TAGGED, None, None),
        ("mart/mails", "text", SensitivityStatus.INHERITED, "hr/people", "email"),
    ]
    assert hidden_columns(chain, ["mart/mails", "no/where"]) == {"mart/mails": frozenset({"text"})}


def test_what_is_unknown_may_be_sensitive(chain: Any, draft: Any) -> None:
    publish(
        chain,
        None,
        [draft("mart/mails", generation=1, lineage=unknown(["x"], "a UDF").possible(["hr/addresses"]))],
    )
    assert statuses(chain, "mart/mails") == [
        ("mart/mails", "x", SensitivityStatus.POSSIBLE, "hr/people", "email")
    ]


def test_an_owner_clears_a_column_and_all_that_is_made_from_it(chain: Any) -> None:
    with transaction(chain) as cursor:
        clear(cursor, "hr/addresses", "address", by="ann", reason="no person's own")
    (cleared,) = sensitivity(chain, ["hr/addresses", "mart/mails"])
    assert (cleared.status, cleared.by, cleared.reason) == (
        SensitivityStatus.CLEARED,
        "ann",
        "no person's own",
    )
    assert cleared.at is not None
    with transaction(chain) as cursor, pytest.raises(DecisionRefused, match="is already cleared"):
        clear(cursor, "hr/addresses", "address", by="ann", reason="again")
    with transaction(chain) as cursor:
        withdraw(cursor, "hr/addresses", "address", by="bob")
    assert hidden_columns(chain, ["mart/mails"]) == {"mart/mails": frozenset({"text"})}
    with transaction(chain) as cursor:
        kept = cursor.execute("SELECT cleared_by, withdrawn_by FROM catalog.cleared_column").fetchall()
    assert kept == [{"cleared_by": "ann", "withdrawn_by": "bob"}]


@pytest.fixture
def released(engine: Engine, draft: Any) -> Any:
    """Publish a version of m/a or m/b, whose column x is made from the given column of the given input versions."""
    people = (*PEOPLE, Column("phone", "string", tags=("pii",)))
    register(
        engine,
        [
            DatasetRecord("hr/people", "parquet", columns=people),
            DatasetRecord("m/a", "parquet"),
            DatasetRecord("m/b", "parquet"),
            DatasetRecord("m/c", "parquet"),
        ],
        [],
    )
    found: dict[Any, Any] = {}

    def publish_one(
        dataset: Any, source: Any, column_name: Any, *inputs: Any, partition: Any = None, masking: Any = False
    ) -> Any:
        generation = found.get((dataset, partition), 0)
        lineage = LineageOfOutput((column("x", source, column_name, masking=masking),))
        given = {"partition": partition, "generation": generation, "lineage": lineage}
        made = publish(engine, None, [draft(dataset, inputs=tuple(i.version_id for i in inputs), **given)])
        found[dataset, partition] = made[0].generation
        return made[0].version

    return publish_one


def hidden(engine: Engine, *datasets: Any) -> Any:
    return {name: set(columns) for name, columns in hidden_columns(engine, datasets).items()}


def hidden_of(engine: Engine, version: Any) -> Any:
    (found,) = marked(engine, [replace(version, columns=(Column("x", "string"),))])
    return [each.name for each in found.columns if each.tags]


def test_a_partition_made_from_a_sensitive_column_stays_hidden_when_a_newer_one_is_not(
    engine: Engine, released: Any
) -> None:
    first = released("m/a", "hr/people", "email", partition="2026-01-01")
    second = released("m/a", "hr/people", "city", partition="2026-01-02")
    assert hidden(engine, "m/a") == {"m/a": {"x"}}
    assert hidden_of(engine, first) == ["x"]
    assert hidden_of(engine, second) == []
    released("m/a", "hr/people", "city", partition="2026-01-01")
    assert hidden(engine, "m/a") == {"m/a": set()}


def test_a_column_is_hidden_until_it_is_materialized_again_from_an_input_without_sensitive_values(
    engine: Engine, released: Any
) -> None:
    sensitive = released("m/a", "hr/people", "email")
    before = released("m/b", "m/a", "x", sensitive)
    harmless = released("m/a", "hr/people", "city")
    assert hidden(engine, "m/a", "m/b") == {"m/a": set(), "m/b": {"x"}}
    after = released("m/b", "m/a", "x", harmless)
    assert hidden(engine, "m/b") == {"m/b": set()}
    assert [hidden_of(engine, each) for each in (sensitive, before, harmless, after)] == [
        ["x"],
        ["x"],
        [],
        [],
    ]


def test_a_pinned_version_counts_for_its_dataset(engine: Engine, released: Any) -> None:
    first = released("m/a", "hr/people", "email")
    released("m/a", "hr/people", "city")
    pin(engine, "m/a", first.tag, by="ann", reason="audit")
    assert hidden(engine, "m/a") == {"m/a": {"x"}}
    unpin(engine, "m/a", by="ann")
    assert hidden(engine, "m/a") == {"m/a": set()}


def test_an_input_that_was_read_without_a_version_counts_as_published(engine: Engine, released: Any) -> None:
    released("m/a", "hr/people", "email")
    released("m/b", "m/a", "x")
    assert hidden(engine, "m/b") == {"m/b": {"x"}}
    released("m/a", "hr/people", "city")
    assert hidden(engine, "m/b") == {"m/b": set()}


def test_a_dataset_that_reads_its_own_last_version_has_few_provenances(engine: Engine, released: Any) -> None:
    version = released("m/a", "hr/people", "email")
    for _ in range(5):
        version = released("m/a", "m/a", "x", version)
    other = released("m/b", "m/a", "x", version)
    for _ in range(3):  # each reads the other's last version
        version = released("m/a", "m/b", "x", other)
        other = released("m/b", "m/a", "x", version)
    with transaction(engine) as cursor:
        (row,) = cursor.execute("SELECT count(*) AS n FROM catalog.provenance").fetchall()
    assert row["n"] <= 6
    assert hidden(engine, "m/a", "m/b") == {"m/a": {"x"}, "m/b": {"x"}}


def test_the_statistics_of_a_version_are_masked_by_its_own_lineage(engine: Engine, released: Any) -> None:
    versions = [released("m/a", "hr/people", name) for name in ("email", "city")]
    caller = Caller(
        "user:con",
        CallerKind.USER,
        current_context().organisation_id,
        current_context().organisation,
        (Grant("m", frozenset({Permission.READ})),),
    )
    rows = [MeasuresOfVersion(each.version_id, "m/a", {"x": {"min": "a"}}) for each in versions]
    assert [each.statistics["x"]["min"] for each in visible(engine, caller, rows)] == ["***", "a"]


def clear_x(engine: Engine, dataset: Any, reason: Any = "a code only") -> None:
    with transaction(engine) as cursor:
        clear(cursor, dataset, "x", by="ann", reason=reason)


def test_a_clearing_lapses_when_another_sensitive_column_flows_in(engine: Engine, released: Any) -> None:
    first = released("m/a", "hr/people", "phone")
    clear_x(engine, "m/a")
    second = released("m/a", "hr/people", "email")
    assert hidden(engine, "m/a") == {"m/a": {"x"}}
    assert [hidden_of(engine, each) for each in (first, second)] == [[], ["x"]]
    (status,) = sensitivity(engine, ["m/a"])
    assert (status.status, status.from_column, status.by, status.reason) == (
        SensitivityStatus.LAPSED,
        "email",
        "ann",
        "a code only",
    )
    clear_x(engine, "m/a", "no person's own")
    assert hidden(engine, "m/a") == {"m/a": set()}
    assert [hidden_of(engine, each) for each in (first, second)] == [["x"], []]
    released("m/a", "hr/people", "city")
    (status,) = sensitivity(engine, ["m/a"])
    assert (status.status, status.reason) == (SensitivityStatus.CLEARED, "no person's own")


def test_a_clearing_lapses_when_its_source_gets_values_of_another_sensitive_column(
    engine: Engine, released: Any
) -> None:
    middle = released("m/a", "hr/people", "phone")
    released("m/b", "m/a", "x", middle)
    clear_x(engine, "m/b")
    assert hidden(engine, "m/a", "m/b") == {"m/a": {"x"}, "m/b": set()}
    released("m/b", "m/a", "x", released("m/a", "hr/people", "email"))
    assert hidden(engine, "m/b") == {"m/b": {"x"}}


def test_a_clearing_lapses_when_a_source_is_tagged_later(engine: Engine, released: Any) -> None:
    released("m/a", "m/c", "y")
    released("m/c", "hr/people", "phone")
    register(engine, [DatasetRecord("m/c", "parquet", columns=(Column("y", "string", tags=("pii",)),))], [])
    clear_x(engine, "m/a")
    assert hidden(engine, "m/a") == {"m/a": set()}
    released("m/a", "hr/people", "city")
    register(
        engine,
        [DatasetRecord("hr/people", "parquet", columns=(Column("city", "string", tags=("pii",)),))],
        [],
    )
    assert hidden(engine, "m/a") == {"m/a": {"x"}}


def test_the_sources_of_a_version_are_those_that_a_clearing_is_judged_on(
    engine: Engine, released: Any
) -> None:
    version = released("m/a", "hr/people", "phone")
    clear_x(engine, "m/a")
    other = released("m/b", "hr/people", "phone")
    assert cleared(engine, "m/a") == sensitive_sources(engine, [other])["m/b"]
    assert sensitive_sources(engine, [version]) == {"m/a": {}}


@pytest.mark.parametrize(
    ("dataset", "name", "why"),
    [("hr/people", "email", "tagged in its declaration"), ("hr/addresses", "city", "nothing to clear")],
)
def test_what_cannot_be_cleared(chain: Any, dataset: Any, name: Any, why: Any) -> None:
    with transaction(chain) as cursor, pytest.raises(DecisionRefused, match=why):
        clear(cursor, dataset, name, by="ann", reason="why not")
    with transaction(chain) as cursor, pytest.raises(DecisionRefused, match="is not cleared"):
        withdraw(cursor, dataset, name, by="ann")


def test_who_sees_one_domain_only_is_kept_from_values_of_another(chain: Any) -> None:
    caller = Principal(
        current_context().organisation_id, current_context().organisation, "user:con", frozenset({"mart"})
    )
    with act_as(caller):
        assert statuses(chain, "mart/mails", "hr/addresses") == [
            ("mart/mails", "text", SensitivityStatus.INHERITED, None, None)
        ]
        shown = visible(
            chain,
            Caller(
                "user:con",
                CallerKind.USER,
                current_context().organisation_id,
                current_context().organisation,
                (Grant("mart", frozenset({Permission.READ})),),
            ),
            Measures("mart/mails", {"text": {"min": "a@b.c"}, "digest": {"min": "0f"}}),
        )
    assert shown.statistics == {"text": {"min": "***"}, "digest": {"min": "0f"}}
