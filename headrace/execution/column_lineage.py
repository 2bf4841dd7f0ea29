"""Column lineage of a run's outputs: from Spark's plan and, where stated, from the declaration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

from headrace.catalog.column_lineage import WHOLE, ColumnLineage, LineageOfOutput, is_field, parts
from headrace.execution.plan import OutputPlan, ProcessPlan
from headrace.execution.transform import Pipeline, SqlCode
from headrace.spark.column_lineage import SqlStep, lineage_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def output_lineage(
    plan: ProcessPlan, output: OutputPlan, frame: DataFrame, inputs: Mapping[str, DataFrame]
) -> LineageOfOutput:
    """Return the column lineage of an output's frame. inputs: the transform's input frames, by alias."""
    keys = {item.alias: item.dataset for item in (*plan.inputs, *([plan.own] if plan.own else []))}
    read = [(keys[alias], each) for alias, each in inputs.items()]
    found = lineage_of(frame, read, steps=_steps(plan, output, keys)).possible(set(keys.values()))
    return with_stated(found, output)


def stored(found: LineageOfOutput, columns: Sequence[str], added: Sequence[str]) -> LineageOfOutput:
    """Return the lineage of the columns that are stored; those that Headrace has `added` have no sources."""
    kept = [each for each in found.columns if parts(each.column)[0] in columns]
    return LineageOfOutput((*kept, *map(ColumnLineage, added)), found.whole, found.note)


def with_stated(found: LineageOfOutput, output: OutputPlan) -> LineageOfOutput:
    """Replace the found lineage of columns by the declared one."""
    stated = {each.column: each for each in output.lineage}
    kept = [each for each in found.columns if not is_field(each.column)]
    fields = [each for each in found.columns if is_field(each.column) and parts(each.column)[0] not in stated]
    columns = [stated.get(each.column, each) for each in kept]
    return LineageOfOutput((*columns, *fields), found.whole, found.note)


def unmet(found: LineageOfOutput, output: OutputPlan) -> list[str]:
    """Return the columns with declared lineage that the frame lacks."""
    there = {each.column for each in found.columns}
    return [each.column for each in output.lineage if each.column not in there]


def inheriting(lineage: LineageOfOutput, hidden: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the columns that values of hidden input columns flow into, or may. hidden: by dataset."""
    return frozenset(
        flow.target
        for flow in lineage.flows()
        if (names := hidden.get(flow.input)) and (not flow.source or flow.source in names)
    )


def inherited_sources(
    lineage: LineageOfOutput, column: str, sources: Mapping[str, Mapping[str, frozenset[str]]]
) -> frozenset[str]:
    """Return the tagged columns that a column inherits from. sources: those of the inputs' columns, by dataset."""
    return frozenset(
        origin
        for flow in lineage.flows()
        if flow.target == column
        for name, origins in sources.get(flow.input, {}).items()
        if flow.source in (name, WHOLE)
        for origin in origins
    )


def dagster_lineage(lineage: LineageOfOutput, datasets: Sequence[str]) -> dict[str, Any]:
    """Return materialization metadata: the sources of each column, and the numbers of known and all columns.

    datasets: the keys of those that Dagster knows, which are the process's inputs.
    """
    deps = {
        parts(column.column)[0]: [
            dg.TableColumnDep(dg.AssetKey.from_user_string(key), name)
            for key, name in dict.fromkeys(
                (source.input, parts(source.column)[0])
                for source in column.sources
                if source.column and source.input in datasets
            )
        ]
        for column in lineage.columns
        if not is_field(column.column) and column.unknown is None
    }
    known, of = lineage.coverage()
    return {
        "dagster/column_lineage": dg.TableColumnLineage(deps),
        "columns_known": known,
        "columns_known_percent": round(100 * known / of, 1) if of else 100.0,
        **({"columns_unknown": dg.MetadataValue.md(_unknown(lineage))} if known < of else {}),
    }


def _unknown(lineage: LineageOfOutput) -> str:
    return "\n".join(
        f"- `{column.column}`: {column.unknown}" for column in lineage.columns if column.unknown is not None
    )


def _steps(plan: ProcessPlan, output: OutputPlan, keys: Mapping[str, str]) -> list[SqlStep]:
    """Return the SQL code of the output's steps, in order."""
    if not isinstance(plan.transform, Pipeline):
        return []
    last = plan.transform.outputs[output.record.key]
    found = []
    for name, code in plan.transform.steps:
        if isinstance(code, SqlCode):
            tables = {table: keys.get(frame, frame) for table, frame in code.frames.items()}
            found.append(SqlStep(name, code.query.source.text, tables))
        else:
            found.append(SqlStep(name, None, {}))
        if name == last:
            break
    return found
