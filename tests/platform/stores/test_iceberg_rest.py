"""Tables in an Iceberg REST catalog: a server of the specification's routes, over pyiceberg's SQL catalog."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI, HTTPException
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableRequest, Table
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from headrace.settings import settings
from tests.platform.stores.conformance.conftest import ORDERS, Shop, ask
from tests.platform.stores.conformance.test_guarantees import FIVE, THREE, ids


def served(catalog: SqlCatalog) -> FastAPI:
    app = FastAPI()

    def loaded(table: Table) -> dict[str, Any]:
        return {
            "metadata-location": table.metadata_location,
            "metadata": table.metadata.model_dump(mode="json", by_alias=True, exclude_none=True),
            "config": {},
        }

    def found(namespace: str, name: str) -> Table:
        try:
            return catalog.load_table((namespace, name))
        except NoSuchTableError as error:
            raise problem(404, "NoSuchTableException", error) from error

    def problem(code: int, type: str, error: Exception) -> HTTPException:
        return HTTPException(code, {"message": str(error), "type": type, "code": code})

    @app.get("/v1/config")
    def config() -> Any:
        return {"defaults": {}, "overrides": {}}

    @app.post("/v1/namespaces")
    def create_namespace(body: dict[str, Any]) -> Any:
        catalog.create_namespace_if_not_exists(tuple(body["namespace"]))
        return {"namespace": body["namespace"], "properties": {}}

    @app.post("/v1/namespaces/{namespace}/tables")
    def create_table(namespace: str, body: dict[str, Any]) -> Any:
        schema = Schema.model_validate(body["schema"])
        properties = body.get("properties") or {}
        name = (namespace, body["name"])
        return loaded(catalog.create_table(name, schema, body["location"], properties=properties))

    @app.get("/v1/namespaces/{namespace}/tables/{name}")
    def load_table(namespace: str, name: str) -> Any:
        return loaded(found(namespace, name))

    @app.post("/v1/namespaces/{namespace}/tables/{name}")
    def commit_table(namespace: str, name: str, body: dict[str, Any]) -> Any:
        table = found(namespace, name)
        request = CommitTableRequest.model_validate(
            {**body, "identifier": {"namespace": [namespace], "name": name}}
        )
        try:
            answer = catalog.commit_table(table, request.requirements, request.updates)
        except CommitFailedException as error:
            raise problem(409, "CommitFailedException", error) from error
        return answer.model_dump(mode="json", by_alias=True, exclude_none=True)

    @app.exception_handler(HTTPException)
    async def answer(_: object, error: HTTPException) -> Any:
        from starlette.responses import JSONResponse

        return JSONResponse({"error": error.detail}, error.status_code)

    return app


@pytest.fixture
def rest(tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URI of a REST catalog, which the settings name."""
    catalog = SqlCatalog("rest", uri=f"sqlite:///{tmp_path / 'rest.sqlite'}")
    server = uvicorn.Server(uvicorn.Config(served(catalog), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    uri = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    monkeypatch.setenv("HEADRACE_ICEBERG_CATALOG", uri)
    settings.cache_clear()
    yield uri
    server.should_exit = True
    thread.join()
    catalog.close()


def test_versions_are_published_and_rolled_back_in_a_rest_catalog(
    rest: str, engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    shop = Shop("iceberg", tmp_path, engine, spark)

    def rows() -> list[dict[str, Any]]:
        with closing(load_catalog("reader", type="rest", uri=rest)) as catalog:
            assert isinstance(catalog, RestCatalog)
            found: list[dict[str, Any]] = catalog.load_table("shop.orders").scan().to_arrow().to_pylist()
            return found

    shop.publish(THREE)
    assert ids(rows()) == [0, 1, 2]
    shop.publish(FIVE)
    assert rows() == [{"id": id, "name": "a", "twice": id * 2} for id in range(5)]
    ask("rollback", ORDERS, "--reason", "wrong")
    assert rows() == [{"id": id, "name": "a"} for id in range(3)]
    assert shop.refreshed() == 0
