"""The desired entities of OpenMetadata for rows of the catalog: services, tables, pipelines, lineage and checks.

A dataset `domain/name` is the table `service.organisation.domain.name`, a process a pipeline. A dataset that is renamed
keeps its table, which shows the new name: FQNs there cannot change, and a new table would lose the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from headrace.openmetadata import models
from headrace.openmetadata.catalog import Contents, Row
from headrace.openmetadata.names import MAX_FQN, below, entity_name, fqn, table_link
from headrace.openmetadata.references import DATA_PRODUCT, References
from headrace.openmetadata.state import Kind, State
from headrace.openmetadata.types import column

PROPERTIES = {
    "headraceKey": "Key of the dataset in Headrace",
    "headraceFormat": "Format of its files or table",
    "headracePartitions": "How it is partitioned",
    "headraceProject": "Project that declares it",
    "headraceQuality": "Quality score in Headrace, from 0 to 100",
}
_FORMATS = {"parquet": "parquet", "csv": "csv", "json": "json", "avro": "avro", "jsonl": "jsonl"}
_SPARK = "SPARK"


@dataclass(frozen=True, slots=True)
class Desired:
    """An entity as it should be there. status: `entityStatus`, which cannot be part of its creation.

    about: the dataset or process, for messages.
    """

    kind: Kind
    key: str
    fqn: str
    body: dict[str, Any]
    parent: str = ""
    status: str | None = None
    is_gone: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class DesiredEdge:
    """The flow from one entity to another, by their kinds and keys; columns by FQN."""

    source: tuple[Kind, str]
    target: tuple[Kind, str]
    origin: str
    pipeline: str | None
    sql: str | None
    columns: tuple[models.ColumnsLineage, ...]


@dataclass
class EntityMapping:
    """The mapping of one synchronisation. problems: what cannot be sent, and why."""

    state: State
    references: References
    service: str
    organisation: str
    page_url: str
    sends_sql: bool
    problems: list[str] = field(default_factory=list)
    tables: dict[str, str] = field(default_factory=dict)  # FQN by dataset_id
    pipelines: dict[str, str] = field(default_factory=dict)
    columns: dict[str, dict[str, str]] = field(
        default_factory=dict
    )  # FQN of a column by table's FQN and name
    keys: dict[str, str] = field(default_factory=dict)
    _taken: dict[Kind, set[str]] = field(default_factory=dict)  # FQNs in lower case: some databases ignore it

    def __post_init__(self) -> None:
        for kind, known in ((Kind.TABLE, self.tables), (Kind.PIPELINE, self.pipelines)):
            known.update({sent.key: sent.fqn for sent in self.state.of(kind)})
            self._taken[kind] = {each.lower() for each in known.values()}
        for sent in self.state.of(Kind.TABLE):
            self.columns[sent.fqn] = _column_fqns(sent.fqn, sent.sent.get("columns") or ())

    def containers(self, datasets: Iterable[Row]) -> Iterator[Desired]:
        """Yield the services, the database, and the schemas of these datasets."""
        custom: dict[str, Any] = {"config": {"type": "CustomDatabase", "sourcePythonClass": "headrace"}}
        yield self._desired(
            Kind.DATABASE_SERVICE, fqn(self.service),
            models.Service(name=self.service, service_type="CustomDatabase", connection=custom,
                           description="Datasets of Headrace."),
        )  # fmt: skip
        custom = {"config": {"type": "CustomPipeline", "sourcePythonClass": "headrace"}}
        yield self._desired(
            Kind.PIPELINE_SERVICE, fqn(self.service),
            models.Service(name=self.service, service_type="CustomPipeline", connection=custom,
                           description="Processes of Headrace: Spark, Autosys and others."),
        )  # fmt: skip
        database = models.Database(name=entity_name(self.organisation), service=fqn(self.service))
        yield self._desired(Kind.DATABASE, self.database, database)
        for namespace in sorted({row["namespace"] for row in datasets if row["status"] != "RETIRED"}):
            name = entity_name(namespace or "default")
            shown = namespace if name != namespace else None
            schema = models.Schema(name=name, database=self.database, display_name=shown)
            yield self._desired(Kind.SCHEMA, below(self.database, name), schema)

    def table(self, row: Row, hidden: frozenset[str]) -> Desired | None:
        """Return the table of a dataset; None if it cannot be sent, which is a problem."""
        key = str(row["dataset_id"])
        schema = below(self.database, entity_name(row["namespace"] or "default"))
        address = self._address(Kind.TABLE, key, schema, row["name"])
        self.tables[key], self.keys[key] = address, row["key"]
        if row["status"] == "RETIRED":
            return Desired(Kind.TABLE, key, address, {}, is_gone=True, about=row["key"])
        declared = {each["name"]: each for each in row["declared"]}
        name = _unquoted_last(address)
        domain = None if "#" in row["key"] else self.references.domain(row["namespace"])
        product = row["tags"].get(DATA_PRODUCT)
        products = (self.references.data_product(product, domain),) if product and domain else None
        details = {
            "headraceKey": row["key"],
            "headraceFormat": row["format"],
            "headracePartitions": row["partitions"],
            "headraceProject": row["project"],
            "headraceQuality": row["quality"],
        }
        try:
            body = models.Table(
                name=name,
                display_name=row["name"] if row["name"] != name else None,
                description=row["description"],
                owners=self.references.owners(row["owners"]) or None,
                tags=self.references.labels(row["tags"]) or None,
                domains=(domain,) if domain else None,
                data_products=products,
                source_url=f"{self.page_url}/datasets/{row['key']}" if "#" not in row["key"] else None,
                database_schema=_above(address),
                columns=self._columns(row["columns"], declared, hidden),
                table_type="Iceberg" if row["format"] == "iceberg" else "Regular",
                table_constraints=_unique(row["checks"], {each["name"] for each in row["columns"]}),
                file_format=_FORMATS.get(row["format"]),  # type: ignore[arg-type]
                extension={name: value for name, value in details.items() if value},
            ).dump()
        except ValidationError as error:
            self.problems.append(_too_long(row["key"], error))
            return None
        self.columns[address] = _column_fqns(address, body["columns"])
        if len(address) > MAX_FQN:
            self.problems.append(
                f"{row['key']}: its name in OpenMetadata has more than {MAX_FQN:,} characters"
            )
            return None
        status = "Deprecated" if row["status"] == "DEPRECATED" else None
        return Desired(Kind.TABLE, key, address, body, status=status, about=row["key"])

    def pipeline(self, row: Row) -> Desired | None:
        """Return the pipeline of a process; None if it cannot be sent, which is a problem."""
        key = str(row["process_id"])
        address = self._address(Kind.PIPELINE, key, fqn(self.service), row["key"])
        self.pipelines[key], self.keys[key] = address, row["key"]
        if row["lifecycle"] == "RETIRED":
            return Desired(Kind.PIPELINE, key, address, {}, is_gone=True, about=row["key"])
        name = _unquoted_last(address)
        try:
            body = models.Pipeline(
                name=name,
                display_name=row["key"] if row["key"] != name else None,
                description=row["description"],
                owners=self.references.owners(row["owners"]) or None,
                tags=self.references.labels({"technology": row["technology"].lower()}),
                service=fqn(self.service),
                tasks=_tasks(row),
            ).dump()
        except ValidationError as error:
            self.problems.append(_too_long(row["key"], error))
            return None
        return Desired(Kind.PIPELINE, key, address, body, about=row["key"])

    def edges(self, rows: Contents, processes: Mapping[UUID, Row]) -> dict[str, list[DesiredEdge]]:
        """Return the edges by the key of their target. processes: those whose technology and SQL are known."""
        columns: dict[tuple[str, str], dict[str, set[tuple[str, str | None]]]] = {}
        for row in rows.column_edges:
            ends = str(row["source_id"]), str(row["target_id"])
            source = self._column(ends[0], row["source_field"])
            target = self._column(ends[1], row["target_field"])
            if ends[0] != ends[1] and source and target:  # a column that is gone has no edge
                columns.setdefault(ends, {}).setdefault(target, set()).add((source, _function(row)))
        found: dict[tuple[str, str], DesiredEdge] = {}
        for row in rows.edges:
            ends = str(row["source_id"]), str(row["target_id"])
            kinds = [
                Kind.TABLE if row[end] == "DATASET" else Kind.PIPELINE
                for end in ("source_type", "target_type")
            ]
            known = {Kind.TABLE: self.tables, Kind.PIPELINE: self.pipelines}
            if ends[0] not in known[kinds[0]] or ends[1] not in known[kinds[1]]:
                continue
            is_between = kinds == [Kind.TABLE, Kind.TABLE]
            process = processes.get(row["process_id"]) if row["process_id"] else None
            by = process["technology"] if process else None
            edge = DesiredEdge(
                source=(kinds[0], ends[0]),
                target=(kinds[1], ends[1]),
                origin="SparkLineage" if by == _SPARK else "PipelineLineage" if by else "OpenLineage",
                pipeline=str(row["process_id"]) if process and is_between else None,
                sql=process["source"] if process and is_between and self.sends_sql else None,
                columns=_lineage(columns.get(ends, {})) if is_between else (),
            )
            if ends not in found or found[ends].pipeline is None:  # of several processes, the first
                found[ends] = edge
        by_target: dict[str, list[DesiredEdge]] = {}
        for edge in found.values():
            by_target.setdefault(edge.target[1], []).append(edge)
        return by_target

    def cases(self, row: Row) -> Iterator[Desired]:
        """Yield the definitions and test cases of a dataset's checks."""
        address = self.tables[str(row["dataset_id"])]
        for check in row["checks"]:
            column_name = entity_name(check["column"]) if check["column"] else None
            if column_name and column_name not in self.columns.get(address, {}):
                column_name = None
            level = "COLUMN" if column_name else "TABLE"
            kind = f"headrace_{check['kind']}_{level.lower()}"
            yield self._desired(
                Kind.TEST_DEFINITION, fqn(kind),
                models.Definition(name=kind, display_name=check["kind"], entity_type=level,  # type: ignore[arg-type]
                                  description=f"The check `{check['kind']}` of Headrace."),
            )  # fmt: skip
            name = entity_name(check["name"])
            case = models.Case(
                name=name,
                description=check["description"] or f"{check['severity'].lower()} if it fails",
                test_definition=fqn(kind),
                entity_link=table_link(address, column_name),
                parameter_values=tuple(
                    models.Parameter(name=key, value=str(value))
                    for key, value in check["parameters"].items()
                    if check["kind"] != "sql" or self.sends_sql
                ),
            )
            key = f"{row['dataset_id']}/{check['name']}"
            above = below(address, column_name) if column_name else address
            yield Desired(
                Kind.TEST_CASE,
                key,
                below(above, name),
                case.dump(),
                parent=str(row["dataset_id"]),
                about=row["key"],
            )

    @property
    def database(self) -> str:
        """The FQN of the organisation's database."""
        return fqn(self.service, entity_name(self.organisation))

    def _desired(self, kind: Kind, address: str, body: models.Named) -> Desired:
        return Desired(kind, address, address, body.dump(), about=address)

    def _address(self, kind: Kind, key: str, above: str, name: str) -> str:
        """Return the FQN: as it was sent first, and never that of another dataset or process."""
        known = self.tables if kind is Kind.TABLE else self.pipelines
        if key in known:
            return known[key]
        taken = self._taken[kind]
        address = below(above, entity_name(name))
        if address.lower() in taken:
            address = below(above, entity_name(f"{name}\n{key}", distinct=True))
        taken.add(address.lower())
        return address

    def _columns(
        self, rows: list[Row], declared: Mapping[str, Row], hidden: frozenset[str]
    ) -> tuple[models.Column, ...]:
        found = []
        for row in rows:
            stated = declared.get(row["name"], {})
            made = column(row["name"], row["type"])
            found.append(
                models.Column.model_validate(
                    {
                        **made,
                        "displayName": row["name"] if row["name"] != made["name"] else None,
                        "description": stated.get("description") or row["description"],
                        "constraint": None if row["nullable"] else "NOT_NULL",
                        "tags": self.references.column_labels(
                            list(stated.get("tags") or ()), is_sensitive=row["name"] in hidden
                        )
                        or None,
                    }
                )
            )
        return tuple(found)

    def _column(self, dataset: str, name: str) -> str | None:
        table = self.tables.get(dataset)
        return self.columns.get(table, {}).get(entity_name(name)) if table else None


