"""Suggestions of sensitive columns: kept without values, decided once, in effect at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.catalog.column_lineage import ColumnLineage, ColumnSource, How, LineageOfOutput, Subtype
from headrace.catalog.lookup import dataset_ids
from headrace.catalog.records import Column, DatasetRecord
from headrace.catalog.sensitivity import SensitivityStatus, clear, hidden_columns, sensitivity
from headrace.catalog.sensitivity_suggestions import (
    SuggestionStatus,
    accept,
    accepted_columns,
    datasets_to_look_at,
    dismiss,
    store_suggestions,
    stored_suggestions,
)
from headrace.database.connection import transaction
from headrace.errors import DecisionRefused
from headrace.openlineage.naming.merges import merge
from headrace.personal_data.suggestions import Suggestion
from headrace.publishing.publication import publish
from headrace.queries.proposed_changes import ChangeState, proposed_changes
from headrace.registration.declarations import register

CONTACT = Suggestion("contact", "e-mail address", 0.97, "1,000 of 1,000 values are e-mail addresses")
NR = Suggestion("nr", "national identifier", 0.9, "40 of 42 values are valid as nl.bsn of python-stdnum")
COLUMNS = (Column("contact", "string", tags=("gdpr",)), Column("nr", "string"))


@pytest.fixture
def customers(engine: Engine, draft: Any) -> Engine:
    """crm/customers, from whose contact mart/mails.text is made; both columns of the former are suggested."""
    register(
        engine,
        [DatasetRecord("crm/customers", "parquet", columns=COLUMNS), DatasetRecord("mart/mails", "parquet")],
        [],
    )
    source = ColumnSource("crm/customers", "contact", How.DIRECT, Subtype.TRANSFORMATION, False)
    lineage = LineageOfOutput((ColumnLineage("text", (source,)),))
    publish(engine, None, [draft("crm/customers"), draft("mart/mails", lineage=lineage)])
    look(engine, CONTACT, NR)
    return engine


def look(engine: Engine, *found: Suggestion) -> None:
    store_suggestions(engine, "crm/customers", found, datetime.now(UTC))


def statuses(engine: Engine) -> dict[str, str]:
    return {each.column: each.status for each in stored_suggestions(engine, "crm/customers", None)}


def decide(engine: Engine, column: str, *, is_accepted: bool) -> None:
    with transaction(engine) as cursor:
        if is_accepted:
            accept(cursor, "crm/customers", column, by="ann")
        else:
            dismiss(cursor, "crm/customers", column, by="ann", note="a number of ours")


def test_an_accepted_column_is_sensitive_at_once_with_all_that_is_made_from_it(customers: Engine) -> None:
    assert hidden_columns(customers, ["crm/customers", "mart/mails"]) == {
        "crm/customers": frozenset(), "mart/mails": frozenset()
    }  # fmt: skip
    decide(customers, "contact", is_accepted=True)
    assert hidden_columns(customers, ["crm/customers", "mart/mails"]) == {
        "crm/customers": frozenset({"contact"}), "mart/mails": frozenset({"text"})
    }  # fmt: skip
    accepted, inherited = sensitivity(customers, ["crm/customers", "mart/mails"])
    assert (accepted.status, accepted.by, accepted.reason) == (
        SensitivityStatus.ACCEPTED, "ann", "may be: e-mail address"
    )  # fmt: skip
    assert (inherited.status, inherited.from_column) == (SensitivityStatus.INHERITED, "contact")
    assert accepted_columns(customers, ["crm/customers", "mart/mails"]) == {"contact"}


def test_an_accepted_column_is_a_proposed_change_until_the_declaration_has_the_tag(customers: Engine) -> None:
    decide(customers, "contact", is_accepted=True)
    [change] = proposed_changes(customers, "crm/customers")
    assert (change.field, change.column, change.state, change.by) == (
        "tags", "contact", ChangeState.ACCEPTED, "ann"
    )  # fmt: skip
    assert (change.declared, change.value) == (["gdpr"], ["gdpr", "pii"])
    tagged = (replace(COLUMNS[0], tags=("gdpr", "PII")), COLUMNS[1])
    register(customers, [DatasetRecord("crm/customers", "parquet", columns=tagged)], [])
    assert proposed_changes(customers) == []
    [column] = sensitivity(customers, ["crm/customers"])
    assert column.status is SensitivityStatus.TAGGED


def test_an_accepted_column_is_dismissed_rather_than_cleared(customers: Engine) -> None:
    decide(customers, "contact", is_accepted=True)
    with transaction(customers) as cursor, pytest.raises(DecisionRefused, match="dismiss the suggestion"):
        clear(cursor, "crm/customers", "contact", by="bob", reason="ours")
    decide(customers, "contact", is_accepted=False)
    assert sensitivity(customers, ["crm/customers", "mart/mails"]) == []


def test_a_dismissed_suggestion_comes_back_only_with_another_kind_or_reason(customers: Engine) -> None:
    decide(customers, "nr", is_accepted=False)
    look(
        customers,
        replace(NR, reason="997 of 1,000 values are valid as nl.bsn of python-stdnum", confidence=0.89),
    )
    assert statuses(customers)["nr"] == SuggestionStatus.DISMISSED
    look(customers, replace(NR, reason=f"its name contains bsn; {NR.reason}"))
    assert statuses(customers)["nr"] == SuggestionStatus.PENDING
    decide(customers, "nr", is_accepted=False)
    look(customers, replace(NR, kind="phone number"))
    [found] = [each for each in stored_suggestions(customers) if each.column == "nr"]
    assert (found.kind, found.by, found.note) == ("phone number", None, None)


def test_a_look_forgets_what_it_does_not_suggest_again_unless_it_was_decided(customers: Engine) -> None:
    decide(customers, "contact", is_accepted=True)
    look(customers)
    assert statuses(customers) == {"contact": SuggestionStatus.ACCEPTED}


def test_a_column_that_is_tagged_waits_for_no_decision(customers: Engine) -> None:
    register(
        customers,
        [DatasetRecord("crm/customers", "parquet", columns=(replace(COLUMNS[0], tags=("pii",)), COLUMNS[1]))],
        [],
    )
    assert [each.column for each in stored_suggestions(customers)] == ["nr"]


def test_a_decision_is_made_once_and_recorded(customers: Engine) -> None:
    decide(customers, "nr", is_accepted=False)
    with pytest.raises(DecisionRefused, match="already dismissed"):
        decide(customers, "nr", is_accepted=False)
    with pytest.raises(DecisionRefused, match="nothing is suggested for"):
        decide(customers, "id", is_accepted=True)
    with transaction(customers) as cursor:
        [entry] = cursor.execute(
            "SELECT detail FROM catalog.audit_entry WHERE object_type = 'SENSITIVITY_SUGGESTION'"
        ).fetchall()
    assert entry["detail"]["status"] == ["PENDING", "DISMISSED"]
    assert entry["detail"]["note"] == [None, "a number of ours"]


def test_a_dataset_is_looked_at_again_after_other_rows_are_published(customers: Engine, draft: Any) -> None:
    assert datasets_to_look_at(customers) == ["mart/mails"]
    publish(customers, None, [draft("crm/customers", generation=1)])
    assert datasets_to_look_at(customers) == ["crm/customers", "mart/mails"]
    store_suggestions(customers, "crm/customers", [], datetime.now(UTC) + timedelta(seconds=1))
    assert datasets_to_look_at(customers) == ["mart/mails"]


def test_a_merge_keeps_what_was_accepted_for_either(customers: Engine) -> None:
    register(customers, [DatasetRecord("crm/people", "parquet", columns=COLUMNS)], [])
    decide(customers, "contact", is_accepted=True)
    store_suggestions(customers, "crm/people", [CONTACT, NR], datetime.now(UTC))
    with transaction(customers) as cursor:
        accept(cursor, "crm/people", "nr", by="bob")
        ids = dataset_ids(cursor, {"crm/customers", "crm/people"})
        merge(cursor, ids["crm/customers"], ids["crm/people"])
    found = {
        each.column: (each.status, each.by) for each in stored_suggestions(customers, "crm/people", None)
    }
    assert found == {"contact": (SuggestionStatus.ACCEPTED, "ann"), "nr": (SuggestionStatus.ACCEPTED, "bob")}
