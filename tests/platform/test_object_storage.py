"""The settings of S3A, for the libraries that do not read them."""

from __future__ import annotations

import json

import pytest

from headrace.object_storage import S3Settings, fsspec_options, s3_settings
from headrace.settings import settings
from headrace.stores.delta.table import storage_options


def configure(monkeypatch: pytest.MonkeyPatch, **conf: str) -> None:
    names = {f"spark.hadoop.fs.s3a.{name.replace('_', '.')}": value for name, value in conf.items()}
    monkeypatch.setenv("HEADRACE_SPARK__CONF", json.dumps(names))
    settings.cache_clear()


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    settings.cache_clear()


def test_one_place_configures_every_library(monkeypatch: pytest.MonkeyPatch) -> None:
    configure(
        monkeypatch,
        endpoint="http://s3.example.com:9000",
        endpoint_region="eu-west-1",
        path_style_access="true",
    )
    assert s3_settings("s3a://lake/warehouse") == S3Settings("http://s3.example.com:9000", "eu-west-1", True)
    assert fsspec_options("s3://lake/drop") == {
        "endpoint_url": "http://s3.example.com:9000",
        "client_kwargs": {"region_name": "eu-west-1"},
        "config_kwargs": {"s3": {"addressing_style": "path"}},
        "use_listings_cache": False,
    }
    assert storage_options("s3a://lake/warehouse/a/b/delta") == {
        "aws_endpoint_url": "http://s3.example.com:9000",
        "aws_allow_http": "true",
        "aws_region": "eu-west-1",
        "aws_virtual_hosted_style_request": "false",
    }


@pytest.mark.parametrize(
    ("encrypted", "scheme"), [({}, "https"), ({"connection_ssl_enabled": "false"}, "http")]
)
def test_an_endpoint_without_a_scheme_gets_one(
    monkeypatch: pytest.MonkeyPatch, encrypted: dict[str, str], scheme: str
) -> None:
    configure(monkeypatch, endpoint="s3.example.com", **encrypted)
    assert s3_settings("s3a://lake").endpoint == f"{scheme}://s3.example.com"


def test_a_bucket_has_settings_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, endpoint="https://one", bucket_other_endpoint="https://two")
    assert s3_settings("s3a://lake/a").endpoint == "https://one"
    assert s3_settings("s3a://other/a").endpoint == "https://two"


def test_without_settings_the_environment_decides() -> None:
    assert fsspec_options("s3a://lake") == {"use_listings_cache": False}
    assert storage_options("s3a://lake") == {}
    assert fsspec_options("gs://lake") == fsspec_options("/a/folder") == {}