def referenced(references: References) -> list[Desired]:
    """Return the tags, domains and data products that were named and are to be made."""
    found = []
    for (kind, key), body in references.wanted.items():
        address = below(body.classification, body.name) if isinstance(body, models.Tag) else fqn(body.name)
        found.append(Desired(kind, key, address, body.dump(), about=address))
    return found


def _lineage(columns: Mapping[str, set[tuple[str, str | None]]]) -> tuple[models.ColumnsLineage, ...]:
    found = []
    for target, sources in sorted(columns.items()):
        functions = sorted({function for _, function in sources if function})
        found.append(
            models.ColumnsLineage(
                from_columns=tuple(sorted({source for source, _ in sources})),
                to_column=target,
                function=", ".join(functions) or None,
            )
        )
    return tuple(found)


def _function(row: Row) -> str | None:
    words = [row["subtype"] or row["type"] or "", "masked" if row["masking"] else ""]
    return " ".join(word for word in words if word and word != "IDENTITY") or None


def _unique(checks: list[Row], columns: set[str]) -> tuple[models.Constraint, ...] | None:
    found = []
    for check in checks:
        if check["kind"] == "unique":
            named = check["parameters"].get("columns") or [check["column"]]
            if set(named) <= columns:
                found.append(
                    models.Constraint(
                        constraint_type="UNIQUE", columns=tuple(entity_name(each) for each in named)
                    )
                )
    return tuple(found) or None


def _tasks(row: Row) -> tuple[models.Task, ...]:
    """Return the steps, each with those that read it; one task, if the process has no steps."""
    steps = {entity_name(name): [entity_name(each) for each in reads] for name, reads in row["steps"] or ()}
    if not steps:
        return (models.Task(name=entity_name(row["key"])),)
    return tuple(
        models.Task(
            name=name,
            downstream_tasks=tuple(other for other, reads in steps.items() if name in reads) or None,
        )
        for name in steps
    )


def _column_fqns(above: str, columns: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    return {each["name"]: below(above, each["name"]) for each in columns}


def _unquoted_last(address: str) -> str:
    """Return the name of the entity with this FQN."""
    return address[:-1].rpartition('."')[2] if address.endswith('"') else address.rpartition(".")[2]


def _above(address: str) -> str:
    return address[:-1].rpartition('."')[0] if address.endswith('"') else address.rpartition(".")[0]


def _too_long(key: str, error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{key} is not sent: its {place} is not accepted by OpenMetadata ({first['msg']}). Change its declaration."
