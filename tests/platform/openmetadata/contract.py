"""The bodies that OpenMetadata accepts, as JSON Schemas in our own words: its fields, types, patterns and limits.

Stated for the two generations that differ in what they refuse: 1.12 (and 1.13), and 2.0, which tightened names. Where
the variable OPENMETADATA_SPEC names a folder with the published schemas (`openmetadata-spec/.../json/schema` of a
checkout), bodies are validated with those as well. They are not part of this repository.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs

Schema = dict[str, Any]
SPEC = os.environ.get("OPENMETADATA_SPEC")
VERSIONS = ("1.12.0", "2.0.0")

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
UUID: Schema = {"type": "string", "format": "uuid"}
FQN: Schema = {"type": "string", "minLength": 1, "maxLength": 3072}
LINK: Schema = {"type": "string", "pattern": r"^<#E::\w+::[^<>|]+(::[^<>|]+)*>$"}
DATA_TYPES = (
    "NUMBER", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "TIMESTAMP", "TIMESTAMPZ",
    "TIME", "DATE", "DATETIME", "INTERVAL", "STRING", "TEXT", "CHAR", "VARCHAR", "BOOLEAN", "BINARY",
    "VARBINARY", "ARRAY", "MAP", "STRUCT", "UNION", "ENUM", "JSON", "UUID", "VARIANT", "NULL", "UNKNOWN",
)  # fmt: skip


def _array(items: Schema, **limits: int) -> Schema:
    return {"type": "array", "items": items, **limits}


def _object(required: str = "", **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _enum(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


REFERENCE = _object(
    "id type", id=UUID, type=TEXT, name=TEXT, fullyQualifiedName=TEXT, description=TEXT, displayName=TEXT,
    deleted=BOOLEAN, inherited=BOOLEAN, href=TEXT,
)  # fmt: skip
LABEL = _object(
    "tagFQN source labelType state", tagFQN=TEXT, name=TEXT, displayName=TEXT, description=TEXT,
    source=_enum("Classification", "Glossary"),
    labelType=_enum("Manual", "Propagated", "Automated", "Derived", "Generated"),
    state=_enum("Suggested", "Confirmed"), href=TEXT, reason=TEXT, style={"type": "object"},
)  # fmt: skip


@cache
def bodies(version: str) -> dict[str, Schema]:
    """Return the schema of each body, by the name of its published file without `.json`."""
    excluded = '>"\\x00-\\x1f' if version.startswith("2.") else ""
    characters = f"[^{excluded}]" if excluded else "(?s:.)"
    name = {"type": "string", "minLength": 1, "maxLength": 256, "pattern": f"^((?!::){characters})*$"}
    unbounded = {**name}
    del unbounded["maxLength"]
    common = {"displayName": TEXT, "description": TEXT, "owners": _array(REFERENCE)}
    governed = {**common, "tags": _array(LABEL), "domains": _array(TEXT), "dataProducts": _array(FQN)}
    sourced = {
        "extension": {"type": "object"},
        "sourceUrl": TEXT,
        "sourceHash": {**TEXT, "minLength": 1, "maxLength": 32},
    }
    column: Schema = _object(
        "name dataType", name=unbounded, displayName=TEXT, dataType=_enum(*DATA_TYPES),
        arrayDataType=_enum(*DATA_TYPES),
        dataLength=INTEGER, precision=INTEGER, scale=INTEGER, dataTypeDisplay=TEXT, description=TEXT,
        fullyQualifiedName=FQN, tags=_array(LABEL), constraint=_enum("NULL", "NOT_NULL", "UNIQUE", "PRIMARY_KEY"),
        ordinalPosition=INTEGER, children=_array({"$ref": "#/definitions/column"}),
    )  # fmt: skip
    constraint = _object(
        constraintType=_enum("UNIQUE", "PRIMARY_KEY", "FOREIGN_KEY", "SORT_KEY", "DIST_KEY", "CLUSTER_KEY"),
        columns=_array(TEXT), referredColumns=_array(FQN),
    )  # fmt: skip
    task_name = {**name, "minLength": 1 if version.startswith("2.") else 0}
    statuses = _enum("Successful", "Failed", "Pending", "Skipped")
    usage = {
        "type": "object",
        "required": ["datasetFQN"],
        "properties": {"datasetFQN": TEXT, "version": TEXT},
    }
    counts = dict.fromkeys(
        (
            "valuesCount", "nullCount", "nullProportion", "uniqueCount", "distinctCount", "minLength",
            "maxLength", "mean", "sum", "stddev", "median", "firstQuartile", "thirdQuartile",
        ),
        NUMBER,
    )  # fmt: skip
    service = {**governed, "name": name}
    return {
        "api/services/createDatabaseService": _object(
            "name serviceType", **service, serviceType=_enum("CustomDatabase", "Datalake", "Iceberg"),
            connection={"type": "object", "properties": {"config": {"type": "object", "required": ["type"]}}},
        ),
        "api/services/createPipelineService": _object(
            "name serviceType", **service, serviceType=_enum("CustomPipeline", "Dagster", "Spark"),
            connection={"type": "object", "properties": {"config": {"type": "object", "required": ["type"]}}},
        ),
        "api/data/createDatabase": _object("name service", **governed, **sourced, name=name, service=FQN),
        "api/data/createDatabaseSchema": _object("name database", **governed, **sourced, name=name, database=FQN),
        "api/data/createTable": {
            **_object(
                "name columns databaseSchema", **governed, **sourced, name=name, databaseSchema=FQN,
                tableType=_enum("Regular", "External", "View", "Iceberg", "Partitioned", "Foreign"),
                columns=_array({"$ref": "#/definitions/column"}), tableConstraints=_array(constraint),
                fileFormat=_enum("csv", "avro", "parquet", "json", "jsonl", "tsv"), locationPath=TEXT,
            ),
            "definitions": {"column": column},
        },
        "api/data/createPipeline": _object(
            "name service", **governed, **sourced, name=name, service=FQN, scheduleInterval=TEXT,
            state=_enum("Active", "Inactive"),
            tasks=_array(_object("name", name=task_name, displayName=TEXT, description=TEXT, taskType=TEXT,
                                 downstreamTasks=_array(TEXT))),
        ),
        "entity/data/pipeline#pipelineStatus": _object(
            "timestamp executionStatus", timestamp=INTEGER, executionStatus=statuses, executionId=TEXT, endTime=INTEGER,
            version=TEXT, inputs=_array(usage), outputs=_array(usage), error={"type": "object"},
            taskStatus=_array(_object("name executionStatus", name=TEXT, executionStatus=statuses, startTime=INTEGER,
                                      endTime=INTEGER)),
        ),
        "api/lineage/addLineage": _object(
            "edge",
            edge=_object(
                "fromEntity toEntity", fromEntity=REFERENCE, toEntity=REFERENCE, description=TEXT,
                lineageDetails={
                    "type": "object",
                    "properties": {
                        "sqlQuery": TEXT, "description": TEXT, "pipeline": REFERENCE,
                        "columnsLineage": _array({"type": "object", "properties": {
                            "fromColumns": _array(FQN), "toColumn": FQN, "function": TEXT}}),
                        "source": _enum(
                            "Manual", "ViewLineage", "QueryLineage", "PipelineLineage", "DashboardLineage",
                            "DbtLineage", "SparkLineage", "OpenLineage", "ExternalTableLineage",
                            "CrossDatabaseLineage", "ChildAssets"),
                    },
                },
            ),
        ),
        "api/data/createTableProfile": _object(
            "tableProfile",
            tableProfile=_object(
                "timestamp", timestamp=INTEGER, rowCount=NUMBER, columnCount=NUMBER, sizeInByte=NUMBER),
            columnProfile=_array(_object("name timestamp", **counts, name=TEXT, timestamp=INTEGER, min={}, max={})),
            systemProfile=_array(_object("", timestamp=INTEGER, operation=_enum("UPDATE", "INSERT", "DELETE", "WRITE"),
                                         rowsAffected=INTEGER)),
        ),
        "api/tests/createTestDefinition": _object(
            "name entityType testPlatforms", **common, name=unbounded, entityType=_enum("TABLE", "COLUMN"),
            testPlatforms=_array(_enum("OpenMetadata", "GreatExpectations", "dbt", "Deequ", "Soda", "Other")),
            parameterDefinition=_array({"type": "object"}), supportedDataTypes=_array(TEXT),
        ),
        "api/tests/createTestCase": _object(
            "name testDefinition entityLink", **common, name=unbounded, testDefinition=FQN, entityLink=LINK,
            parameterValues=_array({"type": "object", "properties": {"name": TEXT, "value": TEXT}}), tags=_array(LABEL),
        ),
        "api/tests/createTestCaseResult": _object(
            "timestamp testCaseStatus testResultValue", timestamp=INTEGER, result=TEXT, passedRows=INTEGER,
            failedRows=INTEGER, testCaseStatus=_enum("Success", "Failed", "Aborted", "Queued"),
            testResultValue=_array({"type": "object", "properties": {"name": TEXT, "value": TEXT}}),
        ),
        "entity/data/table#tableData": _object(columns=_array(unbounded), rows=_array(_array({}))),
        "api/classification/createClassification": _object(
            "name description", **common, name=name, mutuallyExclusive=BOOLEAN),
        "api/classification/createTag": _object(
            "name description", **common, name=name, classification=FQN, parent=FQN),
        "api/domains/createDomain": _object(
            "name description domainType", **common, name=name, parent=TEXT,
            domainType=_enum("Source-aligned", "Consumer-aligned", "Aggregate"),
        ),
        "api/domains/createDataProduct": _object("name description domains", **common, name=name, domains=_array(FQN)),
        "type/customProperty": _object(
            "name propertyType", name=name, displayName=TEXT, description=TEXT, propertyType=REFERENCE,
        ),
    }  # fmt: skip


def problem(version: str, body: str, document: object) -> str | None:
    """Return why the document is not such a body, or None."""
    validators = [_own(version, body)]
    if SPEC is not None:
        validators.append(published(SPEC, body))
    for validator in validators:
        for error in validator.iter_errors(document):
            # Of a column's `min` and `max` the published schema wants one of overlapping types, which no number is.
            if "more than one of the schemas" in error.message and error.instance_path[-1] in ("min", "max"):
                continue
            return f"{'/'.join(map(str, error.instance_path))}: {error.message[:300]}"
    return None


@cache
def _own(version: str, body: str) -> Any:
    return jsonschema_rs.Draft7Validator(bodies(version)[body])


@cache
def published(spec: str, body: str) -> Any:
    """Return the validator of a published schema."""
    file, _, definition = body.partition("#")
    address = f"https://open-metadata.org/schema/{file}.json"
    schema = {"$ref": f"{address}#/definitions/{definition}" if definition else address}

    def retrieve(uri: str) -> Any:
        path = urlsplit(uri).path.removeprefix("/schema").lstrip("/")  # some files lack it in their `$id`
        file = Path(spec) / path
        text = (file if file.exists() else Path(spec) / "api" / "type" / file.name).read_text(
            encoding="utf-8"
        )
        return json.loads(text)

    return jsonschema_rs.Draft7Validator(schema, retriever=retrieve)
