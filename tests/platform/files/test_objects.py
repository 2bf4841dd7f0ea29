"""Files in a bucket, without Spark."""

from __future__ import annotations

import json
from unittest import mock

import pytest

from headrace.files.filesystem import TextFile, file_locations
from headrace.files.objects import ObjectFiles, object_files
from headrace.files.opening import files_for
from headrace.settings import settings
from headrace.spark.errors import StoreUnavailable
from tests.platform.s3.server import Fault, Request, Server, losing, refusing, without_conditions


@pytest.fixture
def files(bucket: str) -> ObjectFiles:
    found = files_for(f"s3a://{bucket}", None)
    assert isinstance(found, ObjectFiles)
    return found


def test_a_directory_is_listed_as_spark_sees_it(files: ObjectFiles, bucket: str, s3: Server) -> None:
    for key in ("v/", "v/p=1/", "v/p=1/b", "v/a", "v/_SUCCESS", "v/.crc", "v/_tmp/x", "other/y"):
        s3.client.put_object(Bucket=bucket, Key=key, Body=b"" if key.endswith("/") else key.encode())
    location = f"s3a://{bucket}/v"
    stored = files.data_files(location)
    assert [(each.name, each.path, each.byte_size) for each in stored] == [
        ("a", f"{location}/a", 3),
        ("p=1/b", f"{location}/p=1/b", 7),
    ]
    assert all(len(each.digest) == 32 for each in stored)
    assert files.sizes(location) == [3, 7]
    assert [each.name for each in files.listing(location)] == ["a", "p=1/b"]
    assert all(each.modified_ns for each in files.listing(location))
    assert [(each.name, each.is_directory) for each in files.entries(location)] == [
        ("a", False),
        ("p=1", True),
    ]
    assert files.folders(location) == ["p=1"]
    with files.open(f"{location}/p=1/b") as file:
        assert file.seek(2) == 2
        assert file.read() == b"p=1/b"
    for name in ("a", "_SUCCESS"):
        (file_itself,) = files.data_files(f"{location}/{name}")
        assert (file_itself.name, file_itself.path) == (name, f"{location}/{name}")
        assert file_locations(files, f"{location}/{name}") == [f"{location}/{name}"]
    assert file_locations(files, location) == [f"{location}/a", f"{location}/p=1/b"]
    files.delete(location)
    assert s3.keys(bucket) == ["other/y"]


def test_what_does_not_exist_is_empty(files: ObjectFiles, bucket: str, s3: Server) -> None:
    nothing = f"s3a://{bucket}/nothing"
    assert [*files.data_files(nothing), *files.listing(nothing), *files.entries(nothing)] == []
    assert files.read_text(nothing) is None
    assert not files.exists(nothing)
    files.make_directory(nothing)
    assert files.exists(nothing)
    assert files.data_files(nothing) == []
    assert s3.keys(bucket) == ["nothing/"]


def test_a_text_is_replaced_only_if_it_is_the_one_that_was_read(files: ObjectFiles, bucket: str) -> None:
    path = f"s3a://{bucket}/m/current.json"
    files.replace_text(path, "one", None)
    one = files.read_text(path)
    assert one is not None
    assert one.text == "one"
    files.replace_text(path, "two", one)
    for stale in (None, one, TextFile("two", '"other"')):
        with pytest.raises(StoreUnavailable, match=f"Another process changed {path} at the same time"):
            files.replace_text(path, "three", stale)
    two = files.read_text(path)
    assert two is not None
    assert two.text == "two"


@pytest.mark.parametrize("is_first", [True, False])
def test_a_write_whose_answer_is_lost_has_succeeded(
    files: ObjectFiles, bucket: str, s3: Server, is_first: bool
) -> None:
    path, lost = f"s3a://{bucket}/m/current.json", iter([True])
    if not is_first:
        files.replace_text(path, "before", None)
    earlier = files.read_text(path)
    with s3.failing(losing(lambda request: request.method == "PUT" and next(lost, False))):
        files.replace_text(path, "text", earlier)
    now = files.read_text(path)
    assert now is not None
    assert now.text == "text"


@pytest.mark.parametrize("fault", [without_conditions, refusing("501 Not Implemented", "NotImplemented")])
def test_a_service_without_conditional_writes_is_refused(
    files: ObjectFiles, bucket: str, s3: Server, fault: Fault
) -> None:
    with s3.failing(fault), pytest.raises(StoreUnavailable, match="does not have conditional writes"):
        files.require_writable(f"s3a://{bucket}/warehouse")
    assert s3.keys(bucket) == []
    files.require_writable(f"s3a://{bucket}/warehouse")
    assert s3.keys(bucket) == []


def test_a_bucket_is_asked_once(files: ObjectFiles, bucket: str, s3: Server) -> None:
    files.require_writable(f"s3a://{bucket}/warehouse")
    s3.requests.clear()
    files.require_writable(f"s3a://{bucket}/warehouse")
    assert s3.requests == []


@pytest.mark.parametrize("code", ["InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"])
def test_wrong_credentials_are_named(files: ObjectFiles, bucket: str, s3: Server, code: str) -> None:
    location = f"s3a://{bucket}/warehouse"
    for ask in (files.require_writable, files.sizes, files.entries):
        with s3.failing(refusing("403 Forbidden", code)), pytest.raises(StoreUnavailable) as refused:
            ask(location)
        assert f"The credentials for {location} are missing, wrong or expired: " in str(refused.value)


def test_a_missing_permission_is_named(files: ObjectFiles, bucket: str, s3: Server) -> None:
    location = f"s3a://{bucket}/warehouse"
    for ask in (
        files.require_writable,
        files.sizes,
        files.entries,
        files.open,
        files.read_text,
        files.exists,
    ):
        with (
            s3.failing(refusing("403 Forbidden", "AccessDenied")),
            pytest.raises(StoreUnavailable) as refused,
        ):
            ask(location)
        assert f"No permission at {location}: " in str(refused.value)


def test_a_bucket_that_does_not_exist_is_named(s3: Server, bucket: str) -> None:
    location = "s3a://no-such-bucket/warehouse"
    files = ObjectFiles(location)
    for ask in (files.require_writable, files.sizes, files.entries, files.read_text):
        with pytest.raises(StoreUnavailable, match=f"There is no bucket for {location}. Create it"):
            ask(location)


def test_a_service_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    conf = {"spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:9"}
    monkeypatch.setenv("HEADRACE_SPARK__CONF", json.dumps(conf))
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    settings.cache_clear()
    with pytest.raises(StoreUnavailable, match=r"Cannot reach s3a://lake/a: .*http://127\.0\.0\.1:9/"):
        ObjectFiles("s3a://lake/a").sizes("s3a://lake/a")


def test_the_driver_of_s3_is_needed_and_others_are_left_to_hadoop() -> None:
    with mock.patch("headrace.files.objects.find_spec", return_value=None):
        assert object_files("abfss://lake@account.dfs.core.windows.net/a") is None
        assert object_files("gs://lake/a") is None
        with pytest.raises(StoreUnavailable, match=r"pip install 'headrace\[s3\]'"):
            object_files("s3a://lake/a")
    assert object_files("hdfs://lake/a") is None


def test_requests_say_what_they_do(bucket: str, s3: Server) -> None:
    s3.client.put_object(Bucket=bucket, Key="a", Body=b"1")
    s3.client.copy_object(Bucket=bucket, Key="b", CopySource=f"{bucket}/a")
    assert s3.requests == [Request("PUT", bucket, "a", "", False), Request("COPY", bucket, "b", "", False)]
