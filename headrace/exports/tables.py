"""The OL_* tables of the OpenLineage-aligned relational model: columns, keys, defaults, indexes.

Names are in lower case, so that every database folds them like unquoted names typed by a person.
"""

from __future__ import annotations

import sqlalchemy as sa

from headrace.exports.types import Moment, Text

SPEC_VERSION = "2-0-2"  # of OpenLineage's core spec
SCHEMA_VERSION = "1.0.0"  # of these tables

MODEL = sa.MetaData()


def in_schema(schema: str | None) -> list[sa.Table]:
    """Return the tables in the order in which they are created and filled; `schema` None is the connection's
    default."""
    placed = sa.MetaData(schema=schema)
    return [table.to_metadata(placed) for table in MODEL.tables.values()]


def _text(name: str, length: int, *, required: bool = False) -> sa.Column[str]:
    return sa.Column(name, Text(length), nullable=not required)


def _key(name: str, length: int) -> sa.Column[str]:
    return sa.Column(name, Text(length), primary_key=True)


def _moment(name: str, digits: int = 0) -> sa.Column[object]:
    return sa.Column(name, Moment(digits))


def _flag(name: str, default: str | None = None) -> sa.Column[str]:
    """Create a flag column: 'Y' or 'N'."""
    return sa.Column(name, sa.CHAR(1), server_default=default)


sa.Table(
    "ol_namespace",
    MODEL,
    _key("namespace_id", 64),
    _text("namespace_uri", 512, required=True),
    _text("description", 2000),
    sa.Column("spec_version", Text(20), server_default=SPEC_VERSION),
    _moment("created_at"),
    sa.Index("idx_ol_namespace_uri", "namespace_uri"),
)

sa.Table(
    "ol_dataset",
    MODEL,
    _key("dataset_id", 256),
    _text("namespace_id", 64, required=True),
    _text("name", 256, required=True),
    _text("description", 2000),
    _text("source_type", 50),
    _moment("created_at"),
    _moment("updated_at"),
    _flag("is_active", "Y"),
    sa.Index("idx_ol_dataset_ns", "namespace_id"),
    sa.Index("idx_ol_dataset_name", "name"),
)

sa.Table(
    "ol_dataset_field",
    MODEL,
    _key("field_id", 512),
    _text("dataset_id", 256, required=True),
    _text("field_name", 256, required=True),
    _text("field_type", 256),
    _text("field_description", 2000),
    sa.Column("ordinal_position", sa.Integer),
    _flag("nullable"),
    _moment("created_at"),
    sa.Index("idx_ol_field_dataset", "dataset_id"),
    sa.Index("idx_ol_field_name", "field_name"),
)

sa.Table(
    "ol_job",
    MODEL,
    _key("job_id", 256),
    _text("namespace_id", 64, required=True),
    _text("name", 256, required=True),
    _text("description", 2000),
    _text("job_type", 50),
    _moment("created_at"),
    _moment("updated_at"),
    sa.Index("idx_ol_job_ns", "namespace_id"),
    sa.Index("idx_ol_job_name", "name"),
)

sa.Table(
    "ol_run",
    MODEL,
    _key("run_id", 64),
    _text("job_id", 256, required=True),
    _text("event_type", 20),
    _moment("event_time", 6),
    _moment("nominal_start_time"),
    _moment("nominal_end_time"),
    _text("producer", 512),
    _text("schema_url", 512),
    _moment("created_at"),
    sa.Index("idx_ol_run_job", "job_id"),
    sa.Index("idx_ol_run_time", "event_time"),
    sa.Index("idx_ol_run_type", "event_type"),
)

for _name, _index in (("ol_run_input", "idx_ol_run_input_ds"), ("ol_run_output", "idx_ol_run_output_ds")):
    sa.Table(_name, MODEL, _key("run_id", 64), _key("dataset_id", 256), sa.Index(_index, "dataset_id"))

sa.Table(
    "ol_column_lineage",
    MODEL,
    _key("lineage_id", 64),
    _text("run_id", 64),
    _text("source_namespace", 512, required=True),
    _text("source_dataset", 256, required=True),
    _text("source_field", 256, required=True),
    _text("target_namespace", 512, required=True),
    _text("target_dataset", 256, required=True),
    _text("target_field", 256, required=True),
    _text("transformation_type", 20),
    _text("transformation_subtype", 50),
    _text("transformation_description", 2000),
    _flag("masking", "N"),
    sa.Column("confidence_score", sa.Numeric(3, 2)),
    _moment("discovered_at"),
    _flag("is_active", "Y"),
    sa.Index("idx_ol_lineage_src_ds", "source_dataset"),
    sa.Index("idx_ol_lineage_src_field", "source_field"),
    sa.Index("idx_ol_lineage_tgt_ds", "target_dataset"),
    sa.Index("idx_ol_lineage_tgt_field", "target_field"),
    sa.Index("idx_ol_lineage_run", "run_id"),
    sa.Index("idx_ol_lineage_type", "transformation_type"),
)

sa.Table(
    "ol_schema_version",
    MODEL,
    sa.Column("version_id", sa.Integer, primary_key=True, autoincrement=False),
    _text("openlineage_spec_version", 20, required=True),
    _text("schema_version", 20, required=True),
    _moment("applied_at"),
    _text("description", 500),
)
