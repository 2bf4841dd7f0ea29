"""What opens doors is hidden from everybody, by Python as by PostgreSQL."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from headrace.access.redaction import redacted, scrubbed
from headrace.database.connection import transaction

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
)


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_secrets_in_a_text_are_hidden(text: str, secret: str, engine: Engine) -> None:
    assert secret in text
    assert secret not in redacted(text)
    assert without_secrets(engine, text) == redacted(text)


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_without_secrets_is_left_alone(text: str, engine: Engine) -> None:
    assert redacted(text) == without_secrets(engine, text) == text


WORDS = ("password", "secret", ".key", "access_key", "sig", "hrt_" + "0" * 32 + "_x", "eyJhbGciOiJ.e30.c2ln")
PIECES = st.sampled_from((*WORDS, "Bearer ", "a://u:p@h", *"=:;&,@ '\"._-/\n\u00e9Ab1"))


@given(texts=st.lists(st.lists(PIECES, max_size=9).map("".join), min_size=50, max_size=50))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_postgresql_hides_what_python_hides(texts: list[str], engine: Engine) -> None:
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT catalog.without_secrets(text) AS it FROM unnest(%s::text[]) AS text", [texts]
        )
        assert [row["it"] for row in rows] == [redacted(text) for text in texts]


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


def without_secrets(engine: Engine, text: str) -> str:
    with transaction(engine) as cursor:
        row = cursor.execute("SELECT catalog.without_secrets(%s) AS it", [text]).fetchone()
    assert row is not None
    return str(row["it"])
