"""The stores by name. Nothing else is imported, so that declarations can name one cheaply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.catalog.locators import FILES_STORE, JDBC_STORE
from headrace.plugins import Registry

if TYPE_CHECKING:
    from headrace.stores.protocol import StoreType

STORES: Registry[StoreType] = Registry(
    "headrace.stores",
    "store",
    {
        FILES_STORE: "headrace.stores.files.store_type:FilesStoreType",
        "delta": "headrace.stores.delta.store_type:DeltaStoreType",
        JDBC_STORE: "headrace.stores.jdbc.store_type:JdbcStoreType",
        "iceberg": "headrace.stores.iceberg.store_type:IcebergStoreType",
    },
)
