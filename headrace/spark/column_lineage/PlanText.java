package headrace;

import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionDef;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetArrayStructFields;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.HigherOrderFunction;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.With;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.expressions.PrettyAttribute;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/**
 * An analysed plan as JSON, children before parents, so that it is read in one pass and crosses to Python in one call.
 *
 * A node: {x: scope (a subquery is a scope of its own), c: class, k: children, o: ids of its output, e: expressions,
 * p: its own expressions, g: grouping ones, s: SQL, n: name, r: rows of expressions, i: number of the input it is}.
 * A reference is the place of an expression in e, or -1 - id for an attribute, or null for a literal.
 */
public class PlanText {
  private final IdentityHashMap inputs = new IdentityHashMap();
  private final java.util.ArrayList anonymous = new java.util.ArrayList();
  private final StringBuilder nodes = new StringBuilder();
  private final StringBuilder attributes = new StringBuilder();
  private final StringBuilder structured = new StringBuilder();
  private final HashSet known = new HashSet();
  private final HashMap pulled = new HashMap();  // what the analyser has moved into a node below, by its id there
  private final int maxLength;
  private final int maxSteps;
  private int count = 0;
  private int scopes = 0;
  private int steps = 0;

  public PlanText(int maxLength, int maxSteps) {
    this.maxLength = maxLength;
    this.maxSteps = maxSteps;
  }

  /** Say that a plan is the input of this number: its top node, and the relations that it reads. */
  public void input(LogicalPlan plan, int number) {
    boolean found = false;
    scala.collection.Iterator leaves = plan.collectLeaves().iterator();
    while (leaves.hasNext()) {
      Object relation = relation((LogicalPlan) leaves.next());
      if (relation != null) inputs.put(relation, Integer.valueOf(number));
      found = found || relation != null;
    }
    if (!found) anonymous.add(plan);
    inputs.put(plan, Integer.valueOf(number));
  }

  /** The columns are what the plan gives, or what a command writes. */
  public String of(LogicalPlan plan) {
    if (plan.getClass().getSimpleName().equals("CommandResult")) plan = (LogicalPlan) get(plan, "commandLogicalPlan");
    scala.collection.immutable.Seq output = plan.output();
    scala.collection.Iterable names = null;
    String name = plan.getClass().getSimpleName();
    LogicalPlan query = query(plan);
    if (name.equals("MergeIntoTable") || name.equals("UpdateTable") || name.equals("DeleteFromTable")) {
      output = ((LogicalPlan) plan.children().head()).output();
    } else if (name.equals("ReplaceData") || name.equals("WriteDelta")) {
      output = ((LogicalPlan) get(plan, "table")).output();
    } else if (query != null) {
      output = query.output();
      names = written(plan, name);
      plan = query;
    }
    node(plan, 0);
    StringBuilder ids = new StringBuilder();
    ids(output, ids);
    StringBuilder named = new StringBuilder();
    scala.collection.Iterator each = names == null || names.size() != output.size()
        ? output.iterator() : names.iterator();
    while (each.hasNext()) {
      Object column = each.next();
      if (named.length() > 0) named.append(',');
      quote(named, column instanceof NamedExpression ? ((NamedExpression) column).name() : String.valueOf(column));
    }
    return "{\"nodes\":[" + nodes + "],\"attributes\":{" + attributes + "},\"structured\":[" + structured + "],\"output\":" + ids
        + ",\"names\":[" + named + "]}";
  }

  /** What a command that writes reads: INSERT, CREATE TABLE AS SELECT, CREATE VIEW; null for all else. */
  private static LogicalPlan query(LogicalPlan plan) {
    if (!plan.output().isEmpty()) return null;
    String[] names = {"query", "plan"};
    for (int i = 0; i < names.length; i++) {
      if (has(plan, names[i])) {
        Object query = get(plan, names[i]);
        if (query instanceof LogicalPlan) return (LogicalPlan) query;
      }
    }
    return null;
  }

  /** The names that a command gives to the columns of its query, null where it keeps them. */
  private static scala.collection.Iterable written(LogicalPlan plan, String name) {
    if (name.equals("InsertIntoStatement") || name.equals("AppendData") || name.startsWith("Overwrite")) {
      return ((LogicalPlan) get(plan, "table")).output();
    }
    if (has(plan, "outputColumnNames")) return (scala.collection.Iterable) get(plan, "outputColumnNames");
    if (has(plan, "userSpecifiedColumns")) {
      scala.collection.mutable.ArrayBuffer names = new scala.collection.mutable.ArrayBuffer();
      scala.collection.Iterator pairs = ((scala.collection.Iterable) get(plan, "userSpecifiedColumns")).iterator();
      while (pairs.hasNext()) names.addOne(((scala.Tuple2) pairs.next())._1());
      return names;
    }
    return null;
  }

