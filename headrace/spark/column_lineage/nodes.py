"""Trace each type of plan node from the nodes below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from headrace.catalog.column_lineage import Subtype
from headrace.spark.column_lineage.expressions import Environment
from headrace.spark.column_lineage.frames import Frame, Scope
from headrace.spark.column_lineage.generators import generated, is_reference
from headrace.spark.column_lineage.values import (
    NOTHING,
    Doubt,
    Node,
    Value,
    column,
    depending,
    merged,
    reported,
    rows,
    through,
)

if TYPE_CHECKING:
    from headrace.spark.column_lineage.plan import Plan

_MAX_ROUNDS = 20  # rounds of a recursion; each can only add sources, and most add none after the second


def _input(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    return _table(plan, node, plan.inputs[node["i"]])


def _relation(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    if node["n"].startswith("("):
        return _database_query(node)
    return _table(plan, node, node["n"])


def _database_query(node: Node) -> Frame:
    """Trace a query that a database runs for a JDBC source: its tables are known, and not their columns."""
    try:
        found = parse_one(f"SELECT * FROM {node['n']}").find_all(exp.Table)  # noqa: S608 - is not run
        tables = frozenset(".".join(part.name for part in each.parts) for each in found)
    except SqlglotError:
        tables = frozenset()
    doubt = Doubt(
        "a query that the database runs: the plan does not show what its columns are derived from", 0.2
    )
    return Frame(dict.fromkeys(node["o"], rows(tables, False, doubt)), tables)


def _table(plan: Plan, node: Node, name: str) -> Frame:
    values = {
        each: column(name, plan.names[str(each)], structured=each in plan.structured) for each in node["o"]
    }
    return Frame(values, frozenset({name}))


def _project(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    return Frame(plan.expressions(node, frame, scope).named(node["p"]), frame.below)


def _aggregate(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    expressions = plan.expressions(node, frame, scope)
    scope.depend(map(expressions.value, node["g"]), Subtype.GROUP_BY, node["s"])
    return Frame(expressions.named(node["p"]), frame.below)


def _filter(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    return _rows(plan, node, frame, scope, Subtype.FILTER)


def _sort(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    return _rows(plan, node, frame, scope, Subtype.SORT)


def _rows(plan: Plan, node: Node, frame: Frame, scope: Scope, how: Subtype) -> Frame:
    expressions = plan.expressions(node, frame, scope)
    scope.depend(map(expressions.value, node["p"]), how, node["s"])
    return frame


def _join(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    expressions = plan.expressions(node, frame, scope)
    condition = [expressions.value(each) for each in node["p"]]
    scope.depend(condition, Subtype.JOIN, node["s"])
    added = {
        each: through(merged(condition), Subtype.JOIN)
        for each in node.get("o", ())
        if each not in frame.values
    }
    return Frame({**frame.values, **added}, frame.below) if added else frame


def _lateral(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    _, number, output = _lateral_subquery(node)
    inner, of = plan.scope(number, {**scope.outer, **frame.values})
    scope.include(of)
    joined = Frame(
        {**frame.values, **{each: inner.values[each] for each in output}}, frame.below | inner.below
    )
    return _rows(plan, node, joined, scope, Subtype.JOIN)


def _lateral_subquery(node: Node) -> tuple[str, int, Sequence[int]]:
    _, name, number, output = node["e"][node["q"]]
    return name, number, output


def _window(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    added = plan.expressions(node, frame, scope).named(node["p"])
    return Frame({**frame.values, **added}, frame.below)


def _generate(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    expressions = plan.expressions(node, frame, scope)
    names = [plan.names[str(each)] for each in node["g"]]
    reference = node["p"][0]
    made, steady = generated(expressions, reference, names)
    values = dict(frame.values)
    for attribute, value in zip(node["g"], made, strict=True):
        values[attribute] = reported(value, node["s"])
    if not steady:
        depends = merged(
            expressions.value(each) for each in expressions.head(reference)[1] if is_reference(each)
        )
        scope.depend([depends], Subtype.JOIN, node["s"], multiplying=True)
    return Frame(values, frame.below)


def _expand(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    expressions = plan.expressions(node, frame, scope)
    values = {
        attribute: merged((expressions.value(row[place]) for row in node["r"]), keep=True)
        for place, attribute in enumerate(node["o"])
    }
    return Frame(values, frame.below)


def _union(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    values: Environment = {}
    for place, attribute in enumerate(node["o"]):
        branches = [one.values[output[place]] for one, output in zip(under, node["b"], strict=True)]
        if "u" in node:
            named = [
                reported(value, sql[place], plain=True)
                for value, sql in zip(branches[1:], node["u"], strict=True)
            ]
            branches = [branches[0], *named]
        values[attribute] = merged(branches, keep=True)
    return Frame(values, frame.below)


def _positions(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    """Trace a node that passes on its only child's columns, possibly under new ids."""
    return Frame(
        {own: frame.values[child] for own, child in zip(node["o"], node["b"][0], strict=True)},
        frame.below,
    )


