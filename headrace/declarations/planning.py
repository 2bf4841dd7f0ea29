"""Turn a validated declaration into the plan that a run follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from headrace.catalog.locators import FILES_STORE
from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.catalog.schema import sensitive
from headrace.dagster_internals import FreshnessPolicy
from headrace.declarations.attributes import (
    ComputationAttributes,
    DatasetAttributes,
    DescriptiveAttributes,
    ExecutionAttributes,
    External,
    ProcessOutput,
    Product,
)
from headrace.declarations.automation import (
    SlaProblem,
    condition,
    freshness_policy,
    process_trigger,
    retry_policy,
    run_limits,
    trigger_mode,
)
from headrace.declarations.dataset_record import dataset_record
from headrace.declarations.declaration import Partitions, RunLimits, Time
from headrace.declarations.incremental import Incremental, growing_record, incremental_plan
from headrace.declarations.location import check_location, database_source
from headrace.declarations.partitions import PartitionProblem, partition_plan
from headrace.declarations.row_key import partition_column
from headrace.declarations.stated_lineage import stated_lineage
from headrace.declarations.steps import (
    Piece,
    check_parameters,
    digest,
    input_error,
    python_piece,
    resolve,
    sql_piece,
    step_piece,
)
from headrace.execution.notices import AutosysEvent
from headrace.execution.plan import (
    PARTITION,
    ExternalPlan,
    ExtractPlan,
    InputPlan,
    OutputPlan,
    PartitionPlan,
    ProcessPlan,
)
from headrace.execution.transform import Pipeline
from headrace.sources.origin import Origin
from headrace.stores.capabilities import Capability
from headrace.stores.registry import STORES


def dataset_plan(
    dataset: Product, computed: ComputationAttributes, origin: Origin, piece: Piece | None = None
) -> ProcessPlan:
    """Build the plan of a process with one output. piece: the code, if it is not in `computed` (the decorator's).

    Raises DeclarationError.
    """
    last = piece or _final_piece(computed, origin, dataset.name)
    pieces = [*_steps(computed, origin), *([last] if last else [])]
    if not pieces:
        raise origin.error(
            (), "no code", "Set `sql` (a SELECT or a .sql file) or `python` (file.py:function)."
        )
    outputs = {dataset.key: pieces[-1].step}
    plan = _process_plan([(dataset, origin)], computed, origin, pieces, outputs, dataset, dataset.sla)
    return plan if computed.incremental is None else _growing(plan, computed.incremental, origin)


def process_plan(
    described: DescriptiveAttributes,
    outputs: Sequence[ProcessOutput],
    running: ExecutionAttributes,
    origin: Origin,
    sla: RunLimits | None = None,
) -> ProcessPlan:
    """Build the plan of a process with several outputs: each a query, a step, or a frame that the function returns.

    Raises DeclarationError.
    """
    pieces = _steps(running, origin)
    steps = {piece.step for piece in pieces}
    frames: dict[str, str | None] = {}
    for index, output in enumerate(outputs):
        part = origin.part("outputs", index)
        if output.key in frames:
            raise part.error(("key",), f"{output.key} is an output twice", "Remove one of the two.")
        if output.sql is not None and output.step is not None:
            raise part.error(("step",), "`sql` and `step` cannot be combined", "Keep one.")
        if output.step is not None and output.step not in steps:
            raise part.error(("step",), f"no step {output.step!r}", "Name one of `steps`.")
        if output.sql is not None:
            pieces.append(sql_piece(part, output.name, ("sql",), output.sql))
        elif output.step is None and running.python is None:
            raise part.error((), "no code", "Set `sql` or `step` of the output, or `python` of the process.")
        frames[output.key] = output.name if output.sql is not None else output.step
    if running.python is not None:
        if None not in frames.values():
            raise origin.error(
                ("python",), "no output comes from the function", "Omit `sql` and `step` of an output."
            )
        pieces.append(python_piece(origin, "outputs", ("python",), running.python, several=True))
    products = [(output, origin.part("outputs", index)) for index, output in enumerate(outputs)]
    for product, part in products:
        _no_run_limits(product, part)
    return _process_plan(products, running, origin, pieces, frames, described, sla)


def external_plan(external: External, origin: Origin) -> ExternalPlan:
    """Build the plan of a dataset written by another system. Raises DeclarationError."""
    check_location(external, origin)
    source = database_source(external, origin)
    control = external.control
    partitions = _partitions(external.partitions, origin)
    _no_run_limits(external, origin)
    metadata = {
        "external": True,
        "location": external.location,
        "database": source and source.metadata,
        "options": dict(external.options),
        "marker": external.marker,
        "reader": external.reader,
        "control": control and control.described,
        "produced_by": list(dict.fromkeys(external.produced_by)),
        "profile": external.profile,
    }
    return ExternalPlan(
        record=dataset_record(
            external,
            external,
            origin,
            format=external.format if source is None else "table",
            partitions=external.partitions,
            metadata={name: value for name, value in metadata.items() if value},
        ),
        partitions=partitions.definition if partitions else None,
        location=external.location,
        options=external.options,
        marker=external.marker,
        reader=external.reader,
        control=control,
        source=source,
        produced_by=tuple(dict.fromkeys(external.produced_by)),
        freshness=_freshness(external, origin),
        references=((origin.file, origin.line),),
    )


def _sent_events(outputs: Iterable[OutputPlan]) -> list[tuple[str, ...]]:
    notices = (notice for output in outputs for notice in output.notices)
    return [notice.arguments for notice in notices if isinstance(notice, AutosysEvent)]


def _process_plan(
    products: Sequence[tuple[Product, Origin]],
    running: ExecutionAttributes,
    origin: Origin,
    pieces: Sequence[Piece],
    frames: Mapping[str, str | None],
    described: DescriptiveAttributes,
    sla: RunLimits | None,
) -> ProcessPlan:
    first = products[0][0]
    partitions = _partitions(running.partitions, origin)
    check_parameters(pieces, partitions)
    resolved = resolve(origin, first.key if len(frames) == 1 else None, first.domain, pieces, running.inputs)
    inputs = tuple(item for item in resolved.inputs if not item.is_own)
    for item in inputs:
        if item.dataset in frames:
            raise input_error(
                item, origin, f"{item.dataset} reads itself", "Its previous version is the input `self`."
            )
    outputs = tuple(
        _output(product, described, running, part, origin, resolved.inputs) for product, part in products
    )
    own = _own(resolved.inputs, outputs[0], running, origin)
    datasets = tuple(dict.fromkeys(item.dataset for item in inputs))
    started_by = process_trigger(running.trigger) if running.trigger else None
    return ProcessPlan(
        record=ProcessRecord(
            key=first.key,
            technology=Technology.SPARK,
            inputs=datasets,
            outputs=tuple(frames),
            code_version=_code_version(pieces, resolved.inputs, outputs),
            trigger_mode=trigger_mode(running.trigger),
            description=described.description,
            owners=described.all_owners,
            steps=resolved.reads if len(pieces) > 1 else (),
            source="\n\n".join(piece.source for piece in pieces),
            metadata={
                "declared_at": origin.declared_at,
                **({"started_by": started_by.names} if started_by else {}),
                **({"sends": sent} if (sent := _sent_events(outputs)) else {}),
                **({"trigger": running.trigger.model_dump(exclude_none=True)} if running.trigger else {}),
                **({"migration": described.migration} if described.migration else {}),
            },
            sla=run_limits(sla),
        ),
        inputs=inputs,
        outputs=outputs,
        transform=Pipeline(resolved.steps, frames),
        partitions=partitions,
        spark_conf=running.spark,
        engine=running.engine,
        retry=retry_policy(running.retry) if running.retry else None,
        condition=condition(running.trigger, datasets) if running.trigger else None,
        started_by=started_by,
        language="python" if any(piece.language == "python" for piece in pieces) else "sql",
        references=tuple(
            dict.fromkeys([(origin.file, origin.line), *((piece.file, piece.line) for piece in pieces)])
        ),
        own=own,
    )


def _growing(plan: ProcessPlan, declared: Incremental, origin: Origin) -> ProcessPlan:
    """Return the plan of a dataset that grows. How it grows determines its content, as code does."""
    if plan.own is not None:
        raise input_error(
            plan.own,
            origin,
            "`self` and `incremental` cannot be combined",
            "`incremental` adds to the previous version by itself.",
        )
    (output,) = plan.outputs
    grows = incremental_plan(
        declared, plan.inputs, output.record, origin, partitioned=plan.partitions is not None
    )
    return replace(
        plan,
        incremental=grows,
        outputs=(replace(output, record=growing_record(output.record, grows)),),
        record=replace(plan.record, code_version=digest(plan.record.code_version, grows.described)),
    )


def _own(
    inputs: Sequence[InputPlan], output: OutputPlan, running: ExecutionAttributes, origin: Origin
) -> InputPlan | None:
    """Return the input `self`, if it is one. Raises DeclarationError if there is no version before another."""
    item = next((each for each in inputs if each.is_own), None)
    if item is None:
        return None
    if not output.record.columns:
        raise input_error(
            item,
            origin,
            "`self` needs a `schema`",
            "Declare the columns: the first run reads no rows of them.",
        )
    if item.version_tag or item.as_of or item.mapping is not None:
        raise input_error(
            item,
            origin,
            "`self` is the previous version, or the previous partition",
            "Remove `version`, `as_of` and `partitions` of the input.",
        )
    if len([each for each in inputs if each.is_own]) > 1:
        raise input_error(item, origin, "`self` is an input twice", "Remove one of the two.")
    if running.partitions is not None and (
        not isinstance(running.partitions, Time) or running.partitions.ranges
    ):
        raise input_error(
            item,
            origin,
            "`self` is the partition before, which only partitions by time have, computed one by one",
            "Remove `ranges`, or declare partitions by time.",
        )
    return item


def _code_version(pieces: Sequence[Piece], inputs: Sequence[InputPlan], outputs: Sequence[OutputPlan]) -> str:
    """Digest what determines the content: code, inputs, schema and format; not descriptions, owners or SLA."""
    return digest(
        *((piece.step, piece.digest) for piece in pieces),
        *((item.dataset, item.alias, item.version_tag, item.as_of, item.mapping) for item in inputs),
        *((output.record.key, output.record.format, sorted(output.options.items())) for output in outputs),
        *(
            (column.name, column.type, column.nullable)
            for output in outputs
            for column in output.record.columns
        ),
    )


def _added_partitions(product: Product, record: DatasetRecord, part: Origin) -> dict[str, str]:
    names, hidden = {column.name for column in record.columns}, sensitive(record.columns)
    for name, column in product.adds_partitions.items():
        if column in hidden:
            raise part.error(
                ("adds_partitions", name),
                f"the column {column} is sensitive, and partition keys are shown to everyone",
                "Use a column without values to protect, such as a surrogate key.",
            )
        if names and column not in names:
            raise part.error(
                ("adds_partitions", name),
                f"no column {column!r}",
                f"The schema has: {', '.join(sorted(names))}.",
            )
    return product.adds_partitions


def _final_piece(computed: ComputationAttributes, origin: Origin, name: str) -> Piece | None:
    if computed.sql is not None and computed.python is not None:
        raise origin.error(
            ("python",), "`sql` and `python` cannot be combined", "Keep one; the other can be one of `steps`."
        )
    if computed.sql is not None:
        return sql_piece(origin, name, ("sql",), computed.sql)
    if computed.python is not None:
        return python_piece(origin, name, ("python",), computed.python)
    return None


def _steps(running: ExecutionAttributes, origin: Origin) -> list[Piece]:
    names = Counter(step.name for step in running.steps)
    for index, step in enumerate(running.steps):
        if names[step.name] > 1:
            raise origin.error(
                ("steps", index, "name"), f"two steps are named {step.name!r}", "Rename one of them."
            )
    return [step_piece(origin, index, step) for index, step in enumerate(running.steps)]


def _partitions(partitions: Partitions | None, origin: Origin) -> PartitionPlan | None:
    if partitions is None:
        return None
    try:
        return partition_plan(partitions)
    except PartitionProblem as problem:
        raise origin.error(("partitions", *problem.field.split(".")), str(problem)) from problem


def _output(
    product: Product,
    described: DescriptiveAttributes,
    running: ExecutionAttributes,
    part: Origin,
    origin: Origin,
    inputs: Sequence[InputPlan],
) -> OutputPlan:
    key_column = partition_column(running.partitions) if running.partitions else None
    extract = product.extract
    if extract is not None and (PARTITION in extract.location) != (running.partitions is not None):
        raise part.error(
            ("extract", "location"),
            f"{PARTITION} belongs in it if, and only if, the dataset has partitions",
            "Give the folder of one partition's extracts.",
        )
    store, (format, written_as) = product.output.store, product.output.written_as
    kept = {
        "warehouse": product.output.base_uri(product.key),
        "store": store if store != FILES_STORE else None,
        "keep": product.keep and product.keep.model_dump(exclude_none=True),
        "extract": extract and extract.model_dump(),
        "profile": product.profile,
    }
    record = dataset_record(
        product,
        described,
        part,
        format=format,
        partitions=running.partitions,
        rules=product.checks,
        key_columns=key_column.names if key_column else (),
        metadata={name: value for name, value in kept.items() if value},
    )
    for column in key_column.names if key_column and record.columns else ():
        if column not in {known.name for known in record.columns}:
            raise origin.error(
                ("partitions", "column"),
                f"{column!r} is not among the columns of {product.key}",
                f"The schema has: {', '.join(known.name for known in record.columns)}.",
            )
    if running.partitions and Capability.PARTITION_OVERWRITE not in STORES.get(store).capabilities:
        raise part.error(
            ("output", "store"),
            f"the store {store!r} cannot replace one partition without the others",
            "Choose another `store`, or remove `partitions`.",
        )
    for each in () if written_as.has_nested else record.columns:
        if each.type.startswith(("array<", "map<", "struct<")):
            raise part.error(
                ("schema", "columns", each.name),
                f"{format.upper()} cannot store {each.type}",
                "Choose another `format`, or write the column as text with to_json.",
            )
    _compared_inputs_exist(product, inputs, record, part)
    for index, one in enumerate(product.notify):
        if one.names_partition and running.partitions is None:
            raise part.error(
                ("notify", index),
                f"it uses {{partition}}, but {product.key} has no partitions",
                "Add {version} to distinguish them.",
            )
    return OutputPlan(
        record=record,
        options=product.output.options,
        location=product.output.base_uri(product.key),
        store=store,
        allow_breaking=product.allow_breaking_schema_change,
        freshness=_freshness(product, part),
        notices=tuple(one.notice for one in product.notify),
        adds_partitions=_added_partitions(product, record, part),
        extract=ExtractPlan(**extract.model_dump()) if extract is not None else None,
        lineage=stated_lineage(product.lineage, inputs, [each.name for each in record.columns], part),
    )


def _compared_inputs_exist(
    product: Product, inputs: Sequence[InputPlan], record: DatasetRecord, part: Origin
) -> None:
    """Raise for a check that compares with something else than an input, or with columns that the schema lacks."""
    aliases = [item.alias for item in inputs if not item.is_own]
    known = [column.name for column in record.columns]
    for index, check in enumerate(product.checks):
        compared = check.references.to if check.references else check.reconcile and check.reconcile.input
        if compared is not None and compared not in aliases:
            raise part.error(
                ("checks", index, check.rule),
                f"no input is named {compared!r}",
                f"The inputs are: {', '.join(aliases) or 'none'}.",
            )
        for column in check.references.columns if check.references and known else ():
            if column not in known:
                raise part.error(
                    ("checks", index, "references"),
                    f"{column!r} is not among the columns of the schema",
                    f"The schema has: {', '.join(sorted(known))}.",
                )


def _no_run_limits(keyed: DatasetAttributes, origin: Origin) -> None:
    """Raise for an SLA on run times of a dataset without its own runs."""
    for name in RunLimits.model_fields:
        if keyed.sla is not None and getattr(keyed.sla, name) is not None:
            raise origin.error(
                ("sla", name),
                f"`{name}` is about a run, not about a dataset",
                "Write it below the process's `sla`.",
            )


def _freshness(keyed: DatasetAttributes, origin: Origin) -> FreshnessPolicy | None:
    if keyed.sla is None:
        return None
    try:
        return freshness_policy(keyed.sla)
    except SlaProblem as problem:
        raise origin.error(("sla", problem.field), str(problem), "Shorten it.") from problem
