"""Column lineage of a query from its sqlglot tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope

from headrace.catalog.column_lineage import Subtype
from headrace.spark.column_lineage.values import (
    NOTHING,
    Doubt,
    Key,
    Value,
    add,
    depending,
    field_of,
    merged,
    multiplied_by,
    reported,
    rows,
    through,
)

Columns = dict[str, Value]


@dataclass(frozen=True, slots=True)
class QueryColumns:
    """Output of a query: its columns in order, and what all of its rows depend on."""

    columns: Columns
    whole: Mapping[Key, bool]
    below: frozenset[str]


class UnknownColumns(Columns):
    """The columns of a table with unknown columns: every name has the same lineage."""

    def __init__(self, value: Value) -> None:
        self._value = value
        super().__init__()

    def get(self, key: str, default: object = None) -> Value:
        """Return the same lineage for every name."""
        return self._value


NO_COLUMNS = QueryColumns({}, {}, frozenset())
_NOT_YET = QueryColumns(UnknownColumns(NOTHING), {}, frozenset())


def is_generated(name: str) -> bool:
    """Return True for the name that sqlglot or this module gives to a column without one; Spark's is another."""
    return re.fullmatch(r"(_col)?_\d+", name) is not None


class Query:
    """A query with its subqueries. tables: the meaning of each table in it. inputs: all of its possible inputs."""

    def __init__(self, tables: Mapping[str, QueryColumns]) -> None:
        self.tables = tables
        self.inputs: frozenset[str] = frozenset().union(*(made.below for made in tables.values()))
        self._recursions: dict[exp.Expr, QueryColumns] = {}  # the known output columns, by start position

    def made(self, scope: Scope, outer: Mapping[str, Columns]) -> QueryColumns:
        """Return the output of the scope; outer: the tables around a correlated subquery."""
        if scope.set_operation_scopes:
            return self._set_operation(scope, outer)
        if not scope.sources and scope.expression.find(exp.From):  # so that a recursion sees itself
            return self._recursions.setdefault(scope.expression, _NOT_YET)
        return _Select(self, scope, outer).made()

    def unknown(self, reason: str) -> QueryColumns:
        """Return the output of a part of the query that is not read: any column may come from any input."""
        return QueryColumns(
            UnknownColumns(rows(self.inputs, False, Doubt(reason, 0.2))),
            through(rows(self.inputs, True), Subtype.JOIN).sources,
            self.inputs,
        )

    def _set_operation(self, scope: Scope, outer: Mapping[str, Columns]) -> QueryColumns:
        left, right = (self.made(each, outer) for each in scope.set_operation_scopes)
        whole = dict(left.whole)
        add(whole, right.whole)
        below = left.below | right.below
        if not isinstance(scope.expression, exp.Union):
            for value in [*left.columns.values(), *right.columns.values()]:
                add(whole, through(value, Subtype.JOIN).sources)
            return QueryColumns(left.columns, whole, below)
        if len(left.columns) == len(right.columns):
            pairs = zip(left.columns.items(), right.columns.values(), strict=True)
            both = {name: merged([one, other], keep=True) for (name, one), other in pairs}
        else:
            doubt = Doubt("the SQL tree does not show as many columns on both sides of a UNION", 0.2)
            both = dict.fromkeys(left.columns, rows(below, False, doubt))
        start = scope.set_operation_scopes[0].expression
        if self._recursions.get(start) is _NOT_YET:
            self._recursions[start] = QueryColumns(both, {}, below)
            return self._set_operation(scope, outer)
        if scope.expression.args.get("distinct"):
            for value in both.values():
                add(whole, through(value, Subtype.GROUP_BY).sources)
        return QueryColumns(both, whole, below)


