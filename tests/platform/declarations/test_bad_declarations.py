"""Every error of a declaration has file, line and field; everything else still loads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headrace.declarations.loading.project import DeclarationsInvalid, records
from headrace.execution.plan import ProcessPlan
from tests.platform.declarations.conftest import Project

GOOD = """
type: headrace.Dataset
attributes:
  key: shop/good
  sql: SELECT 1 AS id
"""


@dataclass(frozen=True)
class Case:
    """An invalid declaration, and the place and message of its error."""

    text: str
    line: int
    field: str | None
    words: str
    file: str = "shop/defs.yaml"
    files: Mapping[str, str] = field(default_factory=dict)  # type: ignore[misc]


CASES = {
    "a rule that keeps nothing": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/kept
          sql: SELECT 1 AS id
          keep: {}
        """,
        5,
        "keep",
        "`keep` needs `versions`, `days`, `month_ends` or `hold`",
    ),
    "drift of a column that is missing": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/drifting
          sql: SELECT 1 AS id, 'a' AS name, 'b' AS mail
          schema: {columns: {id: int, name: string, mail: {type: string, tags: [pii]}}}
          checks:
            - drift: {column: nmae, method: psi}
        """,
        7,
        "checks.0.drift",
        "'nmae' is not among the columns of the schema",
    ),
    "drift without a limit": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/drifting
          sql: SELECT 1 AS id, 'a' AS name, 'b' AS mail
          schema: {columns: {id: int, name: string, mail: {type: string, tags: [pii]}}}
          checks:
            - drift: {column: name, method: psi, threshold: .inf}
        """,
        7,
        "checks.0.drift.threshold",
        "finite number",
    ),
    "drift of texts by ks": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/drifting
          sql: SELECT 1 AS id, 'a' AS name, 'b' AS mail
          schema: {columns: {id: int, name: string, mail: {type: string, tags: [pii]}}}
          checks:
            - drift: {column: name, method: ks}
        """,
        7,
        "checks.0.drift",
        "'name' is string, which ks cannot compare",
    ),
    "drift of a sensitive column": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/drifting
          sql: SELECT 1 AS id, 'a' AS name, 'b' AS mail
          schema: {columns: {id: int, name: string, mail: {type: string, tags: [pii]}}}
          checks:
            - drift: {column: mail, method: psi}
        """,
        7,
        "checks.0.drift",
        "'mail' is sensitive, so that its values are not profiled",
    ),
    "a rule that keeps no version": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/kept
          sql: SELECT 1 AS id
          keep: {versions: 0}
        """,
        5,
        "keep.versions",
        "greater than or equal to 1",
    ),
    "reference to something else than an input": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT id FROM good
          checks:
            - references: {columns: [id], to: orders}
        """,
        6,
        "checks.0.references",
        "no input is named 'orders'",
    ),
    "reference of a column that the schema lacks": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT id FROM good
          schema: {columns: {id: int}}
          checks:
            - references: {columns: [number], to: good, keys: [id]}
        """,
        7,
        "checks.0.references",
        "'number' is not among the columns of the schema",
    ),
    "references with a key too few": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT id FROM good
          checks:
            - references: {columns: [a, b], to: good, keys: [a]}
        """,
        6,
        "checks.0.references",
        "`columns` and `keys` have the same number of columns",
    ),
    "check that is not an expression": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          checks:
            - sql: id >>> FROM
        """,
        6,
        "checks.0.sql",
        "'id >>> FROM' is not a SQL expression",
    ),
    "unknown field": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          descripton: spelt wrongly
        """,
        5,
        "descripton",
        "Did you mean 'description'",
    ),
    "unknown field within": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          schema:
            columns:
              id:
                type: int
                nulable: false
        """,
        9,
        "schema.columns.id.nulable",
        "Did you mean 'nullable'",
    ),
    "a null that stops and only warns": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          schema:
            columns:
              id:
                type: int
                nullable: false
                checks:
                  - unique
                  - {not_null: true, severity: warning}
        """,
        12,
        "schema.columns.id.checks.1.severity",
        "this check only warns of one",
    ),
    "missing key": Case(
        "type: headrace.Dataset\nattributes:\n  sql: SELECT 1\n", 2, "key", "required field is missing"
    ),
    "no attributes": Case("type: headrace.Dataset\n", 1, "key", "required field is missing"),
    "key without domain": Case(
        "type: headrace.Dataset\nattributes: {key: bad, sql: SELECT 1}\n", 2, "key", "domain/name"
    ),
    "unknown component": Case(
        "type: headrace.Datset\nattributes: {key: shop/bad}\n", 1, "type", "Did you mean headrace.Dataset"
    ),
    "no type": Case("attributes: {key: shop/bad}\n", 1, "type", "has no `type`"),
    "field beside type": Case(
        "type: headrace.Dataset\nkey: shop/bad\nattributes: {}\n", 2, "key", "belong in `attributes`"
    ),
    "not YAML": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  sql: 'SELECT 1\n", 5, None, "invalid YAML"
    ),
    "field twice": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  sql: SELECT 1\n  sql: SELECT 2\n",
        5,
        "sql",
        "is repeated, after line 4",
    ),
    "bad cron": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          sla:
            deadline: "99 9 * * *"
        """,
        6,
        "sla.deadline",
        "not a valid cron expression",
    ),
    "bad timezone": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          sla: {deadline: 0 9 * * *, timezone: Mars/Olympus}
        """,
        5,
        "sla.timezone",
        "not a known time zone",
    ),
    "bad duration": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  sql: SELECT 1\n  sla: {max_age: soon}\n",
        5,
        "sla.max_age",
        "26h",
    ),
    "sla of both kinds": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          sla: {max_age: 26h, deadline: 0 9 * * *}
        """,
        5,
        "sla",
        "either `deadline` or `max_age`",
    ),
    "within too long": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          sla: {deadline: 0 9 * * *, within: 2d}
        """,
        5,
        "sla.within",
        "longer than the 1 day",
    ),
    "warning before the last deadline": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          sla:
            deadline: 0 9 * * *
            warn_before: 25h
        """,
        7,
        "sla.warn_before",
        "longer than `within`, which is 12:00:00 by default",
    ),
    "warning before a publish counts": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          sla:
            deadline: 0 9 * * *
            within: 2h
            warn_before: 3h
        """,
        8,
        "sla.warn_before",
        "longer than `within`, which is 2:00:00",
    ),
    "unknown column type": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          schema:
            columns:
              id: int
              amount: decimall(10,2)
        """,
        8,
        "schema.columns.amount.type",
        "'decimall' is not a Spark type",
    ),
    "unknown check": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          schema: {columns: {id: {type: int, checks: [{greater: 0}]}}}
        """,
        5,
        "schema.columns.id.checks.0.greater",
        "Did you mean 'greater_than'",
    ),
    "check with two rules": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          schema: {columns: {id: {type: int, checks: [{greater_than: 0, less_than: 9}]}}}
        """,
        5,
        "schema.columns.id.checks.0",
        "exactly one rule",
    ),
    "check named twice": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          checks:
            - {sql: id > 0}
            - {sql: id < 9}
        """,
        5,
        "checks",
        "two checks are named 'sql'",
    ),
    "quarantine of many rows": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          checks:
            - {unique: [id], quarantine: true}
        """,
        6,
        "checks.0",
        "only a check of single rows",
    ),
    "unique of an unknown column": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          schema: {columns: {id: int}}
          checks:
            - unique: [ids]
        """,
        7,
        "checks.0.unique",
        "'ids' is not among the columns",
    ),
    "bad owner": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  sql: SELECT 1\n  owner: somebody\n",
        5,
        "owner",
        "team:<name>",
    ),
    "bad partitions type": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  sql: SELECT 1\n  partitions: {type: yearly}\n",
        5,
        "partitions",
        "'yearly' is not a valid type",
    ),
    "bad partition start": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          partitions: {type: daily, start: 1 January 2013}
        """,
        5,
        "partitions.start",
        "2013-01-01",
    ),
    "ranges without a column": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          partitions: {type: daily, start: 2013-01-01, ranges: true}
        """,
        5,
        "partitions.ranges",
        "needs `column`",
    ),
    "ranges and one key": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: |
            SELECT 1 AS id,
            :partition_key AS day
          partitions: {type: daily, start: 2013-01-01, column: day, ranges: true}
        """,
        6,
        "sql",
        ":partition_key does not go with `ranges: true`",
    ),
    "ranges of one dimension": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS a, 2 AS b
          partitions:
            type: multi
            dimensions:
              a: {type: static, keys: ["1"], column: a, ranges: true}
              b: {type: static, keys: ["2"], column: b}
        """,
        8,
        "partitions.dimensions.a.ranges",
        "next to `dimensions`",
    ),
    "partition column that is not there": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          partitions: {type: daily, start: 2013-01-01, column: day}
          schema: {columns: {id: int}}
        """,
        5,
        "partitions.column",
        "'day' is not among the columns",
    ),
    "no code": Case("type: headrace.Dataset\nattributes:\n  key: shop/bad\n", 1, None, "no code"),
    "sql and python": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  sql: SELECT 1\n  python: x.py:f\n",
        5,
        "python",
        "`sql` and `python` cannot be combined",
    ),
    "missing sql file": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  sql: nowhere.sql\n",
        4,
        "sql",
        "nowhere.sql cannot be read",
    ),
    "sql that does not parse, inline": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: |
            SELECT a
            FROM (
            WHERE b
        """,
        7,
        "sql",
        "cannot parse",
    ),
    "sql that does not parse, in a file": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  sql: bad.sql\n",
        2,
        "sql",
        "cannot parse",
        file="shop/bad.sql",
        files={"shop/bad.sql": "SELECT a\nFROM t WHERE (\n"},
    ),
    "used and not declared": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  inputs: [good]\n  sql: bad.sql\n",
        3,
        "sql",
        "'other.things' is used and not among the inputs",
        file="shop/bad.sql",
        files={"shop/bad.sql": "SELECT *\nFROM good\nJOIN other.things USING (id)\n"},
    ),
    "declared and not used": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          inputs:
            - good
            - dataset: other
              as: o
          sql: SELECT * FROM good
        """,
        6,
        "inputs.1",
        "'o' is declared but not used",
    ),
    "two inputs of one name": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  inputs: [a/x, b/x]\n  sql: SELECT 1 FROM x\n",
        4,
        "inputs.1",
        "two inputs are named 'x'",
    ),
    "input that nobody declares": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  sql: SELECT * FROM shop.god\n",
        4,
        "sql",
        "Did you mean shop/good",
    ),
    "reads itself": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  sql: SELECT * FROM bad\n",
        4,
        "sql",
        "reads itself",
    ),
    "unknown parameter": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          partitions: {type: static, keys: [a, b]}
          sql: SELECT :partition_start AS day
        """,
        5,
        "sql",
        ":partition_start is not known",
    ),
    "parameter without partitions": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  sql: SELECT :partition_key AS day\n",
        4,
        "sql",
        "which this dataset does not have",
    ),
    "tag key that Dagster refuses": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS a
          tags: {cost centre: retail}
        """,
        5,
        "tags",
        "invalid tag keys: ['cost centre']",
    ),
    "tag key with two slashes": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS a
          tags: {a/b/c: retail}
        """,
        5,
        "tags",
        "invalid tag keys",
    ),
    "tag value that Dagster refuses": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS a
          tags: {ok: "straße"}
        """,
        5,
        "tags",
        "Invalid tag value",
    ),
    "partition key with an ellipsis": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS a
          partitions: {type: static, keys: [a...b, c]}
        """,
        5,
        "partitions.keys",
        "separates the ends of a range",
    ),
    "partition key with a comma": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS a
          partitions: {type: static, keys: ["a,b", c]}
        """,
        5,
        "partitions.keys",
        "separates keys in lists",
    ),
    "partition key with a tab": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS a
          partitions: {type: static, keys: ["a\\tb", c]}
        """,
        5,
        "partitions.keys",
        "control character",
    ),
    "partition key with the separator of dimensions": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS a
          partitions: {type: multi, dimensions: {x: {type: static, keys: [a|b]}, y: {type: daily, start: 2026-01-01}}}
        """,
        5,
        "partitions.dimensions.x.keys",
        "separates the keys of two dimensions",
    ),
    "hours of a zone whose clocks change by half an hour": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS a
          partitions: {type: hourly, start: 2026-04-05-00:00, timezone: Australia/Lord_Howe}
        """,
        5,
        "partitions.timezone",
        "no distinct keys; use UTC",
    ),
    "environment variable that is not set": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS a
          description: "{{ env.NO_SUCH_VARIABLE }}"
        """,
        2,
        None,
        "NO_SUCH_VARIABLE is not set",
    ),
    "bad time": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          inputs:
            - {dataset: good, as_of: yesterday}
          sql: SELECT * FROM good
        """,
        5,
        "inputs.0.as_of",
        "'yesterday' is not a time",
    ),
    "partitions of an input without any": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          partitions: {type: daily, start: 2013-01-01}
          inputs:
            - {dataset: good, partitions: previous}
          sql: SELECT * FROM good
        """,
        6,
        "inputs.0.partitions",
        "shop/good has no partitions",
    ),
    "missing python file": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  python: nowhere.py:f\n",
        4,
        "python",
        "no file nowhere.py",
    ),
    "missing function": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  python: code.py:g\n",
        4,
        "python",
        "It has: f",
        files={"shop/code.py": "def f(good): ...\n"},
    ),
    "parameter that is not an input": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  inputs: [good]\n  python: code.py:f\n",
        3,
        "python",
        "'other' is used and not among the inputs",
        file="shop/code.py",
        files={"shop/code.py": "import math\n\ndef f(good, other, context): ...\n"},
    ),
    "python that does not compile": Case(
        "type: headrace.Dataset\nattributes:\n  key: shop/bad\n  python: code.py:f\n",
        2,
        "python",
        "invalid Python",
        file="shop/code.py",
        files={"shop/code.py": "def f(good):\n  return (\n"},
    ),
    "module that cannot be imported": Case(
        GOOD.replace("good", "bad"),
        3,
        None,
        "ZeroDivisionError",
        file="shop/code.py",
        files={"shop/code.py": "import dagster\n\n1 / 0\n"},
    ),
    "decorator with a wrong field": Case(
        GOOD.replace("good", "bad"),
        3,
        "ownr",
        "Did you mean 'owner'",
        file="shop/code.py",
        files={
            "shop/code.py": "from headrace import dataset\n\n@dataset(ownr='team:x')\ndef f(good): return good\n"
        },
    ),
    "step named twice": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          steps:
            - {name: a, sql: SELECT 1}
            - {name: a, sql: SELECT 2}
          sql: SELECT * FROM a
        """,
        5,
        "steps.0.name",
        "two steps are named 'a'",
    ),
    "output without code": Case(
        """\
        type: headrace.Process
        attributes:
          outputs:
            - {key: shop/one, sql: SELECT 1}
            - {key: shop/two}
        """,
        5,
        "outputs.1",
        "no code",
    ),
    "check with a value of another type": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          schema: {columns: {id: {type: int, checks: [{greater_than: abc}]}}}
        """,
        5,
        "schema.columns.id.checks.0.greater_than",
        "must be a number as id is int",
    ),
    "check with a time that is none": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          schema: {columns: {id: {type: date, checks: [{greater_than: soon}]}}}
        """,
        5,
        "schema.columns.id.checks.0.greater_than",
        "must be a date or time",
    ),
    "check that a type does not have": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          schema: {columns: {id: {type: int, checks: [{str_length: {max_value: 3}}]}}}
        """,
        5,
        "schema.columns.id.checks.0.str_length",
        "str_length is not defined for id of type int",
    ),
    "length without a bound": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          schema: {columns: {id: {type: string, checks: [{str_length: {}}]}}}
        """,
        5,
        "schema.columns.id.checks.0.str_length",
        "str_length has `min_value`, `max_value` or `exact_value`",
    ),
    "range without a value": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          schema: {columns: {id: {type: int, checks: [{in_range: {min_value: 5, max_value: 2}}]}}}
        """,
        5,
        "schema.columns.id.checks.0.in_range",
        "no value is between min_value 5 and max_value 2",
    ),
    "row count without a number": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          checks: [{row_count: {min: 5, max: 2}}]
        """,
        5,
        "checks.0.row_count",
        "no value is between min 5 and max 2",
    ),
    "columns that differ in case": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          schema: {columns: {id: int, ID: int}}
        """,
        5,
        "schema.columns.ID",
        "differ only in case",
    ),
    "nested column in CSV": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          output: {format: csv}
          schema: {columns: {id: array<int>}}
        """,
        6,
        "schema.columns.id",
        "CSV cannot store array<int>",
    ),
    "unknown format": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          output: {format: parque}
        """,
        5,
        "output.format",
        "unknown format 'parque'; choose one of csv, ",
    ),
    "compression that Spark does not bring": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          output: {options: {compression: brotli}}
        """,
        5,
        "output",
        "parquet has no compression 'brotli'; choose one of none, uncompressed, snappy",
    ),
    "type of tables only": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 'a' AS id
          schema: {columns: {id: varchar(3)}}
        """,
        5,
        "schema.columns.id.type",
        "use `string`, with the check `str_length`",
    ),
    "location that is not a URI": Case(
        """\
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1 AS id
          output: {location: /tmp/x}
        """,
        5,
        "output.location",
        "Write a URI",
    ),
    "bad query of an output": Case(
        """\
        type: headrace.Process
        attributes:
          outputs:
            - key: shop/one
              sql: SELECT FROM
        """,
        5,
        "outputs.0.sql",
        "cannot parse",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_bad_declaration_is_reported_at_its_line_and_others_load(project: Project, case: Case) -> None:
    project.write("shop/defs.yaml", case.text)
    project.write("other/defs.yaml", GOOD)
    for path, text in case.files.items():
        project.write(path, text)
    loaded = project.load()
    problem = loaded.problems[0]
    place = (str(problem.file.relative_to(project.root / "assets")), problem.line, problem.field)
    assert place == (case.file, case.line, case.field), str(problem)
    assert case.words in str(problem)
    assert len(loaded.problems) == 1, loaded.problems
    assert "shop/good" in {plan.record.key for plan in loaded.plans}
    project.repository()


def test_all_wrong_fields_are_reported(project: Project) -> None:
    project.write(
        "shop/defs.yaml",
        """
        type: headrace.Dataset
        attributes:
          key: shop/bad
          sql: SELECT 1
          ownr: team:x
          sla: {deadline: never}
        """,
    )
    assert [(problem.line, problem.field) for problem in project.load().problems] == [
        (5, "ownr"),
        (6, "sla.deadline"),
    ]


def test_a_bad_document_leaves_the_others_of_its_file(project: Project) -> None:
    good, last = GOOD.strip(), GOOD.strip().replace("good", "last")
    text = f"{good}\n---\ntype: headrace.Dataset\nattributes: {{key: shop/bad, sql: [\n---\n{last}\n"
    project.write("shop/defs.yaml", text)
    loaded = project.load()
    assert [plan.record.key for plan in loaded.plans] == ["shop/good", "shop/last"]
    assert [problem.line for problem in loaded.problems] == [8]


def test_a_key_declared_twice_names_both_places_and_keeps_the_first(project: Project) -> None:
    project.write("a/defs.yaml", GOOD)
    project.write("b/defs.yaml", "# twice\n" + GOOD.strip())
    loaded = project.load()
    (problem,) = loaded.problems
    assert (problem.file.parent.name, problem.line, problem.field) == ("b", 4, "key")
    assert "assets/a/defs.yaml:1" in problem.message
    assert [record.declared_at for record in records(loaded.plans)[0]] == ["assets/a/defs.yaml:1"]


def test_a_key_that_differs_only_in_case_names_both_places_and_keeps_the_first(project: Project) -> None:
    project.write("a/defs.yaml", GOOD)
    project.write("b/defs.yaml", GOOD.replace("shop/good", "shop/Good"))
    loaded = project.load()
    (problem,) = loaded.problems
    assert (problem.file.parent.name, problem.field) == ("b", "key")
    assert problem.message.startswith(
        "shop/Good differs only in case from shop/good, declared at assets/a/defs"
    )
    assert [record.key for record in records(loaded.plans)[0]] == ["shop/good"]


def test_a_former_key_that_is_still_declared_or_was_given_twice_is_refused(project: Project) -> None:
    def dataset(key: str, former: str) -> str:
        return f"type: headrace.Dataset\nattributes: {{key: {key}, renamed_from: {former}, sql: SELECT 1 AS id}}\n"

    project.write("a/defs.yaml", GOOD)
    project.write("b/defs.yaml", dataset("shop/b", "shop/good"))
    project.write("c/defs.yaml", dataset("shop/c", "shop/former"))
    project.write("d/defs.yaml", dataset("shop/d", "shop/former"))
    loaded = project.load()
    assert [(each.field, each.message) for each in loaded.problems] == [
        ("renamed_from", "shop/good is declared at assets/a/defs.yaml:1, so it has not been renamed"),
        (
            "renamed_from",
            "shop/former is the former key of another dataset, declared at assets/c/defs.yaml:1",
        ),
    ]
    renamed = {each.key: each.renamed_from for each in records(loaded.plans)[0]}
    assert renamed == {"shop/good": None, "shop/c": "shop/former"}


def test_a_cycle_is_reported_with_its_path_and_excluded(project: Project) -> None:
    for name, reads in {"a": "b", "b": "c", "c": "a", "reader": "a", "apart": None}.items():
        source = f" FROM {reads}" if reads else ""
        project.write(
            f"{name}/defs.yaml",
            f"type: headrace.Dataset\nattributes:\n  key: shop/{name}\n  sql: SELECT 1 AS id{source}\n",
        )
    loaded = project.load()
    assert {plan.record.key for plan in loaded.plans} == {"shop/reader", "shop/apart"}
    assert len(loaded.problems) == 3
    assert "shop/a <- shop/b <- shop/c <- shop/a" in loaded.problems[0].message
    project.repository()


def test_a_reader_of_a_broken_dataset_loads_and_depends_on_it(project: Project) -> None:
    project.write(
        "shop/defs.yaml",
        """
        type: headrace.Dataset
        attributes: {key: shop/broken, sql: SELECT FROM}
        ---
        type: headrace.Dataset
        attributes: {key: shop/reader, sql: SELECT * FROM broken}
        """,
    )
    loaded = project.load()
    (plan,) = loaded.plans
    assert isinstance(plan, ProcessPlan)
    assert [item.dataset for item in plan.inputs] == ["shop/broken"]
    assert len(loaded.problems) == 1


def test_problems_are_logged_and_shown_with_the_definitions(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    project.write("shop/defs.yaml", "type: headrace.Dataset\nattributes: {key: shop/bad, sql: SELECT FROM}\n")
    loaded = project.load()
    assert [record.getMessage() for record in caplog.records] == [str(loaded.problems[0])]
    assert "shop/bad" not in {plan.record.key for plan in loaded.plans}
    assert loaded.definitions.metadata is not None
    assert "assets/shop/defs.yaml:2" in str(loaded.definitions.metadata["problems"])


def test_dg_check_defs_fails_on_any_problem(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("shop/defs.yaml", "type: headrace.Dataset\nattributes: {key: shop/bad, sql: SELECT FROM}\n")
    monkeypatch.setenv("DAGSTER_IS_DEFS_VALIDATION_CLI", "1")
    with pytest.raises(DeclarationsInvalid, match=r"assets/shop/defs.yaml:2: sql"):
        project.load()


def test_check_imports_the_modules_of_transforms_too(project: Project) -> None:
    project.write("shop/defs.yaml", "type: headrace.Dataset\nattributes: {key: shop/x, python: code.py:f}\n")
    project.write("shop/code.py", "import nothing_like_it\n\ndef f(): ...\n")
    assert project.load().problems == ()
    (problem,) = project.check()
    assert (problem.file.name, problem.line) == ("code.py", 1)
    assert "nothing_like_it" in problem.message


@pytest.mark.slow
def test_loading_imports_neither_spark_nor_a_database_driver(project: Project) -> None:
    project.write("shop/defs.yaml", GOOD)
    for store in ("iceberg", "delta"):
        attributes = f"{{key: {store}/x, sql: SELECT 1 AS a, output: {{store: {store}}}}}"
        project.write(f"{store}/defs.yaml", f"type: headrace.Dataset\nattributes: {attributes}\n")
    project.write("shop/code.py", "import pyspark\n\ndef f(good): return good\n")
    code = (
        "import sys; from pathlib import Path; from headrace.declarations.loading.project import load;"
        f"loaded = load(Path({str(project.root)!r})); assert loaded.plans;"
        "heavy = {'pyspark', 'pandera', 'pandas', 'pyarrow', 'psycopg', 'pyiceberg', 'deltalake'};"
        "sys.exit(bool(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], check=False)
    assert run.returncode == 0
