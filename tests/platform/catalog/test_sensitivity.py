"""Sensitive tags are inherited along columns, through masking and unknown steps, until an owner clears them."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from headrace.access.callers import Caller, CallerKind, Grant, Permission
from headrace.access.sensitivity import Sensitive, SubjectKey
from headrace.catalog.column_lineage import (
    ColumnLineage,
    ColumnSource,
    How,
    LineageOfOutput,
    Subtype,
    unknown,
)
from headrace.catalog.masking import visible
from headrace.catalog.publishing import publish
from headrace.catalog.records import Column, DatasetRecord, ProcessRecord, Technology
from headrace.catalog.registry import register
from headrace.catalog.sensitivity import SensitivityStatus, clear, hidden_columns, sensitivity, withdraw
from headrace.database.connection import transaction
from headrace.database.ids import organisation, organisation_id
from headrace.database.principal import Principal, act_as
from headrace.errors import DecisionRefused


@dataclass(frozen=True)
class Measures:
    key: SubjectKey
    statistics: Annotated[dict[str, Any], Sensitive.STATISTICS]


PEOPLE = (Column("email", "string", tags=("PII",)), Column("city", "string"))


def column(name, dataset, source, *, masking=False, subtype=Subtype.TRANSFORMATION):
    how = How.INDIRECT if subtype is Subtype.FILTER else How.DIRECT
    return ColumnLineage(name, (ColumnSource(dataset, source, how, subtype, masking),))


@pytest.fixture
def chain(engine, draft):
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


def statuses(engine, *datasets):
    return [
        (e.dataset, e.column, e.status, e.from_dataset, e.from_column) for e in sensitivity(engine, datasets)
    ]


def test_a_tag_travels_along_direct_columns_and_not_through_a_mask_or_a_filter(chain):
    assert statuses(chain, "hr/people", "hr/addresses", "mart/mails") == [
        ("hr/addresses", "address", SensitivityStatus.INHERITED, "hr/people", "email"),
        ("hr/people", "email", SensitivityStatus.TAGGED, None, None),
        ("mart/mails", "text", SensitivityStatus.INHERITED, "hr/people", "email"),
    ]
    assert hidden_columns(chain, ["mart/mails", "no/where"]) == {"mart/mails": frozenset({"text"})}


def test_what_is_unknown_may_be_sensitive(chain, draft):
    publish(
        chain,
        None,
        [draft("mart/mails", generation=1, lineage=unknown(["x"], "a UDF").possible(["hr/addresses"]))],
    )
    assert statuses(chain, "mart/mails") == [
        ("mart/mails", "x", SensitivityStatus.POSSIBLE, "hr/people", "email")
    ]


def test_an_owner_clears_a_column_and_all_that_is_made_from_it(chain):
    with transaction(chain) as cursor:
        clear(cursor, "hr/addresses", "address", by="ann", reason="no person's own")
    (cleared,) = sensitivity(chain, ["hr/addresses", "mart/mails"])
    assert (cleared.status, cleared.by, cleared.reason) == (
        SensitivityStatus.CLEARED,
        "ann",
        "no person's own",
    )
    assert cleared.at is not None
    with transaction(chain) as cursor, pytest.raises(DecisionRefused, match="cleared already"):
        clear(cursor, "hr/addresses", "address", by="ann", reason="again")
    with transaction(chain) as cursor:
        withdraw(cursor, "hr/addresses", "address", by="bob")
    assert hidden_columns(chain, ["mart/mails"]) == {"mart/mails": frozenset({"text"})}
    with transaction(chain) as cursor:
        kept = cursor.execute("SELECT cleared_by, withdrawn_by FROM catalog.cleared_column").fetchall()
    assert kept == [{"cleared_by": "ann", "withdrawn_by": "bob"}]


@pytest.mark.parametrize(
    ("dataset", "name", "why"),
    [("hr/people", "email", "tagged in its declaration"), ("hr/addresses", "city", "nothing to clear")],
)
def test_what_cannot_be_cleared(chain, dataset, name, why):
    with transaction(chain) as cursor, pytest.raises(DecisionRefused, match=why):
        clear(cursor, dataset, name, by="ann", reason="why not")
    with transaction(chain) as cursor, pytest.raises(DecisionRefused, match="is not cleared"):
        withdraw(cursor, dataset, name, by="ann")


def test_who_sees_one_domain_only_is_kept_from_values_of_another(chain):
    caller = Principal(organisation_id(), organisation(), "user:con", frozenset({"mart"}))
    with act_as(caller):
        assert statuses(chain, "mart/mails", "hr/addresses") == [
            ("mart/mails", "text", SensitivityStatus.INHERITED, None, None)
        ]
        shown = visible(
            chain,
            Caller(
                "user:con",
                CallerKind.USER,
                organisation_id(),
                organisation(),
                (Grant("mart", frozenset({Permission.READ})),),
            ),
            Measures("mart/mails", {"text": {"min": "a@b.c"}, "digest": {"min": "0f"}}),
        )
    assert shown.statistics == {"text": {"min": "***"}, "digest": {"min": "0f"}}
