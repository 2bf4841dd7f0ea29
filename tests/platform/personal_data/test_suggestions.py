"""Columns that may have personal data: by name, by values, and by both."""

from __future__ import annotations

import json
from pathlib import Path

import phonenumbers
import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner, Result

from headrace import queries
from headrace.catalog.sensitivity_suggestions import datasets_to_look_at
from headrace.cli import app
from headrace.orchestration.jobs.personal_data import sensitive_suggestions
from headrace.personal_data.suggestions import suggestions
from tests.platform.projects import load_project, write_project

# Valid numbers from the documentation of python-stdnum, and the examples of phonenumbers.
IBANS = [
    "GR16 0110 1050 0000 1054 7023 795",
    "BE31435411161155",
    "DE89370400440532013000",
    "GB29NWBK60161331926819",
    "NL91ABNA0417164300",
    "FR1420041010050500013M02606",
]
PHONES = [
    phonenumbers.format_number(example, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    for region in ("US", "GB", "DE", "FR", "NL", "IT", "ES", "IN", "BR", "AU", "JP", "ZA")
    if (example := phonenumbers.example_number(region)) is not None
]
CARDS = [  # the test numbers that payment networks publish
    "4111111111111111",
    "4012888888881881",
    "5555555555554444",
    "5105105105105100",
    "378282246310005",
    "371449635398431",
    "6011111111111117",
    "30569309025904",
]
BSNS = ["111222333", "941331490", "123456782", "232262536", "100000009", "100000010"]


def kinds(name: str, values: list[str], type: str = "string") -> list[tuple[str, bool]]:
    found = suggestions({name: type}, [{name: value} for value in values])
    return [(each.kind, each.confidence >= 0.9) for each in found]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (IBANS, "IBAN"),
        (PHONES, "phone number"),
        (CARDS, "payment card number"),
        ([f"user{number}@example.com" for number in range(9)], "e-mail address"),
        ([f"192.0.2.{number}" for number in range(9)], "IP address"),
        ([f"2001:db8::{number}" for number in range(9)], "IP address"),
    ],
)
def test_values_show_their_kind_whatever_the_name(values: list[str], kind: str) -> None:
    [(found, is_sure)] = kinds("c1", values)
    assert (found, is_sure) == (kind, True)


def test_a_national_identifier_is_known_by_its_check_digits() -> None:
    [(found, _)] = kinds("nr", BSNS)
    assert found == "national identifier"
    assert kinds("nr", [str(int(each) + 1) for each in BSNS]) == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("first_name", "name of a person"),
        ("customerName", "name of a person"),
        ("EMailAddress", "e-mail address"),
        ("billing_address", "postal address"),
        ("DateOfBirth", "date of birth"),
        ("passport_no", "national identifier"),
        ("user_name", "user name"),
    ],
)
def test_a_telling_name_is_enough(name: str, kind: str) -> None:
    assert [found for found, _ in kinds(name, [])] == [kind]


@pytest.mark.parametrize(
    "name",
    [
        "carrier_name",
        "tailnum",
        "product_name",
        "panel",
        "shipping_cost",
        "telescope",
        "zone",
    ],
)
def test_other_names_are_not_suggested(name: str) -> None:
    assert kinds(name, []) == []


@pytest.mark.parametrize(
    "values",
    [
        [str(number) for number in range(100_000_000, 100_000_900)],
        [f"2024-01-{day:02d}" for day in range(1, 29)],
        [f"{number}.{number * 7 % 1000:03d}" for number in range(200)],
        [f"{number:08x}-0000-4000-8000-000000000000" for number in range(50)],
        ["JFK", "LGA", "EWR", "BOS", "ATL", "ORD"],
        ["4111111111111112", "4012888888881882", "5555555555554445", "5105105105105101", "378282246310006"],
    ],
    ids=["numbers", "days", "decimals", "UUIDs", "codes", "wrong check digits"],
)
def test_values_of_other_kinds_are_not_suggested(values: list[str]) -> None:
    assert kinds("c1", values) == []