  /** The object that stays the same when Spark gives a relation's attributes new ids, as in a self-join. */
  private static Object relation(LogicalPlan leaf) {
    String name = leaf.getClass().getSimpleName();
    if (name.equals("LogicalRelation")) return get(leaf, "relation");
    if (name.equals("DataSourceV2Relation")) {
      Object table = get(leaf, "table");
      return table.getClass().getSimpleName().equals("RowLevelOperationTable") ? get(table, "table") : table;
    }
    if (name.equals("LogicalRDD")) return get(leaf, "rdd");
    if (name.equals("LocalRelation")) return get(leaf, "data");
    return null;
  }

  private int node(LogicalPlan plan, int scope) {
    check();
    Object number = inputs.get(plan);
    if (number == null && plan.children().isEmpty()) {
      Object relation = relation(plan);
      if (relation != null) number = inputs.get(relation);
    }
    for (int i = 0; number == null && i < anonymous.size(); i++) {
      LogicalPlan same = (LogicalPlan) anonymous.get(i);
      boolean alike = same.getClass() == plan.getClass() && same.schema().equals(plan.schema());
      if (alike && same.sameResult(plan)) number = inputs.get(same);
    }
    if (number != null) {
      StringBuilder text = open("Input", scope);
      text.append(",\"i\":").append(number);
      return close(text, plan, new Expressions(scope), true);
    }
    String name = plan.getClass().getSimpleName();
    // A definition is read where it is referred to, the part of a recursion as often as it finds something new.
    if (name.equals("CTERelationDef")) scope = ++scopes;
    StringBuilder children = new StringBuilder("[");
    scala.collection.Iterator below = under(plan, name).iterator();
    while (below.hasNext()) {
      boolean recursion = name.equals("UnionLoop") && children.length() > 1;
      if (children.length() > 1) children.append(',');
      children.append(node((LogicalPlan) below.next(), recursion ? ++scopes : scope));
    }
    Expressions expressions = new Expressions(scope);
    StringBuilder text = open(name, scope);
    text.append(",\"k\":").append(children).append(']');
    boolean output = details(plan, name, text, expressions);
    return close(text, plan, expressions, output);
  }

  private scala.collection.immutable.Seq under(LogicalPlan plan, String name) {
    scala.collection.mutable.ArrayBuffer found = new scala.collection.mutable.ArrayBuffer();
    if (name.equals("InMemoryRelation")) {
      found.addOne(get(get(plan, "cacheBuilder"), "logicalPlan"));
      return found.toSeq();
    }
    if (name.equals("WriteDelta")) {  // the changed rows and the unchanged ones
      found.addOne(get(plan, "query"));
      found.addOne(get(plan, "originalTable"));
      return found.toSeq();
    }
    if (plan.children().isEmpty()) {
      // A command's query is an inner child once the command has been chosen.
      scala.collection.Iterator inner = plan.innerChildren().iterator();
      while (inner.hasNext()) {
        Object each = inner.next();
        if (each instanceof LogicalPlan && !name.equals("CTERelationRef")) found.addOne(each);
      }
      return found.toSeq();
    }
    return plan.children();
  }