class _Select:
    """One SELECT."""

    def __init__(self, query: Query, scope: Scope, outer: Mapping[str, Columns]) -> None:
        self._query = query
        self._scope = scope
        self._tables: dict[str, Columns] = dict(outer)
        self._whole: dict[Key, bool] = {}
        self._below: frozenset[str] = frozenset()
        self._generated: dict[str, Value] = {}
        self._columns: Columns = {}
        self._windows = {each.name: each for each in scope.expression.args.get("windows") or ()}
        for alias, source in scope.sources.items():
            item = scope.selected_sources[alias][0] if alias in scope.selected_sources else source
            if (reason := _unread(item)) is not None:
                found = query.unknown(reason)
            elif not isinstance(source, Scope):
                found = query.tables.get(source.name, NO_COLUMNS)
            elif not isinstance(source.expression, exp.UDTF):
                found = query.made(source, outer)
            elif source.subquery_scopes:  # a lateral subquery, which sees the tables before it
                found = query.made(source.subquery_scopes[0], self._tables)
            else:  # a lateral view, or values
                continue
            self._tables[alias] = found.columns
            if alias in scope.selected_sources:
                add(self._whole, found.whole)
                self._below |= found.below

    def made(self) -> QueryColumns:
        """Return its columns, and what its rows depend on."""
        select = self._scope.expression
        if not isinstance(select, exp.Select):
            raise SqlglotError(f"{type(select).__name__} is not read")
        multiplied: dict[Key, bool] = {}
        for lateral in select.args.get("laterals") or ():
            value = self.value(lateral.this)
            self._generated[lateral.alias] = through(value, Subtype.TRANSFORMATION)
            add(multiplied, self._multiplied(lateral.this, value))
        for join in select.args.get("joins") or ():
            self._depend([join.args.get("on")], Subtype.JOIN)
        for place, each in enumerate(select.selects):
            value = self._column(each)
            self._columns[each.alias_or_name.lower() or f"_{place}"] = value
            add(multiplied, self._multiplied(each.unalias(), value))
        for name, how in _CLAUSES.items():
            clause = select.args.get(name)
            if clause is not None and _is_all(clause):
                self._depend(
                    (each for each in select.selects if name == "order" or not each.find(exp.AggFunc)),
                    how,
                    clause.sql("spark"),
                )
            elif clause is not None:
                self._depend([clause.this] if clause.this else clause.expressions, how, clause.sql("spark"))
        if select.args.get("distinct"):
            for value in self._columns.values():
                add(self._whole, through(value, Subtype.GROUP_BY).sources)
        return QueryColumns(
            {name: multiplied_by(value, multiplied) for name, value in self._columns.items()},
            self._whole,
            self._below,
        )

    def value(self, tree: exp.Expr | None) -> Value:
        """Return the sources of an expression's value."""
        if tree is None:
            return NOTHING
        if isinstance(tree, exp.Alias | exp.Paren):
            return self.value(tree.this)
        if isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)):
            return self._every_column(tree)
        if isinstance(tree, exp.Column):
            return self._reference(tree)
        if isinstance(tree, exp.Dot):
            return field_of(self.value(tree.this), tree.expression.name)
        if isinstance(tree, exp.Subquery | exp.Query | exp.Exists):
            return self._subquery(tree)
        if isinstance(tree, exp.Window):
            # A ranking function has no source for its value, and is not an aggregate of rows.
            has_source = tree.this.find(exp.Column, exp.Star) or isinstance(tree.this, exp.Count)
            function = tree.this if has_source else None
            return depending(self.value(function), self._all(self._window(tree)), Subtype.WINDOW)
        if isinstance(tree, exp.Filter):
            return depending(self.value(tree.this), self.value(tree.expression), Subtype.FILTER)
        if isinstance(tree, exp.ArgMax | exp.ArgMin):
            chosen = through(self.value(tree.this), Subtype.AGGREGATION)
            return depending(chosen, self.value(tree.expression), Subtype.CONDITIONAL)
        if isinstance(tree, exp.DecodeCase):
            tested, *pairs = tree.expressions
            default = pairs[-1:] if len(pairs) % 2 else []
            return self._chosen([tested, *pairs[:-1:2]], [*pairs[1::2], *default])
        if isinstance(tree, exp.Nullif | exp.ArrayFilter):
            return self._chosen([tree.this, tree.expression], [tree.this])
        if isinstance(tree, exp.Case):
            tested = [each.this for each in tree.args["ifs"]]
            given = [*(each.args["true"] for each in tree.args["ifs"]), tree.args.get("default")]
            return self._chosen([tree.this, *tested], given)
        if isinstance(tree, exp.If):
            return self._chosen([tree.this], [tree.args.get("true"), tree.args.get("false")])
        if isinstance(tree, exp.Coalesce):
            each = [tree.this, *tree.expressions]
            return self._chosen(each, each)
        if isinstance(tree, exp.Anonymous) and tree.name.upper() == "IDENTIFIER":
            return rows(
                self._query.inputs, False, Doubt(f"the SQL tree does not resolve {tree.sql('spark')}", 0.2)
            )
        counts_rows = isinstance(tree, exp.Count) and isinstance(tree.this, exp.Star)
        inner = NOTHING if counts_rows else self._all(tree.iter_expressions())
        masking = isinstance(tree, _MASKING)
        if isinstance(tree, exp.AggFunc):
            if not inner.sources and not inner.doubt:
                return rows(self._below, True)  # without a column in it, nothing but the number of rows
            return through(inner, Subtype.AGGREGATION, masking)
        return through(inner, Subtype.TRANSFORMATION, masking)

    def _column(self, tree: exp.Expr) -> Value:
        bare = tree.this if isinstance(tree, exp.Alias) else tree
        plain = isinstance(bare, exp.Column) and bare.name == tree.alias_or_name
        return reported(
            self.value(tree), "" if plain else tree.sql("spark"), plain=isinstance(bare, exp.Column)
        )

    def _reference(self, tree: exp.Column) -> Value:
        table = self._tables.get(tree.table)
        found = table.get(tree.name.lower()) if table is not None else self._generated.get(tree.table)
        if found is None and not tree.table:
            found = self._columns.get(tree.name.lower())
        if found is None and not tree.table and len(self._generated) == 1:
            found = next(iter(self._generated.values()))
        if found is None:
            return rows(
                self._query.inputs,
                False,
                Doubt(f"the SQL tree does not determine the table of column {tree.sql('spark')}", 0.2),
            )
        return found

    def _every_column(self, star: exp.Expr) -> Value:
        """Return what `*` or `t.*` in a function stands for."""
        bare = star.this if isinstance(star, exp.Column) else star
        without = {each.name.lower() for each in bare.args.get("except_") or ()}
        tables = [star.table] if isinstance(star, exp.Column) else list(self._scope.selected_sources)
        found: list[Value] = [] if isinstance(star, exp.Column) else list(self._generated.values())
        for table in tables:
            columns = self._tables.get(table, {})
            if isinstance(columns, UnknownColumns):
                found.append(columns.get(""))
            found += [value for name, value in columns.items() if name not in without]
        return merged(found)

    def _window(self, window: exp.Expr) -> list[exp.Expr]:
        """Return the columns of a window and of the named one that it is, or extends."""
        order = window.args.get("order")
        named = self._windows.get(window.alias)
        return [
            *(window.args.get("partition_by") or ()),
            *(order.expressions if order else ()),
            *(self._window(named) if named is not None else ()),
        ]

    def _multiplied(self, tree: exp.Expr, value: Value) -> Mapping[Key, bool]:
        """Return what the number of rows per input row depends on; nothing unless the tree is a generator."""
        generator = tree.this if isinstance(tree, exp.Aliases) else tree
        if not isinstance(generator, exp.Explode | exp.Inline) and not isinstance(tree.parent, exp.Lateral):
            return {}
        if isinstance(generator.this, exp.Array | exp.Map | exp.VarMap):
            return {}  # the same number for each
        return reported(through(value, Subtype.JOIN), generator.sql("spark")).sources

    def _subquery(self, tree: exp.Expr) -> Value:
        query = tree.unnest() if isinstance(tree, exp.Subquery) else tree
        query = query.this if isinstance(query, exp.Exists) else query
        scope = next((each for each in self._scope.subquery_scopes if each.expression is query), None)
        if scope is None:
            return rows(self._query.inputs, False, Doubt("an unsupported subquery", 0.2))
        made = self._query.made(scope, self._tables)
        depends = Value(dict(made.whole))
        if isinstance(tree, exp.Exists):
            return through(depends if depends.sources else rows(made.below, True), Subtype.FILTER)
        chosen = merged(made.columns.values())
        found: dict[Key, bool] = dict(chosen.sources)
        add(found, depends.sources)
        return Value(found, chosen.doubt)

    def _chosen(self, tested: Iterable[exp.Expr | None], given: Iterable[exp.Expr | None]) -> Value:
        value = through(self._all(given), Subtype.TRANSFORMATION)
        return depending(value, self._all(tested), Subtype.CONDITIONAL)

    def _all(self, trees: Iterable[exp.Expr | None]) -> Value:
        return merged(self.value(each) for each in trees)

    def _depend(self, trees: Iterable[exp.Expr | None], how: Subtype, sql: str = "") -> None:
        for tree in trees:
            value = reported(through(self.value(tree), how), sql or (tree.sql("spark") if tree else ""))
            add(self._whole, value.sources)