def test_values_refute_a_name() -> None:
    assert kinds("phone", ["rotary", "mobile", "none", "broken", "lent", "new"]) == []


def test_a_reason_has_no_value() -> None:
    [found] = suggestions({"iban": "string"}, [{"iban": value} for value in IBANS])
    assert found.reason == "its name contains iban; 6 of 6 values are IBANs with valid check digits"
    assert not any(value in found.reason for value in IBANS)


def test_numbers_are_read_and_flags_are_not() -> None:
    assert kinds("c1", CARDS, "bigint") == [("payment card number", True)]
    assert kinds("iban", IBANS, "boolean") == []


@pytest.mark.usefixtures("spark")
def test_published_datasets_are_sampled_and_sensitive_columns_left_out(
    engine: Engine, tmp_path: Path
) -> None:
    text = """
type: headrace.Dataset
attributes:
  key: crm/customers
  sql: SELECT id, concat('u', id, '@example.com') AS contact, 'Ann' AS first_name FROM range(20)
  schema: {columns: {id: {type: bigint}, contact: {type: string}, first_name: {type: string, tags: [pii]}}}
"""
    [result] = load_project(write_project(tmp_path, "crm", text), engine).materialize("crm/customers")
    assert result.success
    shown = CliRunner().invoke(app, ["sensitive", "suggest", "--json"])
    assert shown.exit_code == 0, shown.output
    [found] = json.loads(shown.stdout)["suggestions"]
    assert (found["dataset"], found["column"], found["kind"]) == (
        "crm/customers",
        "contact",
        "e-mail address",
    )
    assert "20 of 20 values" in found["reason"]
    assert "@example.com" not in shown.output
    none = CliRunner().invoke(app, ["sensitive", "suggest", "crm/customers", "--min-confidence", "1"])
    assert "No column looks like personal data" in none.stdout


@pytest.mark.usefixtures("spark")
def test_an_accepted_column_is_hidden_in_later_runs_and_when_read(engine: Engine, tmp_path: Path) -> None:
    text = """
type: headrace.Dataset
attributes:
  key: crm/customers
  sql: SELECT id, concat('u', id, '@example.com') AS contact FROM range(20)
  schema: {columns: {id: {type: bigint}, contact: {type: string}}}
"""
    project = load_project(write_project(tmp_path, "crm", text), engine)
    [result] = project.materialize("crm/customers")
    assert result.success
    done = sensitive_suggestions.execute_in_process()
    (event,) = done.filter_events(lambda each: each.is_successful_output)
    assert event.step_output_data.metadata["suggestions waiting for a decision"].value == 1
    assert datasets_to_look_at(engine) == []
    listed = run("suggestions").stdout
    assert "crm/customers.contact" in listed
    assert "20 of 20 values" in listed

    assert "crm/customers.contact is sensitive." in run("accept", "crm/customers.contact").stdout
    assert "u7@example.com" not in CliRunner().invoke(app, ["read", "crm/customers"]).stdout
    assert "tags: none -> ['pii'], by " in (
        CliRunner().invoke(app, ["catalog", "proposed", "crm/customers"]).stdout
    )
    [result] = project.materialize("crm/customers")
    statistics = queries.version(engine, "crm/customers").statistics
    assert result.success
    assert "min" in statistics["id"]
    assert "min" not in statistics["contact"]

    assert run("dismiss", "crm/customers.contact", "--note", "made up").exit_code == 0
    assert "u7@example.com" in CliRunner().invoke(app, ["read", "crm/customers"]).stdout
    assert "No suggestion waits" in run("suggestions").stdout
    assert "made up" in run("suggestions", "--all").stdout


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["sensitive", *words], env={"COLUMNS": "200"})


def test_a_minority_of_odd_values_at_one_end_does_not_hide_the_others() -> None:
    odd = [f"000{number}" for number in range(40)]
    assert [
        kind for kind, _ in kinds("c1", [*odd, *(f"user{number}@example.com" for number in range(400))])
    ] == ["e-mail address"]