  /** Writes the fields of a node other than its children. Returns true if its output is written as well. */
  private boolean details(LogicalPlan plan, String name, StringBuilder text, Expressions in) {
    if (name.equals("Project")) {
      scala.collection.Iterable list = (scala.collection.Iterable) get(plan, "projectList");
      refs(text, "p", list, in);
      pulled(list);
      return false;
    }
    if (name.equals("Aggregate")) {
      scala.collection.Iterable grouping = (scala.collection.Iterable) get(plan, "groupingExpressions");
      refs(text, "g", grouping, in);
      string(text, "s", "GROUP BY " + sql(grouping, ", "));
      scala.collection.Iterable list = (scala.collection.Iterable) get(plan, "aggregateExpressions");
      refs(text, "p", list, in);
      pulled(list);
      return false;
    }
    if (name.equals("Filter")) {
      refs(text, "p", plan.expressions(), in);
      string(text, "s", "WHERE " + sql(plan.expressions(), ", "));
      return false;
    }
    if (name.equals("Join") || name.equals("AsOfJoin") || name.equals("LateralJoin")) {
      scala.collection.Iterable conditions = name.equals("AsOfJoin")
          ? plan.expressions()
          : ((scala.Option) get(plan, "condition")).toList();
      refs(text, "p", conditions, in);
      string(text, "s", get(get(plan, "joinType"), "sql") + " JOIN ON " + sql(conditions, ", "));
      if (name.equals("LateralJoin")) {
        text.append(",\"q\":").append(in.add((Expression) get(plan, "right")));
        return true;
      }
      return get(plan, "joinType").getClass().getSimpleName().startsWith("ExistenceJoin");
    }
    if (name.equals("Sort")) {
      refs(text, "p", plan.expressions(), in);
      string(text, "s", "SORT BY " + sql(plan.expressions(), ";"));
      return false;
    }
    if (name.equals("Window")) {
      scala.collection.Iterable list = (scala.collection.Iterable) get(plan, "windowExpressions");
      refs(text, "p", list, in);
      pulled(list);
      return false;
    }
    if (name.equals("Generate")) {
      Expression generator = (Expression) get(plan, "generator");
      text.append(",\"p\":[").append(in.add(generator)).append(']');
      text.append(",\"g\":");
      ids((scala.collection.Iterable) get(plan, "generatorOutput"), text);
      string(text, "s", sql(generator));
      return true;
    }
    if (name.equals("Expand")) {
      text.append(",\"r\":[");
      scala.collection.Iterator rows = ((scala.collection.Iterable) get(plan, "projections")).iterator();
      boolean first = true;
      while (rows.hasNext()) {
        if (!first) text.append(',');
        first = false;
        list(text, (scala.collection.Iterable) rows.next(), in);
      }
      text.append(']');
      return true;
    }
    if (name.equals("Union") || name.equals("Intersect") || name.equals("Except")
        || name.equals("UnionLoop") || name.equals("Distinct") || name.startsWith("Deduplicate")
        || name.equals("View") || name.equals("InMemoryRelation")) {
      text.append(",\"b\":[");
      scala.collection.Iterator below = under(plan, name).iterator();
      boolean first = true;
      while (below.hasNext()) {
        if (!first) text.append(',');
        first = false;
        ids(((LogicalPlan) below.next()).output(), text);
      }
      text.append(']');
      if (name.startsWith("Deduplicate")) refs(text, "p", plan.expressions(), in);
      if (name.startsWith("Deduplicate")) string(text, "s", "GROUP BY " + sql(plan.expressions(), ", "));
      if (name.equals("Distinct")) string(text, "s", "GROUP BY " + sql(distinct(plan), ", "));
      if (name.equals("Union")) branches(plan, text);
      if (name.equals("UnionLoop")) text.append(",\"d\":").append(get(plan, "id"));
      return true;
    }
    if (name.equals("CTERelationDef")) text.append(",\"d\":").append(get(plan, "id"));
    if (name.equals("CTERelationRef")) text.append(",\"d\":").append(get(plan, "cteId"));
    if (name.equals("UnionLoopRef")) text.append(",\"d\":").append(get(plan, "loopId"));
    if (name.equals("LocalRelation")) text.append(",\"w\":").append(plan.origin().sqlText().isDefined());
    if (name.equals("MergeIntoTable") || name.equals("UpdateTable")) {
      return writes(plan, name, text, in);
    }
    if (name.equals("MergeRows")) return merges(plan, text, in);
    if (name.equals("ReplaceData") || name.equals("WriteDelta")) return replaces(plan, text);
    if (name.equals("DeleteFromTable")) string(text, "s", "WHERE " + sql(plan.expressions(), ", "));
    string(text, "n", named(plan, name));
    refs(text, "p", plan.expressions(), in);
    return true;
  }

  private void pulled(scala.collection.Iterable list) {
    scala.collection.Iterator each = list.iterator();
    while (each.hasNext()) {
      Object column = each.next();
      if (!(column instanceof Alias)) continue;
      String name = ((Alias) column).name();
      if (name.matches("_we?[0-9]+") || name.startsWith("__pivot_")) {
        pulled.put(((Alias) column).exprId(), ((Alias) column).child());
      }
    }
  }

  /** What DISTINCT compares, as the SELECT under it has it. */
  private static scala.collection.Iterable distinct(LogicalPlan plan) {
    LogicalPlan child = (LogicalPlan) plan.children().head();
    if (!child.getClass().getSimpleName().equals("Project")) return plan.output();
    scala.collection.mutable.ArrayBuffer compared = new scala.collection.mutable.ArrayBuffer();
    scala.collection.Iterator each = ((scala.collection.Iterable) get(child, "projectList")).iterator();
    while (each.hasNext()) {
      Object column = each.next();
      compared.addOne(column instanceof Alias ? ((Alias) column).child() : column);
    }
    return compared;
  }

  /** How the columns of all branches but the first, whose names are the union's, are called there. */
  private static void branches(LogicalPlan plan, StringBuilder text) {
    text.append(",\"u\":[");
    scala.collection.Iterator below = plan.children().iterator();
    below.next();
    boolean first = true;
    while (below.hasNext()) {
      text.append(first ? "[" : ",[");
      first = false;
      scala.collection.Iterator columns = ((LogicalPlan) below.next()).output().iterator();
      boolean leading = true;
      while (columns.hasNext()) {
        if (!leading) text.append(',');
        leading = false;
        quote(text, ((Expression) columns.next()).sql());
      }
      text.append(']');
    }
    text.append(']');
  }

