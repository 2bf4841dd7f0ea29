"""Build the catalog record of a dataset from its validated declaration: columns, checks, metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.catalog.records import Check, Column, DatasetRecord
from headrace.checks.predicates import validate
from headrace.context import current_context
from headrace.declarations.attributes import DatasetAttributes, DescriptiveAttributes
from headrace.declarations.automation import sla_record
from headrace.declarations.checks import DatasetCheck, column_checks, dataset_checks, partition_check
from headrace.declarations.declaration import Dynamic, Multi, Partitions, Schema, Static
from headrace.declarations.partitions import partition_shape
from headrace.sources.origin import Origin
from headrace.spark.errors import InvalidCheck
from headrace.spark.types import spark_type

RETENTION = "retention"  # the tag with a dataset's retention class


def dataset_record(
    keyed: DatasetAttributes,
    described: DescriptiveAttributes,
    origin: Origin,
    *,
    format: str,
    partitions: Partitions | None,
    rules: Sequence[DatasetCheck] = (),
    key_columns: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
) -> DatasetRecord:
    """Build the record of a dataset; `described` has the process's attributes as defaults.

    key_columns: the columns with a row's partition, which get their own check. Raises DeclarationError.
    """
    columns, column_rules = _columns(keyed.table_schema, origin)
    checks = [
        *column_rules,
        *dataset_checks(rules),
        *([partition_check(key_columns)] if key_columns else []),
    ]
    _names_once(checks, origin)
    if columns:
        _columns_exist({column.name for column in columns}, rules, origin)
        by_name = {column.name: column for column in columns}
        for index, rule in enumerate(rules):
            if rule.drift is not None and (misfit := rule.drift.misfit(by_name)):
                raise origin.error(("checks", index, "drift"), *misfit)
    tags = {**described.all_tags, **keyed.all_tags}
    return DatasetRecord(
        key=keyed.key,
        format=format,
        description=keyed.description or described.description,
        owners=keyed.all_owners or described.all_owners,
        tags=tags,
        columns=columns,
        checks=tuple(checks),
        partitions=_partitions_text(partitions) if partitions else None,
        partition_definition=partition_shape(partitions) if partitions else None,
        sla=sla_record(keyed.sla) if keyed.sla else None,
        metadata={
            **described.metadata,
            **keyed.metadata,
            **_with_legal_limits(metadata or {}, tags.get(RETENTION), origin),
        },
        declared_at=origin.declared_at,
        renamed_from=keyed.renamed_from,
    )


def _with_legal_limits(metadata: Mapping[str, Any], name: str | None, origin: Origin) -> dict[str, Any]:
    """Add the limits of a retention class to the rule `keep`. Raises DeclarationError for an unknown class."""
    if name is None:
        return dict(metadata)
    classes = current_context().settings.retention_classes
    if name not in classes:
        raise origin.error(
            ("tags", RETENTION),
            f"no retention class {name!r}",
            f"headrace.toml has {', '.join(sorted(classes)) or 'none'}; add [retention_classes.{name}] there.",
        )
    limits = {"class": name, **classes[name].model_dump(exclude_none=True)}
    return {**metadata, "keep": {**(metadata.get("keep") or {}), **limits}}


def _columns(schema: Schema | None, origin: Origin) -> tuple[tuple[Column, ...], Sequence[Check]]:
    if schema is None:
        return (), ()
    if schema.model is not None:
        # Imported here, because it imports pandera and Spark.
        from headrace.declarations.models import pandera_schema

        return pandera_schema(schema.model, origin, ("schema", "model"))
    columns: list[Column] = []
    rules: list[Check] = []
    for name, column in schema.columns.items():
        try:
            type_ = spark_type(column.type)
        except ValueError as error:
            raise origin.error(
                ("schema", "columns", name, "type"), str(error), "Use the names that Spark's DESCRIBE shows."
            ) from error
        for index, rule in enumerate(column.checks):
            if rule.not_null and rule.severity == "warning" and not (rule.quarantine or column.nullable):
                raise origin.error(
                    ("schema", "columns", name, "checks", index, "severity"),
                    f"`nullable: false` stops a version with a null in {name}, and this check only warns of one",
                    "Remove the check, or set `nullable: true`; `quarantine: true` sets rows with a null aside.",
                )
        columns.append(Column(name, type_, column.nullable, column.description, tuple(column.tags)))
        records = list(column_checks(name, column.checks, column.nullable))
        _fit(records[len(records) - len(column.checks) :], columns[-1], origin)
        rules += records
    _columns_once(columns, origin)
    return tuple(columns), rules


def _fit(rules: Sequence[Check], column: Column, origin: Origin) -> None:
    """Raise for the first rule that is invalid for a column of this type, or with these values."""
    for index, rule in enumerate(rules):
        if rule.kind != "unique":
            try:
                validate(rule, {column.name: column.type})
            except InvalidCheck as error:
                raise origin.error(
                    ("schema", "columns", column.name, "checks", index, rule.kind), str(error)
                ) from error


def _columns_once(columns: Sequence[Column], origin: Origin) -> None:
    names: dict[str, str] = {}
    for column in columns:
        other = names.setdefault(column.name.lower(), column.name)
        if other != column.name:
            raise origin.error(
                ("schema", "columns", column.name),
                f"{other} and {column.name} differ only in case, which Spark ignores",
                "Rename one of them.",
            )


def _names_once(checks: Sequence[Check], origin: Origin) -> None:
    for name, times in Counter(check.name for check in checks).items():
        if times > 1:
            raise origin.error(
                ("checks",),
                f"two checks are named {name!r}",
                "Give one of them a different `name`.",
            )


def _columns_exist(names: set[str], rules: Sequence[DatasetCheck], origin: Origin) -> None:
    for index, rule in enumerate(rules):
        for column in rule.unique or ():
            if column not in names:
                raise origin.error(
                    ("checks", index, "unique"),
                    f"{column!r} is not among the columns of the schema",
                    f"The schema has: {', '.join(sorted(names))}.",
                )


def _partitions_text(partitions: Partitions) -> str:
    """Describe partitions for the catalog: `daily from 2013-01-01 (column flight_date)`."""
    if isinstance(partitions, Multi):
        return " x ".join(f"{name}: {_partitions_text(part)}" for name, part in partitions.dimensions.items())
    column = f" (column {partitions.column})" if partitions.column else ""
    if isinstance(partitions, Static):
        return f"static: {len(partitions.keys)} keys{column}"
    if isinstance(partitions, Dynamic):
        return f"dynamic: {partitions.name}{column}"
    end = f" to {partitions.end}" if partitions.end else ""
    zone = f" {partitions.timezone}" if partitions.timezone != "UTC" else ""
    days = f" on business days of {partitions.calendar}" if partitions.calendar else ""
    return f"{partitions.type} from {partitions.start}{end}{zone}{days}{column}"
