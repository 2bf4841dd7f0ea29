"""Passwords, keys and tokens are redacted, in all the forms that this field writes them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from headrace import queries
from headrace.access.redaction import has_secrets, redacted, scrubbed
from headrace.catalog.records import DatasetRecord
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.openlineage.ingestion import ingest
from headrace.openlineage.model import Result
from headrace.queries.names import find_dataset
from headrace.queries.search import search
from headrace.registration.declarations import register
from tests.paths import WAIT_SECONDS
from tests.platform.openlineage.events import run_event

SECRETS = (
    ("GET /x Authorization: Bearer hrs_" + "0" * 32 + "_c2VjcmV0LXNlY3JldA", "c2VjcmV0"),
    ("token hrt_" + "a" * 32 + "_abc-DEF_ghi was sent", "abc-DEF_ghi"),
    ("postgresql://u:p%40ss@h/db", "p%40ss"),
    ("s3a://AKIA:sEcReT@bucket/x", "sEcReT"),
    ("jdbc:postgresql://u:geheim@h:5432/db", "geheim"),
    ("fs.azure.account_key=abc123; x", "abc123"),
    ("fs.azure.account.key.lake.dfs.core.windows.net=abc123", "abc123"),
    ("spark.hadoop.fs.s3a.secret.key=abc123", "abc123"),
    ("fs.s3a.access.key: 'abc 123'", "abc 123"),
    ('"password": "abc 123"', "abc"),
    ("PWD = 'abc 123'", "abc"),
    ("jdbc:db2://h:1/d:user=a;password=hunter2;", "hunter2"),
    ("?clientSecret=abc123&x=1", "abc123"),
    ('{"secretKey":"abc123"}', "abc123"),
    ("refresh_token:abc123", "abc123"),
    ("https://h/x?sv=1&sig=ab%2Fc", "ab%2Fc"),
    ("https://h/x?X-Amz-Signature=abc123", "abc123"),
    ("authorization: basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2ln", "eyJzdWIiOiJhIn0"),
    ("loaded by PGPASSWORD=abc123 psql", "abc123"),
    ("create user x with password 'abc123'", "abc123"),
    ("load --password abc123 --port 1", "abc123"),
    ("load --password=abc123", "abc123"),
    ("api_key = abc123", "abc123"),
    ("password : abc123", "abc123"),
    ("create user x identified by 'abc123'", "abc123"),
    ("ALTER USER x IDENTIFIED BY abc123;", "abc123"),
    ("CONNECT TO db USER u USING abc123", "abc123"),
    (".logon host/user,abc123;", "abc123"),
    ("sqlplus scott/abc123@orcl", "abc123"),
    ("jdbc:oracle:thin:scott/abc123@//h:1521/x", "abc123"),
    ("curl -u bob:abc123 https://x", "abc123"),
    ("mysql -u bob -pabc123 db", "abc123"),
    ("https://abc123abc123abc123abc123@host/x", "abc123"),
    ("postgres://u:abc/123@h", "abc/123"),
    ("postgres://u:abc@123@h/db", "abc@123"),
    ("ghp_" + "abc123" * 6, "abc123"),
    ("dapi" + "0" * 32, "0" * 32),
    ("AKIA" + "A1" * 8, "A1A1"),
    ("-----BEGIN RSA PRIVATE KEY-----\nabc123\n-----END RSA PRIVATE KEY-----", "abc123"),
    ("schl\u00fcssel\u00fcpassword=abc123", "abc123"),
)
PLAIN = (
    "SELECT 1 FROM a JOIN b ON a.token = b.token",
    "s3://bucket/key",
    "a token of the past",
    "see hrs_ and hrt_",
    "http://h:8080/x@y",
    "the design: first",
    "key=5, tokens=3",
    "a basic course",
    "hive/_HOST@REALM",
    "hive/node1.example.com@REALM",
    "see a/b, and x@y.org",
    "@types/node@18",
    "file:/x/a@b/c",
    "SELECT 1 FROM a JOIN b ON a.password = b.password",
    "JOIN b USING (id)",
)


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_secrets_in_a_text_are_hidden(text: str, secret: str) -> None:
    assert secret in text
    assert has_secrets(text)
    assert secret not in redacted(text)


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_without_secrets_is_left_alone(text: str) -> None:
    assert redacted(text) == text


WORDS = ("password", "secret", ".key", "access_key", "sig", "hrt_" + "0" * 32 + "_x", "eyJhbGciOiJ.e30.c2ln")
PIECES = st.sampled_from((*WORDS, "Bearer ", "a://u:p@h", "using ", *"=:;&,@ '\"._-/\n\u00e9Ab1"))


@given(text=st.lists(PIECES, max_size=9).map("".join))
def test_what_is_redacted_stays_as_it_is(text: str) -> None:
    once = redacted(text)
    assert redacted(redacted(once)) == redacted(once)


PIECES_OF_LONG_TEXTS = (
    *("a://b:", "a://b:c@", "a.", "a-", "eyJ-", "mysql ", "curl ", "user/"),
    *('"name":"', ".logon ", "a@", "password", "sig ", "_"),
)


@pytest.mark.timeout(WAIT_SECONDS)
@pytest.mark.parametrize("piece", PIECES_OF_LONG_TEXTS)
def test_a_long_text_is_no_burden(piece: str) -> None:
    """300,000 characters take a second; in quadratic time they would take longer than the limit."""
    words = "a://b@c eyJ mysql curl .logon password -- ghp_ using bearer identified "
    long = words + piece * (300_000 // len(piece))
    assert redacted(redacted(long)) == redacted(long)


def test_the_value_beside_a_secret_name_is_hidden() -> None:
    variables = [
        {"name": "DB_PASSWORD", "value": "hunter8"},
        {"key": "token", "value": "x"},
        {"name": "a", "value": "b"},
    ]
    assert scrubbed(variables) == [
        {"name": "DB_PASSWORD", "value": "***"},
        {"key": "token", "value": "***"},
        {"name": "a", "value": "b"},
    ]
    assert has_secrets(json.dumps(variables))
    assert not has_secrets(json.dumps(variables[2:]))


def test_a_value_whose_name_says_that_it_is_secret_is_hidden() -> None:
    given = {
        "spark.hadoop.fs.s3a.secret.key": "a",
        "clientSecret": "b",
        "db.password": "c",
        "key": "d",
        "user": "e",
    }
    assert scrubbed({"properties": given}) == {
        "properties": {**dict.fromkeys(given, "***"), "key": "d", "user": "e"}
    }


def test_a_secret_in_an_event_is_not_stored_and_so_not_found_by_a_search(engine: Engine) -> None:
    source = {"namespace": "postgres://user:hunter2@db:5432", "name": "a.b.c", "facets": {}}
    event = run_event("COMPLETE", inputs=[source], outputs=["out"])
    event["run"]["facets"]["environmentVariables"] = {
        "_producer": "https://example.com",
        "_schemaURL": "https://openlineage.io/spec/facets/1-0-0/EnvironmentVariablesRunFacet.json",
        "environmentVariables": [{"name": "DB_PASSWORD", "value": "hunter8"}],
    }
    assert [each.result for each in ingest(engine, current_context().organisation_id, [event])] == [
        Result.STORED
    ]
    key = "postgres://user:***@db:5432#a.b.c"
    assert [row.key for row in queries.datasets(engine, "postgres://user").rows] == [key]
    assert queries.datasets(engine, "postgres://user:h").rows == ()
    assert search(engine, "hunter2").rows == ()
    shown = find_dataset(engine, key)
    assert shown is not None
    assert shown.key == key
    with transaction(engine) as cursor:
        rows = cursor.execute("SELECT payload_json::text AS text FROM catalog.run_event").fetchall()
    assert rows
    assert not any("hunter" in row["text"] for row in rows)


def test_a_secret_in_a_declaration_is_not_stored(engine: Engine) -> None:
    register(
        engine, [DatasetRecord("mart/x", "parquet", description="loaded by PGPASSWORD=hunter2 psql")], []
    )
    assert queries.datasets(engine, "PGPASSWORD=h").rows == ()
    assert [row.description for row in queries.datasets(engine, "psql").rows] == [
        "loaded by PGPASSWORD=*** psql"
    ]