  /** For each action that sets columns of a table: its condition, and pairs of the column and the value. */
  private boolean writes(LogicalPlan plan, String name, StringBuilder text, Expressions in) {
    text.append(",\"r\":[");
    if (name.equals("UpdateTable")) {
      scala.collection.Iterable condition = ((scala.Option) get(plan, "condition")).toList();
      set(text, condition, (scala.collection.Iterable) get(plan, "assignments"), in);
      text.append(']');
      string(text, "s", "WHERE " + sql(condition, ", "));
      return true;
    }
    String[] kinds = {"matchedActions", "notMatchedActions", "notMatchedBySourceActions"};
    boolean first = true;
    for (int kind = 0; kind < kinds.length; kind++) {
      scala.collection.Iterator actions = ((scala.collection.Iterable) get(plan, kinds[kind])).iterator();
      while (actions.hasNext()) {
        Object action = actions.next();
        boolean sets = !action.getClass().getSimpleName().equals("DeleteAction");
        if (!first) text.append(',');
        first = false;
        set(text, ((scala.Option) get(action, "condition")).toList(),
            sets ? (scala.collection.Iterable) get(action, "assignments") : null, in);
      }
    }
    text.append(']');
    scala.collection.mutable.ArrayBuffer on = new scala.collection.mutable.ArrayBuffer();
    on.addOne(get(plan, "mergeCondition"));
    refs(text, "p", on, in);
    string(text, "s", "MERGE ON " + sql(on, ", "));
    return true;
  }

  /** For each instruction of a MERGE whether it keeps rows as they are, its condition with its SQL, and the rows that it
   *  makes, each value with its SQL. */
  private boolean merges(LogicalPlan plan, StringBuilder text, Expressions in) {
    String[] kinds = {"matchedInstructions", "notMatchedInstructions", "notMatchedBySourceInstructions"};
    text.append(",\"r\":[");
    boolean first = true;
    for (int kind = 0; kind < kinds.length; kind++) {
      scala.collection.Iterator instructions = ((scala.collection.Iterable) get(plan, kinds[kind])).iterator();
      while (instructions.hasNext()) {
        Object each = instructions.next();
        boolean copies = has(each, "context") && get(each, "context").getClass().getSimpleName().startsWith("Copy");
        text.append(first ? "[" : ",[").append(copies).append(',');
        first = false;
        spelt(text, (Expression) get(each, "condition"), in);
        scala.collection.Iterator rows = ((scala.collection.Iterable) get(each, "outputs")).iterator();
        while (rows.hasNext()) {
          text.append(",[");
          scala.collection.Iterator values = ((scala.collection.Iterable) rows.next()).iterator();
          while (values.hasNext()) {
            spelt(text, (Expression) values.next(), in);
            if (values.hasNext()) text.append(',');
          }
          text.append(']');
        }
        text.append(']');
      }
    }
    text.append(']');
    return true;
  }

  private void spelt(StringBuilder text, Expression e, Expressions in) {
    quote(text.append('[').append(in.add(e)).append(','), sql(e));
    text.append(']');
  }

  /** For each column of a table whose rows change one by one, what it was, and what is written, by its name. */
  private boolean replaces(LogicalPlan plan, StringBuilder text) {
    HashMap written = new HashMap();
    scala.collection.Iterator made = ((LogicalPlan) get(plan, "query")).output().iterator();
    while (made.hasNext()) {
      NamedExpression each = (NamedExpression) made.next();
      if (!written.containsKey(each.name())) written.put(each.name(), Long.valueOf(each.exprId().id()));
    }
    scala.collection.immutable.Seq columns = ((LogicalPlan) get(plan, "table")).output();
    ids(columns, text.append(",\"o\":"));
    ids(((LogicalPlan) get(plan, "originalTable")).output(), text.append(",\"b\":"));
    text.append(",\"r\":[");
    scala.collection.Iterator each = columns.iterator();
    while (each.hasNext()) {
      text.append(written.get(((NamedExpression) each.next()).name()));
      if (each.hasNext()) text.append(',');
    }
    text.append(']');
    return false;
  }

  private void set(StringBuilder text, scala.collection.Iterable condition, scala.collection.Iterable pairs,
      Expressions in) {
    text.append('[');
    list(text, condition, in);
    if (pairs != null) {
      scala.collection.Iterator each = pairs.iterator();
      while (each.hasNext()) {
        Object pair = each.next();
        text.append(",[").append(in.add((Expression) get(pair, "key"))).append(',');
        text.append(in.add((Expression) get(pair, "value"))).append(',');
        quote(text, sql((Expression) get(pair, "value")));
        text.append(']');
      }
    }
    text.append(']');
  }

