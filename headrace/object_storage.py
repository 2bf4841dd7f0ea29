"""The settings of object storage in one place, `spark.conf`: those of Spark's S3A client, which other libraries share.

Each library finds credentials by itself (environment, profile, role of the machine), unless these settings have keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from headrace.context import current_context

_S3 = frozenset({"s3", "s3a"})
_PREFIX = "spark.hadoop.fs.s3a."


@dataclass(frozen=True, slots=True)
class S3Settings:
    """How a bucket is reached. None: as the environment or AWS's defaults say."""

    endpoint: str | None = None
    region: str | None = None
    path_style: bool = False
    key: str | None = None
    secret: str | None = None
    token: str | None = None


def is_s3(uri: str) -> bool:
    """Return True for a location in a bucket of S3, or of a service with its protocol."""
    return uri.partition(":/")[0] in _S3


def s3_settings(uri: str) -> S3Settings:
    """Return the settings `fs.s3a.bucket.NAME.*`, otherwise `fs.s3a.*`, for the bucket of a location."""
    conf = current_context().settings.spark.conf
    bucket = urlsplit(uri).netloc

    def value(name: str) -> str | None:
        return conf.get(f"{_PREFIX}bucket.{bucket}.{name}") or conf.get(f"{_PREFIX}{name}") or None

    endpoint = value("endpoint")
    if endpoint is not None and "://" not in endpoint:
        endpoint = f"{'http' if value('connection.ssl.enabled') == 'false' else 'https'}://{endpoint}"
    return S3Settings(
        endpoint,
        value("endpoint.region"),
        value("path.style.access") == "true",
        value("access.key"),
        value("secret.key"),
        value("session.token"),
    )


def fsspec_options(uri: str) -> dict[str, Any]:
    """Return fsspec's options for a location; those of services other than S3 are in fsspec's own configuration."""
    if not is_s3(uri):
        return {}
    found = s3_settings(uri)
    options: dict[str, Any] = {
        "endpoint_url": found.endpoint,
        "key": found.key,
        "secret": found.secret,
        "token": found.token,
        "client_kwargs": {"region_name": found.region} if found.region else None,
        "config_kwargs": {"s3": {"addressing_style": "path"}} if found.path_style else None,
        "use_listings_cache": False,  # other processes write there
    }
    return {name: value for name, value in options.items() if value is not None}
