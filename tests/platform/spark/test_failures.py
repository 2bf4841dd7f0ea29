"""Classification of exceptions: Spark's are explained, and a transform's own are left alone, however similar."""

from __future__ import annotations

import errno

import pytest
from py4j.clientserver import ClientServer, JavaParameters
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException

from headrace.spark.errors import ResourceError, SparkUnavailable, StoreUnavailable
from headrace.spark.failures import explained


@pytest.mark.parametrize(
    "error",
    [
        ConnectionError("https://rates.example.com: Connection refused"),
        ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
        FileNotFoundError(errno.ENOENT, "No such file or directory", "rates.csv"),
        PermissionError(errno.EACCES, "Permission denied", "rates.csv"),
        OSError(errno.ENOSPC, "No space left on device"),
        ValueError("the feed is corrupted"),
    ],
)
def test_python_exceptions_are_reported_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, explained("shop/orders", wholly=True):
        raise error
    assert raised.value is error


def test_a_dead_jvm_is_reported() -> None:
    with pytest.raises(SparkUnavailable, match="died while working on shop/orders"), explained("shop/orders"):
        raise Py4JNetworkError("Answer from Java side is empty")
    gone = ClientServer(JavaParameters(port=1, auto_close=False))
    with pytest.raises(SparkUnavailable, match="died") as raised, explained("shop/orders"):
        gone.jvm.System.nanoTime()
    assert isinstance(raised.value.__cause__, ConnectionError)


def test_the_place_in_the_transform_stays_with_the_explanation() -> None:
    error = Py4JNetworkError("Answer from Java side is empty")
    error.add_note("in the transform f, code.py:2")
    with pytest.raises(SparkUnavailable) as raised, explained("shop/orders"):
        raise error
    assert raised.value.__notes__ == ["in the transform f, code.py:2"]


def test_what_is_unknown_of_sparks_passes_unless_nothing_but_spark_is_within() -> None:
    with pytest.raises(PySparkException), explained("shop/orders"):
        raise PySparkException("[INTERNAL_ERROR] who knows\n at plan")
    with (
        pytest.raises(ResourceError, match=r"^Spark failed at shop/orders: .*who knows\.$"),
        explained("shop/orders", wholly=True),
    ):
        raise PySparkException("[INTERNAL_ERROR] who knows\n at plan")


def test_no_message_says_what_was_published() -> None:
    """The message may be about a run that has published already."""
    with pytest.raises(StoreUnavailable, match="Disk full") as raised, explained("shop/orders"):
        raise PySparkException("java.io.IOException: No space left on device")
    assert "published" not in str(raised.value)