  /** What a person calls a leaf, or the function that a node runs. */
  private static String named(LogicalPlan plan, String name) {
    if (name.equals("LogicalRelation")) {
      scala.Option table = (scala.Option) get(plan, "catalogTable");
      if (table.isDefined()) return unquoted(get(table.get(), "qualifiedName"));
      Object relation = get(plan, "relation");
      if (has(relation, "location")) {
        return directory(((scala.collection.Iterable) get(get(relation, "location"), "rootPaths")).iterator());
      }
      // A JDBC relation's own text has its number of partitions, which is no part of the table's name.
      if (has(relation, "jdbcOptions")) return String.valueOf(get(get(relation, "jdbcOptions"), "tableOrQuery")).trim();
      return String.valueOf(relation);
    }
    if (name.equals("HiveTableRelation")) return unquoted(get(get(plan, "tableMeta"), "qualifiedName"));
    if (name.equals("DataSourceV2Relation")) return String.valueOf(get(plan, "name"));
    String[] functions = {"functionExpr", "function", "func"};
    for (int i = 0; i < functions.length; i++) {
      if (has(plan, functions[i])) {
        Object function = get(plan, functions[i]);
        if (has(function, "name")) return String.valueOf(get(function, "name"));
      }
    }
    return "";
  }

  /** The path, or of several the directory that they are all below. */
  private static String directory(scala.collection.Iterator paths) {
    String all = String.valueOf(paths.next());
    while (paths.hasNext()) {
      String path = paths.next() + "/";
      while (!path.startsWith(all + "/") && all.lastIndexOf('/') > 0) all = all.substring(0, all.lastIndexOf('/'));
    }
    return all;
  }

  private static String unquoted(Object name) {
    return String.valueOf(name).replace("`", "");
  }

  private StringBuilder open(String name, int scope) {
    return new StringBuilder("{\"c\":\"").append(name).append("\",\"x\":").append(scope);
  }

  private int close(StringBuilder text, LogicalPlan plan, Expressions expressions, boolean output) {
    if (output) {
      text.append(",\"o\":");
      ids(plan.output(), text);
    }
    if (expressions.count > 0) text.append(",\"e\":[").append(expressions.text).append(']');
    if (count > 0) nodes.append(',');
    nodes.append(text).append('}');
    if (nodes.length() > maxLength) throw new IllegalStateException("the plan is too large");
    return count++;
  }

  private void refs(StringBuilder text, String key, scala.collection.Iterable expressions, Expressions in) {
    text.append(",\"").append(key).append("\":");
    list(text, expressions, in);
  }

  private void list(StringBuilder text, scala.collection.Iterable expressions, Expressions in) {
    text.append('[');
    scala.collection.Iterator each = expressions.iterator();
    boolean first = true;
    while (each.hasNext()) {
      if (!first) text.append(',');
      first = false;
      text.append(in.add((Expression) each.next()));
    }
    text.append(']');
  }

  private void ids(scala.collection.Iterable output, StringBuilder text) {
    text.append('[');
    scala.collection.Iterator each = output.iterator();
    boolean first = true;
    while (each.hasNext()) {
      if (!first) text.append(',');
      first = false;
      NamedExpression attribute = (NamedExpression) each.next();
      describe(attribute);
      text.append(attribute.exprId().id());
    }
    text.append(']');
  }

  private void describe(NamedExpression attribute) {
    Long id = Long.valueOf(attribute.exprId().id());
    if (!known.add(id)) return;
    if (attributes.length() > 0) attributes.append(',');
    attributes.append('"').append(id).append("\":");
    quote(attributes, attribute.name());
    if (!structured(attribute.toAttribute().dataType())) return;
    if (structured.length() > 0) structured.append(',');
    structured.append(id);
  }

  /** Whether there are fields in it. */
  private static boolean structured(DataType type) {
    if (type instanceof ArrayType) return structured(((ArrayType) type).elementType());
    if (type instanceof MapType) {
      return structured(((MapType) type).keyType()) || structured(((MapType) type).valueType());
    }
    return type instanceof StructType;
  }

  /** Counts a node or an expression. The budget is not one of time: the same plan is read on a busy machine as well. */
  private void check() {
    if (++steps > maxSteps) throw new IllegalStateException("the plan is too large");
  }

  /** The expressions of one node, those that others are made of first. */
  private class Expressions {
    final StringBuilder text = new StringBuilder();
    final HashMap shared = new HashMap();
    final int scope;
    int count = 0;

    Expressions(int scope) {
      this.scope = scope;
    }

