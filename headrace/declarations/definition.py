"""Build Dagster definitions from plans: one multi-asset per process, one external asset per external dataset."""

# No postponed annotations here: Dagster inspects the type of `context`.
from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import dagster as dg

from headrace.catalog.records import Check, DatasetRecord
from headrace.declarations.partitions import joint_mapping
from headrace.execution.metadata import column_schema
from headrace.execution.plan import ExternalPlan, OutputPlan, ProcessPlan
from headrace.severity import Severity

Body = Callable[[dg.AssetExecutionContext], Iterator[Any]]


def process_assets(plan: ProcessPlan) -> dg.AssetsDefinition:
    """Build the assets of a process; running them calls `headrace.execution.materialization.materialize`."""
    mappings: dict[str, list[dg.PartitionMapping | None]] = {}
    for item in plan.inputs:
        mappings.setdefault(item.dataset, []).append(item.mapping)
    deps = [
        dg.AssetDep(dg.AssetKey(dataset.split("/")), partition_mapping=joint_mapping(read))
        for dataset, read in mappings.items()
    ]
    if plan.own is not None and plan.partitions is not None:
        before = dg.TimeWindowPartitionMapping(start_offset=-1, end_offset=-1)
        deps.append(dg.AssetDep(plan.outputs[0].key, partition_mapping=before))
    return dg.multi_asset(
        name=plan.record.key.replace("/", "__"),
        specs=[_spec(plan, output, deps) for output in plan.outputs],
        check_specs=[
            _check_spec(plan, output, check) for output in plan.outputs for check in output.record.checks
        ],
        required_resource_keys={plan.engine},
        retry_policy=plan.retry,
        backfill_policy=_backfill_policy(plan),
        op_tags={f"headrace/spark/{name}": value for name, value in plan.spark_conf.items()},
    )(_body(plan))


def plan_of(assets: dg.AssetsDefinition) -> ProcessPlan | None:
    """Return the plan from which `process_assets` created these assets, or None for other assets."""
    function = (
        getattr(getattr(assets.node_def, "compute_fn", None), "decorated_fn", None)
        if assets.is_executable
        else None
    )
    return getattr(function, "plan", None)


def external_asset(plan: ExternalPlan, producers: Sequence[dg.AssetKey] = ()) -> dg.AssetSpec:
    """Build the external asset of a dataset written by another system, downstream of its producers."""
    record = plan.record
    return dg.AssetSpec(
        key=dg.AssetKey(record.key.split("/")),
        deps=producers,
        description=record.description,
        metadata=_metadata(record, plan.references),
        owners=record.owners,
        tags=record.tags,
        kinds={record.format},
        group_name=record.key.split("/")[0],
        partitions_def=plan.partitions,
        freshness_policy=plan.freshness,
    )


def _body(plan: ProcessPlan) -> Body:
    def run(context: dg.AssetExecutionContext) -> Iterator[Any]:
        # Imported here, because loading must not import Spark.
        from headrace.execution.materialization import materialize

        yield from materialize(context, plan, getattr(context.resources, plan.engine))

    run.plan = plan  # type: ignore[attr-defined]
    # Dagster requests it sixteen times per process.
    run.__signature__ = _SIGNATURE  # type: ignore[attr-defined]
    return run


def _signature(context: dg.AssetExecutionContext) -> None:
    """Return the signature that Dagster sees of a process's function."""


_SIGNATURE = signature(_signature)


def _spec(plan: ProcessPlan, output: OutputPlan, deps: Sequence[dg.AssetDep]) -> dg.AssetSpec:
    record = output.record
    return dg.AssetSpec(
        key=dg.AssetKey(record.key.split("/")),
        deps=deps,
        description=record.description,
        metadata={
            **_metadata(record, plan.references),
            **({"started_by": list(plan.started_by.names)} if plan.started_by else {}),
        },
        owners=record.owners,
        tags=record.tags,
        kinds={"spark", plan.language, record.format},
        group_name=record.key.split("/")[0],
        code_version=plan.record.code_version,
        automation_condition=plan.condition,
        freshness_policy=output.freshness,
        partitions_def=plan.partitions.definition if plan.partitions else None,
    )


def _metadata(record: DatasetRecord, references: Sequence[tuple[Path, int]]) -> dict[str, Any]:
    metadata: dict[str, Any] = dict(record.metadata)
    if record.columns:
        metadata["dagster/column_schema"] = column_schema(record.columns)
    if record.declared_at is not None:
        metadata["declared_at"] = record.declared_at
    metadata["dagster/code_references"] = dg.CodeReferencesMetadataValue(
        code_references=[
            dg.LocalFileCodeReference(file_path=str(file), line_number=line) for file, line in references
        ]
    )
    return metadata


def _check_spec(plan: ProcessPlan, output: OutputPlan, check: Check) -> dg.AssetCheckSpec:
    # Dagster takes some milliseconds per result. One result per partition is cheap if partitions are separate runs, and
    # takes longer than the run itself if many are computed at once.
    divided = plan.partitions.definition if plan.partitions and not plan.partitions.ranges else None
    return dg.AssetCheckSpec(
        name=check.name,
        asset=output.key,
        description=check.description or _rule(check),
        blocking=check.severity is Severity.ERROR and not check.quarantine,
        partitions_def=divided,
        metadata={
            "kind": check.kind,
            **({"column": check.column} if check.column else {}),
            **({"quarantine": True} if check.quarantine else {}),
            **({"parameters": dict(check.parameters)} if check.parameters else {}),
        },
    )


def _rule(check: Check) -> str:
    """Describe a check whose author gave no description."""
    parameters = ", ".join(
        f"{name.replace('_', ' ')} {', '.join(map(str, value)) if isinstance(value, list | tuple) else value}"
        for name, value in check.parameters.items()
        if value != [check.column]
    )
    column = f"{check.column}: " if check.column else ""
    return f"{column}{check.kind.replace('_', ' ')}{f' ({parameters})' if parameters else ''}"


def _backfill_policy(plan: ProcessPlan) -> dg.BackfillPolicy | None:
    if plan.partitions is None:
        return None
    return dg.BackfillPolicy.single_run() if plan.partitions.ranges else dg.BackfillPolicy.multi_run(1)
