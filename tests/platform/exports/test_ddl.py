"""The DDL of each database: every table, column, key, default and index of the model, in its dialect."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pyspark
import pytest
import sqlglot
from sqlglot import exp

from headrace.exports import TargetRefused, create_statements, dialect_of, drop_statements
from headrace.exports.tables import MODEL
from tests.paths import WAIT_SECONDS

URLS = {"postgresql": "postgresql://", "db2": "db2://", "teradata": "teradatasql://h"}

# As specified: columns in order, those that must be filled in capitals. Repeated here, so that no slip in the models
# goes unseen.
TABLES = {
    "ol_namespace": "NAMESPACE_ID NAMESPACE_URI description spec_version created_at",
    "ol_dataset": "DATASET_ID NAMESPACE_ID NAME description source_type created_at updated_at is_active",
    "ol_dataset_field": "FIELD_ID DATASET_ID FIELD_NAME field_type field_description ordinal_position nullable "
    "created_at",
    "ol_job": "JOB_ID NAMESPACE_ID NAME description job_type created_at updated_at",
    "ol_run": "RUN_ID JOB_ID event_type event_time nominal_start_time nominal_end_time producer schema_url created_at",
    "ol_run_input": "RUN_ID DATASET_ID",
    "ol_run_output": "RUN_ID DATASET_ID",
    "ol_column_lineage": "LINEAGE_ID run_id SOURCE_NAMESPACE SOURCE_DATASET SOURCE_FIELD TARGET_NAMESPACE "
    "TARGET_DATASET TARGET_FIELD transformation_type transformation_subtype transformation_description masking "
    "confidence_score discovered_at is_active",
    "ol_schema_version": "VERSION_ID OPENLINEAGE_SPEC_VERSION SCHEMA_VERSION applied_at description",
}
INDEXES = {
    "idx_ol_namespace_uri": "ol_namespace(namespace_uri)",
    "idx_ol_dataset_ns": "ol_dataset(namespace_id)",
    "idx_ol_dataset_name": "ol_dataset(name)",
    "idx_ol_field_dataset": "ol_dataset_field(dataset_id)",
    "idx_ol_field_name": "ol_dataset_field(field_name)",
    "idx_ol_job_ns": "ol_job(namespace_id)",
    "idx_ol_job_name": "ol_job(name)",
    "idx_ol_run_job": "ol_run(job_id)",
    "idx_ol_run_time": "ol_run(event_time)",
    "idx_ol_run_type": "ol_run(event_type)",
    "idx_ol_run_input_ds": "ol_run_input(dataset_id)",
    "idx_ol_run_output_ds": "ol_run_output(dataset_id)",
    "idx_ol_lineage_src_ds": "ol_column_lineage(source_dataset)",
    "idx_ol_lineage_src_field": "ol_column_lineage(source_field)",
    "idx_ol_lineage_tgt_ds": "ol_column_lineage(target_dataset)",
    "idx_ol_lineage_tgt_field": "ol_column_lineage(target_field)",
    "idx_ol_lineage_run": "ol_column_lineage(run_id)",
    "idx_ol_lineage_type": "ol_column_lineage(transformation_type)",
}


def test_the_model_is_complete() -> None:
    message = {
        table.name: " ".join(c.name if c.nullable else c.name.upper() for c in table.columns)
        for table in MODEL.tables.values()
    }
    assert message == TABLES
    assert {
        str(index.name): f"{table.name}({', '.join(column.name for column in index.columns)})"
        for table in MODEL.tables.values()
        for index in table.indexes
    } == INDEXES
    keys = {table.name: [column.name for column in table.primary_key] for table in MODEL.tables.values()}
    first = {name: [columns.split()[0].lower()] for name, columns in TABLES.items()}
    assert keys == first | {name: ["run_id", "dataset_id"] for name in ("ol_run_input", "ol_run_output")}


@pytest.mark.parametrize(
    ("database", "lines"),
    [
        (
            "postgresql",
            [
                "CREATE TABLE lineage.ol_dataset (",
                "name VARCHAR(256) NOT NULL,",
                "is_active CHAR(1) DEFAULT 'Y',",
                "event_time TIMESTAMP(6) WITH TIME ZONE,",
                "confidence_score NUMERIC(3, 2),",
                "PRIMARY KEY (run_id, dataset_id)",
                "CREATE INDEX idx_ol_job_ns ON lineage.ol_job (namespace_id);",
            ],
        ),
        (
            "db2",
            [
                "CREATE TABLE lineage.ol_dataset (",
                "name VARCHAR(256) NOT NULL,",
                "is_active CHAR(1) WITH DEFAULT 'Y',",
                "event_time TIMESTAMP(6),",
                "confidence_score DECIMAL(3, 2),",
                "PRIMARY KEY (run_id, dataset_id)",
                "CREATE INDEX lineage.idx_ol_job_ns ON lineage.ol_job (namespace_id);",
            ],
        ),
        (
            "teradata",
            [
                "CREATE MULTISET TABLE lineage.ol_dataset (",
                "name VARCHAR(256) CHARACTER SET UNICODE NOT NULL,",
                "is_active CHAR(1) DEFAULT 'Y',",
                "event_time TIMESTAMP(6),",
                "confidence_score NUMERIC(3, 2),",
                "PRIMARY KEY (run_id, dataset_id)",
                "CREATE INDEX idx_ol_job_ns (namespace_id) ON lineage.ol_job;",
            ],
        ),
    ],
)
def test_each_database_gets_its_own_words(database: Any, lines: Any) -> None:
    text = ";\n".join(create_statements(dialect_of(URLS[database]), "lineage"))
    message = [line.strip() for line in text.splitlines()]
    assert [line for line in lines if line not in message] == []
    assert text.count("CREATE INDEX") == len(INDEXES)
    assert text.count("CREATE ") == len(INDEXES) + len(TABLES)
    assert text.count(" DEFAULT ") == 4
    assert "'2-0-2', '1.0.0'" in text.splitlines()[-1]


@pytest.mark.parametrize(("database", "parser"), [("postgresql", "postgres"), ("teradata", "teradata")])
def test_a_parser_of_that_database_reads_the_same_tables(database: Any, parser: Any) -> None:
    found = {}
    for statement in create_statements(dialect_of(URLS[database]), "lineage"):
        if " TABLE " in statement:  # of CREATE INDEX it does not know Teradata's form
            tree = sqlglot.parse_one(statement, dialect=parser)
            table = tree.find(exp.Table)
            found[table.name] = [column.name for column in tree.find_all(exp.ColumnDef)]
    assert found == {name: columns.lower().split() for name, columns in TABLES.items()}


def test_tables_go_in_the_reverse_order_and_nothing_else_goes() -> None:
    assert drop_statements(dialect_of("db2://"), None) == [f"DROP TABLE {name}" for name in reversed(TABLES)]


def test_the_db2_statements_run_on_apache_derby(tmp_path: Path) -> None:
    """Derby speaks DB2's dialect, but for digits of a second in a type's name. PySpark brings it along."""
    statements = create_statements(dialect_of("db2://"), "LINEAGE")
    statements += [
        "INSERT INTO lineage.ol_dataset (dataset_id, namespace_id, name) VALUES ('n/a', 'n', 'a')",
        "SELECT 'found ' || is_active || ' ' || CAST(applied_at AS CHAR(30)) "
        "FROM lineage.ol_dataset, lineage.ol_schema_version",
        "INSERT INTO lineage.ol_dataset (dataset_id, namespace_id, name) VALUES ('n/a', 'n', 'twice')",
        "INSERT INTO lineage.ol_job (job_id, namespace_id) VALUES ('n/a', 'n')",
        "SELECT 'indexes ' || CAST(COUNT(*) AS CHAR(3)) FROM sys.sysconglomerates "
        "WHERE conglomeratename LIKE 'IDX_OL%'",
        *drop_statements(dialect_of("db2://"), "LINEAGE"),
        "SELECT 'left ' || CAST(COUNT(*) AS CHAR(3)) FROM sys.systables WHERE tablename LIKE 'OL_%'",
    ]
    script = tmp_path / "model.sql"
    text = ";\n".join(
        ["CONNECT 'jdbc:derby:memory:model;create=true'", "CREATE SCHEMA lineage", *statements, ""]
    )
    script.write_text(text.replace("TIMESTAMP(0)", "TIMESTAMP").replace("TIMESTAMP(6)", "TIMESTAMP"))
    jars = Path(pyspark.__file__).parent / "jars"
    done = subprocess.run(
        ["java", "-cp", ":".join(map(str, jars.glob("derby*.jar"))), "org.apache.derby.tools.ij", script.name],
        cwd=tmp_path, capture_output=True, text=True, timeout=WAIT_SECONDS, check=True,
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if line.startswith("ERROR")]
    assert [line.partition(":")[0] for line in errors] == ["ERROR 23505", "ERROR 23502"]
    assert f"indexes {len(INDEXES)}" in done.stdout
    assert "found Y 20" in done.stdout
    assert "left 0" in done.stdout


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://h/d", "'mysql' is not supported for OL_* tables"),
        ("nonsense", "not a database URL"),
        ("postgresql://u:s3cret@h:port/d", "not a database URL"),
    ],
)
def test_other_databases_are_refused(url: Any, message: Any) -> None:
    with pytest.raises(TargetRefused, match=message.replace("*", "[*]")) as refused:
        dialect_of(url)
    assert "s3cret" not in str(refused.value)