    String add(Expression e) {
      check();
      if (e instanceof AttributeReference || e instanceof NamedLambdaVariable) {
        NamedExpression attribute = (NamedExpression) e;
        describe(attribute);
        return String.valueOf(-1 - attribute.exprId().id());
      }
      if (e instanceof Literal) return "null";
      if (e instanceof OuterReference) return add((Expression) ((OuterReference) e).e());
      if (e instanceof Alias) {
        Alias alias = (Alias) e;
        String child = add(alias.child());
        describe(alias);
        StringBuilder made = new StringBuilder("\"Alias\",").append(alias.exprId().id()).append(',');
        boolean same = alias.child() instanceof AttributeReference
            && ((AttributeReference) alias.child()).name().equals(alias.name());
        quote(made, same ? "" : sql(alias));
        return put(made.append(',').append(child));
      }
      if (e instanceof Cast) {
        Cast cast = (Cast) e;
        if (cast.child().dataType().equals(cast.dataType())) return add(cast.child());
        if (cast.dataType() instanceof StructType && cast.child().dataType() instanceof StructType) return fields(cast);
      }
      if (e instanceof With) {
        scala.collection.Iterator definitions = ((With) e).defs().iterator();
        while (definitions.hasNext()) {
          CommonExpressionDef each = (CommonExpressionDef) definitions.next();
          shared.put(each.id(), add(each.child()));
        }
        return add(((With) e).child());
      }
      if (e instanceof CommonExpressionRef) return (String) shared.get(((CommonExpressionRef) e).id());
      if (e instanceof RuntimeReplaceable) {
        String child = add(((RuntimeReplaceable) e).replacement());
        return put(start("Replaced").append(",\"").append(kind(e)).append("\",").append(child));
      }
      if (e instanceof SubqueryExpression) {
        int inner = ++scopes;
        LogicalPlan plan = (LogicalPlan) ((SubqueryExpression) e).plan();
        node(plan, inner);
        StringBuilder made = start("Subquery").append(",\"").append(e.getClass().getSimpleName());
        ids(plan.output(), made.append("\",").append(inner).append(','));
        return put(made);
      }
      if (e instanceof WindowExpression) {
        WindowExpression window = (WindowExpression) e;
        String function = add(window.windowFunction());
        StringBuilder made = start("Over").append(",\"").append(ranking(window.windowFunction()));
        made.append("\",").append(function).append(',');
        list(made, window.windowSpec().partitionSpec(), this);
        made.append(',');
        list(made, window.windowSpec().orderSpec(), this);
        return put(made);
      }
      if (e instanceof AggregateExpression) {
        AggregateExpression aggregate = (AggregateExpression) e;
        String function = add((Expression) aggregate.aggregateFunction());
        StringBuilder made = start("Aggregated").append(',').append(function);
        list(made.append(','), aggregate.filter().toList(), this);
        return put(made);
      }
      if (e instanceof GetStructField) {
        GetStructField field = (GetStructField) e;
        return field(add(field.child()), field.extractFieldName());
      }
      if (e instanceof GetArrayStructFields) {
        GetArrayStructFields field = (GetArrayStructFields) e;
        return field(add(field.child()), field.field().name());
      }
      if (e instanceof CreateNamedStruct) {
        CreateNamedStruct struct = (CreateNamedStruct) e;
        StringBuilder made = start("Struct").append(',');
        names(made, struct.names());
        list(made.append(','), struct.valExprs(), this);
        return put(made);
      }
      if (e instanceof CaseWhen) return choice((CaseWhen) e);
      if (e instanceof HigherOrderFunction) return lambda((HigherOrderFunction) e);
      String name = e.getClass().getSimpleName();
      if (name.equals("If") && Literal.TrueLiteral().equals(e.children().head())) {
        return add((Expression) e.children().apply(1));
      }
      if (name.equals("UpdateFields")) return update(e);
      if (name.equals("VariableReference")) {
        StringBuilder made = start("Variable");
        quote(made.append(','), variable(e));
        return put(made);
      }
      if (name.equals("ArraysZip")) {
        StringBuilder made = start("Zip").append(',');
        names(made, (scala.collection.Iterable) get(e, "names"));
        return put(rest(made, e.children()));
      }
      if (name.startsWith("Python") || name.startsWith("Scala") || name.startsWith("HiveSimple")
          || name.startsWith("HiveGeneric") || name.startsWith("HiveUDAF") || name.endsWith("PythonUDTF")
          || name.equals("ApplyFunctionExpression") || name.equals("V2Aggregator")) {
        StringBuilder made = start("Function");
        quote(made.append(','), name.startsWith("Python") ? "Python" : "JVM");
        quote(made.append(','), functionName(e));
        return put(rest(made, e.children()));
      }
      return put(rest(start(kind(e)), e.children()));
    }

    private String field(String of, String name) {
      StringBuilder made = start("Field");
      quote(made.append(','), name);
      return put(made.append(',').append(of));
    }

    private void names(StringBuilder made, scala.collection.Iterable names) {
      made.append('[');
      scala.collection.Iterator each = names.iterator();
      while (each.hasNext()) {
        quote(made, String.valueOf(each.next()));
        if (each.hasNext()) made.append(',');
      }
      made.append(']');
    }