def _distinct(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    scope.depend([frame.values[each] for each in node["o"]], Subtype.GROUP_BY, node["s"])
    return frame


def _deduplicate(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    return _rows(plan, node, frame, scope, Subtype.GROUP_BY)


def _compared(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    """Trace INTERSECT and EXCEPT: rows of the left side, depending on the right side."""
    for one, output in zip(under, node["b"], strict=True):
        scope.depend([one.values[each] for each in output], Subtype.JOIN, node["c"].upper())
    left = under[0].values
    return Frame({own: left[child] for own, child in zip(node["o"], node["b"][0], strict=True)}, frame.below)


def _with(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    return under[-1]


def _referred(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    definition = plan.definitions[node["d"]]
    number = definition["x"]
    if number not in plan.read:
        plan.read[number] = plan.scope(number, scope.outer)
    frame, of = plan.read[number]
    scope.include(of)
    # By position: the definition may have the same attribute twice (SELECT a, *), under one id.
    return Frame(
        {own: frame.values[each] for own, each in zip(node["o"], definition["o"], strict=True)}, frame.below
    )


def _definition(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    return Frame({each: frame.values[each] for each in node["o"]}, frame.below)


def _loop(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    """Trace a recursion: repeat until it adds nothing new."""
    anchor, recursion = node["b"]
    start = [under[0].values[each] for each in anchor]
    values, below = start, under[0].below
    number = plan.nodes[node["k"][1]]["x"]
    for _ in range(_MAX_ROUNDS):
        plan.loops[node["d"]] = Frame(dict(enumerate(values)), below)
        found, of = plan.scope(number, scope.outer)
        scope.include(of)
        more = [merged([before, found.values[each]]) for before, each in zip(values, recursion, strict=True)]
        below |= found.below
        if [one.sources for one in more] == [one.sources for one in values]:
            break
        values = more
    return Frame(dict(zip(node["o"], values, strict=True)), below)


def _again(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    known = plan.loops[node["d"]]
    return Frame(dict(zip(node["o"], known.values.values(), strict=True)), known.below)


def _literal(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    if node.get("w", True):
        return Frame(dict.fromkeys(node["o"], NOTHING))
    return _made(plan, node, "rows created by the program")


def _rdd(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    return _made(plan, node, "an RDD or a checkpoint: what was before it is not in the plan")


def _made(plan: Plan, node: Node, reason: str) -> Frame:
    value = rows(plan.inputs, False, Doubt(reason, 0.2))
    return Frame(dict.fromkeys(node["o"], value), frozenset(plan.inputs))


def _merge(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    """Trace MERGE and UPDATE: a column of the table keeps its value, or is set by an action."""
    expressions = plan.expressions(node, frame, scope)
    scope.depend(map(expressions.value, node.get("p", ())), Subtype.JOIN, node["s"])
    values = dict(frame.values)
    for conditions, *pairs in node["r"]:
        depends = through(merged(map(expressions.value, conditions)), Subtype.CONDITIONAL)
        if not pairs:
            scope.depend([depends], Subtype.FILTER, node["s"])
        for key, value, sql in pairs:
            set_to = reported(expressions.value(value), sql, plain=value is None or value < 0)
            if key is not None and key < 0:
                values[-1 - key] = merged([values[-1 - key], set_to, reported(depends, node["s"])])
    return Frame(values, frame.below)


def _delete(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    return _rows(plan, node, frame, scope, Subtype.FILTER)


def _merged_rows(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    """Trace MERGE as executed by Spark: each column is computed by one of the instructions, by its condition."""
    expressions = plan.expressions(node, frame, scope)
    ways: list[list[Value]] = [[] for _ in node["o"]]
    for copies, (condition, when), *made in node["r"]:
        depends = reported(through(expressions.value(condition), Subtype.CONDITIONAL), when)
        if not made:
            scope.depend([depends], Subtype.FILTER, when)
        for row in made:
            for place, (reference, sql) in enumerate(row):
                value = reported(expressions.value(reference), sql, plain=reference is None or reference < 0)
                ways[place].append(value if copies else depending(value, depends, Subtype.CONDITIONAL))
    values = {attribute: merged(each, keep=True) for attribute, each in zip(node["o"], ways, strict=True)}
    return Frame(values, frame.below)


def _written(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    """Trace UPDATE, DELETE and MERGE as executed by Spark: rewritten files, or new rows added to kept ones."""
    query, *stays = under
    values: Environment = {}
    for own, before, now in zip(node["o"], node["b"], node["r"], strict=True):
        ways = [each.values[before] for each in stays]
        values[own] = merged(ways if now is None else [*ways, query.values[now]], keep=True)
    return Frame(values, frame.below)


def _numbered(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    """Trace row numbers, which do not depend on columns."""
    return Frame({each: frame.values.get(each, NOTHING) for each in node["o"]}, frame.below)


def other(plan: Plan, node: Node, frame: Frame, under: list[Frame], scope: Scope) -> Frame:
    """Trace any other node: columns passed through are known, new ones are unknown."""
    output = node.get("o", ())
    what = f"the function {node['n']} ({node['c']})" if node.get("n") else node["c"]
    if not under:
        return _made(plan, node, f"{what}: where its rows come from is not in the plan")
    if node["c"] in _PASSING or all(each in frame.values for each in output):
        if node["c"] in _UNSEEN:
            scope.notes[f"which rows there are depends on {what}"] = None
        return frame
    doubt = Doubt(f"{what}: the plan does not show how its result depends on its rows", 0.2)
    made = rows(frame.below, False, doubt)
    scope.notes[f"which rows there are depends on {what}"] = None
    return Frame({each: frame.values.get(each, made) for each in output}, frame.below)


# Nodes that pass on their only child's rows, or some of them, unchanged.
_PASSING = frozenset(
    {"SubqueryAlias", "GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample", "ResolvedHint"}
)
_UNSEEN = frozenset({"TypedFilter"})

READERS: dict[str, Any] = {
    "Aggregate": _aggregate,
    "AsOfJoin": _join,
    "AttachDistributedSequence": _numbered,
    "CTERelationDef": _definition,
    "CTERelationRef": _referred,
    "DataSourceV2Relation": _relation,
    "Deduplicate": _deduplicate,
    "DeduplicateWithinWatermark": _deduplicate,
    "DeleteFromTable": _delete,
    "Distinct": _distinct,
    "Except": _compared,
    "Expand": _expand,
    "ExternalRDD": _rdd,
    "Filter": _filter,
    "Generate": _generate,
    "HiveTableRelation": _relation,
    "InMemoryRelation": _positions,
    "Input": _input,
    "Intersect": _compared,
    "Join": _join,
    "LateralJoin": _lateral,
    "LocalRelation": _literal,
    "LogicalRDD": _rdd,
    "LogicalRelation": _relation,
    "MergeIntoTable": _merge,
    "MergeRows": _merged_rows,
    "OneRowRelation": _literal,
    "Project": _project,
    "Range": _literal,
    "ReplaceData": _written,
    "Sort": _sort,
    "StreamingRelation": _relation,
    "Union": _union,
    "UnionLoop": _loop,
    "UnionLoopRef": _again,
    "UpdateTable": _merge,
    "View": _positions,
    "Window": _window,
    "WriteDelta": _written,
    "WithCTE": _with,
}
