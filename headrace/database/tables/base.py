"""The base of all tables, and the columns that they share."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, DateTime, ForeignKey, MetaData, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Json = dict[str, Any]


class Base(DeclarativeBase):
    """Base of all tables, in the schema `catalog`."""

    metadata = MetaData(schema="catalog")
    type_annotation_map = {
        str: Text(),
        datetime: DateTime(timezone=True),
        Json: JSONB(),
        list[Any]: JSONB(),
        list[str]: ARRAY(Text()),
    }


def key(target: str | None = None) -> Mapped[UUID]:
    """Create a primary key; with `target`, one that is also a foreign key."""
    return mapped_column(foreign_key(target), primary_key=True) if target else mapped_column(primary_key=True)


def reference(target: str) -> Mapped[Any]:
    """Create a column that refers to `target`, as `dataset.dataset_id`."""
    return mapped_column(foreign_key(target))


def foreign_key(target: str) -> ForeignKey:
    """Create a foreign key to `target`, as `dataset.dataset_id`."""
    # Deferrable, so that a rebuild can delete versions and create them again under the same ids.
    deferrable = True if target.startswith("dataset_version.") else None
    return ForeignKey(f"catalog.{target}", deferrable=deferrable)