    /** A cast from struct to struct goes by the places of the fields. */
    private String fields(Cast cast) {
      String of = add(cast.child());
      StructType before = (StructType) cast.child().dataType();
      StructType after = (StructType) cast.dataType();
      StringBuilder quoted = new StringBuilder();
      StringBuilder values = new StringBuilder();
      for (int i = 0; i < after.length(); i++) {
        boolean same = before.apply(i).dataType().equals(after.apply(i).dataType());
        String field = field(of, before.apply(i).name());
        quote(quoted.append(i > 0 ? "," : ""), after.apply(i).name());
        values.append(i > 0 ? "," : "").append(same ? field : put(start("Cast").append(',').append(field)));
      }
      return put(start("Struct").append(",[").append(quoted).append("],[").append(values).append(']'));
    }

    private String choice(CaseWhen e) {
      StringBuilder conditions = new StringBuilder();
      StringBuilder values = new StringBuilder();
      scala.collection.Iterator branches = e.branches().iterator();
      while (branches.hasNext()) {
        scala.Tuple2 branch = (scala.Tuple2) branches.next();
        conditions.append(conditions.length() > 0 ? "," : "").append(add((Expression) branch._1()));
        values.append(values.length() > 0 ? "," : "").append(add((Expression) branch._2()));
      }
      if (e.elseValue().isDefined()) values.append(',').append(add((Expression) e.elseValue().get()));
      return put(start("CaseWhen").append(",[").append(conditions).append("],[").append(values).append(']'));
    }

    private String lambda(HigherOrderFunction e) {
      StringBuilder arguments = new StringBuilder();
      list(arguments, e.arguments(), this);
      StringBuilder bodies = new StringBuilder();
      scala.collection.Iterator functions = e.functions().iterator();
      while (functions.hasNext()) {
        Object function = functions.next();
        if (!(function instanceof LambdaFunction)) continue;
        LambdaFunction lambda = (LambdaFunction) function;
        StringBuilder bind = start("Bind").append(",\"").append(((Expression) e).getClass().getSimpleName());
        bind.append("\",");
        ids(lambda.arguments(), bind);
        put(bind.append(',').append(arguments).append(",[").append(bodies).append(']'));
        bodies.append(bodies.length() > 0 ? "," : "").append(add(lambda.function()));
      }
      StringBuilder made = start("Lambda").append(",\"").append(((Expression) e).getClass().getSimpleName());
      return put(made.append("\",").append(arguments).append(",[").append(bodies).append(']'));
    }

    /** withField and dropFields: a struct of the fields that it has then, each set to a value or as it was. */
    private String update(Expression e) {
      String of = add((Expression) get(e, "structExpr"));
      HashMap set = new HashMap();
      scala.collection.Iterator operations = ((scala.collection.Iterable) get(e, "fieldOps")).iterator();
      while (operations.hasNext()) {
        Object operation = operations.next();
        String name = String.valueOf(get(operation, "name")).toLowerCase();
        if (has(operation, "valExpr")) set.put(name, add((Expression) get(operation, "valExpr")));
        else set.remove(name);
      }
      String[] names = ((StructType) e.dataType()).fieldNames();
      StringBuilder quoted = new StringBuilder();
      StringBuilder values = new StringBuilder();
      for (int i = 0; i < names.length; i++) {
        quote(quoted.append(i > 0 ? "," : ""), names[i]);
        String value = (String) set.get(names[i].toLowerCase());
        values.append(i > 0 ? "," : "").append(value != null ? value : field(of, names[i]));
      }
      return put(start("Struct").append(",[").append(quoted).append("],[").append(values).append(']'));
    }

    private StringBuilder rest(StringBuilder made, scala.collection.Iterable children) {
      scala.collection.Iterator each = children.iterator();
      while (each.hasNext()) made.append(',').append(add((Expression) each.next()));
      return made;
    }

    private StringBuilder start(String name) {
      return new StringBuilder("\"").append(name).append('"');
    }

    private String put(StringBuilder made) {
      if (count > 0) text.append(',');
      text.append('[').append(made).append(']');
      return String.valueOf(count++);
    }
  }

  /** "ranking" for a function that only says where a row stands in its window. */
  private static String ranking(Expression function) {
    Class[] kinds = function.getClass().getInterfaces();
    for (Class at = function.getClass(); at != null; at = at.getSuperclass()) {
      String name = at.getSimpleName();
      if (name.equals("RankLike") || name.equals("RowNumberLike")) return "ranking";
    }
    return "";
  }

  /** The class of an expression; a mask() that may keep letters or digits has its own name. */
  private static String kind(Expression e) {
    String name = e.getClass().getSimpleName();
    if (!name.equals("Mask") && !name.equals("MaskExpr")) return name;
    // Spark's documentation of mask(): NULL keeps the characters of a class, which is the default for others only.
    for (int i = 1; i <= 3; i++) {
      Expression replacement = (Expression) e.children().apply(i);
      if (!replacement.foldable() || replacement.eval(null) == null) return "PartialMask";
    }
    return name;
  }

