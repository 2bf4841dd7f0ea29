"""The published version of a dataset as a server of its contract."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine

from headrace.contracts.servers import NoFiles, published_server
from headrace.errors import UnknownDataset
from headrace.registration.declarations import register
from tests.platform.cli.conftest import RAW, put


def test_the_published_version_is_a_local_server(engine: Engine, tmp_path: Path) -> None:
    register(engine, [RAW], [])
    with pytest.raises(NoFiles, match="shop/raw has no published version in files on this machine"):
        published_server(engine, "shop/raw")
    put(engine, "shop/raw", "raw-1", location=tmp_path / "raw-1")
    put(engine, "shop/raw", "raw-2", location=tmp_path / "raw-2")
    assert published_server(engine, "shop/raw") == {
        "server": "published",
        "type": "local",
        "path": f"{tmp_path}/raw-2/*.parquet",
        "format": "parquet",
    }
    with pytest.raises(UnknownDataset):
        published_server(engine, "shop/none")