def _unread(item: exp.Expr | Scope) -> str | None:
    """Return why the columns of an item of FROM are unknown, or None."""
    if isinstance(item, Scope):
        item = item.expression
    derived = item.parent
    if item.args.get("pivots") or (isinstance(derived, exp.Subquery) and derived.args.get("pivots")):
        return "the SQL tree does not show the columns of a PIVOT or UNPIVOT"
    is_function = isinstance(item, exp.Table) and isinstance(item.this, exp.Func)
    is_lateral = isinstance(item, exp.Lateral) and not item.args.get("view")
    if is_function or (is_lateral and not isinstance(item.this, exp.Subquery)):
        return f"the SQL tree does not show the columns of the table function {item.this.sql('spark')}"
    return None


def _is_all(clause: exp.Expr) -> bool:
    """Return True for GROUP BY ALL and ORDER BY ALL."""
    ordered = clause.expressions[0].this if isinstance(clause, exp.Order) else None
    return bool(clause.args.get("all")) or (isinstance(ordered, exp.Var) and ordered.name.upper() == "ALL")


_CLAUSES = {
    "where": Subtype.FILTER,
    "group": Subtype.GROUP_BY,
    "having": Subtype.FILTER,
    "qualify": Subtype.FILTER,
    "order": Subtype.SORT,
}
_MASKING = (exp.MD5, exp.SHA, exp.SHA2, exp.Count, exp.CountIf)