  private static String functionName(Expression e) {
    String[] names = {"udfName", "name"};
    for (int i = 0; i < names.length; i++) {
      if (has(e, names[i])) {
        Object name = get(e, names[i]);
        if (name instanceof scala.Option) name = ((scala.Option) name).isDefined() ? ((scala.Option) name).get() : null;
        if (name != null) return String.valueOf(name);
      }
    }
    return e.prettyName();
  }

  /** The name of a session's variable; its SQL would tell its value. */
  private static String variable(Expression reference) {
    return ((scala.collection.Iterable) get(reference, "originalNameParts")).mkString(".");
  }

  private String sql(scala.collection.Iterable expressions, String between) {
    StringBuilder text = new StringBuilder();
    scala.collection.Iterator each = expressions.iterator();
    while (each.hasNext()) {
      if (text.length() > 0) text.append(between);
      if (text.length() > 1000) return text.toString();
      text.append(sql((Expression) each.next()));
    }
    return text.toString();
  }

  private String sql(Expression e) {
    String text;
    try {
      text = written(e, new HashMap()).sql().replace("__auto_generated_subquery_name.", "");
    } catch (RuntimeException noSql) {
      text = e.toString();
    }
    return text.length() > 1000 ? text.substring(0, 999) + "\u2026" : text;
  }

  /**
   * The same without what the analyser has put in for its own ends: names for other functions, such as nvl, expressions
   * that are computed once and referred to, and casts of literals.
   */
  private Expression written(Expression e, HashMap shared) {
    check();
    if (e instanceof RuntimeReplaceable) return written(((RuntimeReplaceable) e).replacement(), shared);
    if (e instanceof CommonExpressionRef) return (Expression) shared.get(((CommonExpressionRef) e).id());
    if (e instanceof With) {
      scala.collection.Iterator definitions = ((With) e).defs().iterator();
      while (definitions.hasNext()) {
        CommonExpressionDef each = (CommonExpressionDef) definitions.next();
        shared.put(each.id(), written(each.child(), shared));
      }
      return written(((With) e).child(), shared);
    }
    if (e instanceof Cast && ((Cast) e).child() instanceof Literal) return folded((Cast) e);
    if (e instanceof NamedLambdaVariable) return new PrettyAttribute(((NamedLambdaVariable) e).name(), e.dataType());
    if (e instanceof LambdaFunction) return arrow((LambdaFunction) e, shared);
    if (e.getClass().getSimpleName().equals("VariableReference")) return new PrettyAttribute(variable(e), e.dataType());
    if (e.getClass().getSimpleName().startsWith("KnownNot")) return written((Expression) e.children().head(), shared);
    if (e instanceof AttributeReference && pulled.containsKey(((AttributeReference) e).exprId())) {
      return written((Expression) pulled.get(((AttributeReference) e).exprId()), shared);
    }
    scala.collection.mutable.ArrayBuffer children = new scala.collection.mutable.ArrayBuffer();
    scala.collection.Iterator each = e.children().iterator();
    boolean changed = false;
    while (each.hasNext()) {
      Expression child = (Expression) each.next();
      Expression other = written(child, shared);
      changed = changed || other != child;
      children.addOne(other);
    }
    return changed ? (Expression) e.withNewChildren(children.toSeq()) : e;
  }

  private Expression arrow(LambdaFunction lambda, HashMap shared) {
    StringBuilder names = new StringBuilder();
    scala.collection.Iterator each = lambda.arguments().iterator();
    while (each.hasNext()) {
      names.append(names.length() > 0 ? ", " : "").append(((NamedExpression) each.next()).name());
    }
    String arguments = lambda.arguments().size() == 1 ? names.toString() : "(" + names + ")";
    Expression body = written(lambda.function(), shared);
    return new PrettyAttribute(arguments + " -> " + body.sql(), body.dataType());
  }

  private static Expression folded(Cast cast) {
    try {
      return Literal.create(cast.eval(null), cast.dataType());
    } catch (RuntimeException impossible) {
      return cast;
    }
  }

  private static boolean has(Object of, String name) {
    try {
      of.getClass().getMethod(name, new Class[0]);
      return true;
    } catch (NoSuchMethodException none) {
      return false;
    }
  }

  private static Object get(Object of, String name) {
    try {
      java.lang.reflect.Method method = of.getClass().getMethod(name, new Class[0]);
      method.setAccessible(true);
      return method.invoke(of, new Object[0]);
    } catch (Exception error) {
      throw new IllegalStateException("Spark's " + of.getClass().getSimpleName() + " has no " + name);
    }
  }

  private static void string(StringBuilder text, String key, String value) {
    quote(text.append(",\"").append(key).append("\":"), value);
  }

  private static void quote(StringBuilder text, String value) {
    text.append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') text.append('\\').append(c);
      else if (c < ' ') text.append(String.format("\\u%04x", new Object[] {Integer.valueOf(c)}));
      else text.append(c);
    }
    text.append('"');
  }
}
