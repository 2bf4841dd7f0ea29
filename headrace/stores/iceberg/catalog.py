"""The Iceberg catalog: tables in the catalog's database, or in an Iceberg REST catalog, and their failures in words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchTableError,
    RESTError,
    TableAlreadyExistsError,
)
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from requests import RequestException
from sqlalchemy.exc import OperationalError

from headrace.context import current_context
from headrace.database.connection import connect
from headrace.object_storage import is_s3, s3_settings
from headrace.spark.errors import StoreUnavailable
from headrace.spark.failures import unavailable
from headrace.stores.data_files.store import dataset_root

FOLDER = "iceberg"  # below a dataset's directory in the warehouse
DATA_FOLDER = f"{FOLDER}/data"
DATASET = "headrace.dataset"  # the property of tables that the store writes
_SCHEMA = "-csearch_path=iceberg"  # of the database, with the tables of pyiceberg's SqlCatalog
_PROPERTIES = {
    "commit.retry.num-retries": "0",  # a lost race is never repeated on what another program has committed
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


@contextmanager
def opened(location: str = "the warehouse") -> Iterator[Catalog]:
    """Yield the catalog, named for the organisation; its failures, and those at the location of files, become
    StoreUnavailable."""
    try:
        yield _configured()
    except (RESTError, OperationalError, RequestException) as error:
        raise StoreUnavailable(
            f"The Iceberg catalog cannot be used: {str(error).splitlines()[0].rstrip('.')}. Check "
            "HEADRACE_ICEBERG_CATALOG, and that its server runs."
        ) from error
    except CommitFailedException as error:
        raise StoreUnavailable(
            f"Other programs changed the Iceberg table at the same time, again and again: {error}. Run again when they "
            "have ended."
        ) from error
    except OSError as error:
        raise unavailable(error, location) or error from error


def _configured() -> Catalog:
    settings = current_context().settings
    storage = _storage(settings.warehouse_uri)
    if settings.iceberg_catalog is not None:
        return _loaded(os.getpid(), settings.organisation, "rest", settings.iceberg_catalog, storage)
    url = connect().url
    options = " ".join(filter(None, [str(url.query.get("options", "")), _SCHEMA]))
    uri = url.update_query_dict({"options": options}).render_as_string(hide_password=False)
    return _loaded(os.getpid(), settings.organisation, "sql", uri, storage)


@cache
def _loaded(_process: int, name: str, type: str, uri: str, storage: tuple[tuple[str, str], ...]) -> Catalog:
    """Load a catalog once in each process: to connect takes longer than a commit."""
    return load_catalog(name, type=type, uri=uri, pool_pre_ping="true", **dict(storage))


def _storage(warehouse_uri: str) -> tuple[tuple[str, str], ...]:
    """Return pyiceberg's properties for the warehouse's bucket; what they lack it finds in the environment."""
    if not is_s3(warehouse_uri):
        return ()
    found = s3_settings(warehouse_uri)
    properties = {
        "s3.endpoint": found.endpoint,
        "s3.region": found.region,
        "s3.force-virtual-addressing": "false" if found.path_style else None,
        "s3.access-key-id": found.key,
        "s3.secret-access-key": found.secret,
        "s3.session-token": found.token,
    }
    return tuple((name, value) for name, value in properties.items() if value is not None)


def table_location(root: str, dataset: str) -> str:
    """Return the directory of a dataset's table, below its normalised warehouse or base URI."""
    return dataset_root(root, dataset, FOLDER)


def identifier(dataset: str) -> tuple[str, ...]:
    """Return the namespace and name of a dataset's table."""
    return tuple(dataset.split("/"))


def existing_table(catalog: Catalog, dataset: str) -> Table | None:
    """Return the table of a dataset; None if there is none. Raises StoreUnavailable for another program's table."""
    name = identifier(dataset)
    try:
        table = catalog.load_table(name)
    except NoSuchTableError:
        return None
    except FileNotFoundError as error:
        raise StoreUnavailable(
            f"The metadata of the Iceberg table {'.'.join(name)} is gone: {error}. Restore it, or drop the table from "
            f"its catalog and run `headrace manifests {dataset}`, which creates it again from the versions' files."
        ) from error
    if table.properties.get(DATASET) != dataset:
        raise StoreUnavailable(
            f"The Iceberg table {'.'.join(name)} belongs to another program: it lacks the property {DATASET}. "
            "Rename the table, or the dataset."
        )
    return table


def dataset_table(catalog: Catalog, dataset: str, location: str) -> Table:
    """Return the table of a dataset, which is created without columns and rows if it does not exist."""
    found = existing_table(catalog, dataset)
    if found is not None:
        return found
    name = identifier(dataset)
    try:
        catalog.create_namespace_if_not_exists(name[:-1])
        return catalog.create_table(name, Schema(), location, properties={**_PROPERTIES, DATASET: dataset})
    except (TableAlreadyExistsError, NamespaceAlreadyExistsError):  # another run was faster
        return dataset_table(catalog, dataset, location)
