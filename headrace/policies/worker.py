"""The process in which rules are evaluated, so that one without an end can be stopped.

Its first line says that it is ready. Each line of standard input is
{rules: [{applies, require}], subjects: [{dataset, inputs, event, version, run, now}]}. For each rule it writes a line
with the result for each subject: true (meets it, or is not meant), false, or a text (why it cannot be evaluated).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

import cel


def main() -> None:
    """Evaluate all rules on all subjects, line by line."""
    print("[]", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        subjects = [{**each, "now": datetime.fromisoformat(each["now"])} for each in asked["subjects"]]
        for rule in asked["rules"]:
            applies = _compiled(rule["applies"]) if rule["applies"] is not None else None
            require = _compiled(rule["require"])
            print(json.dumps([_meets(applies, require, each) for each in subjects]), flush=True)


@lru_cache(maxsize=1000)
def _compiled(expression: str) -> cel.Program:
    return cel.compile(expression)


def _meets(applies: cel.Program | None, require: cel.Program, subject: Mapping[str, Any]) -> bool | str:
    try:
        if applies is not None and not _boolean(applies.execute(dict(subject))):
            return True
        return _boolean(require.execute(dict(subject)))
    except (
        Exception
    ) as error:  # the engine's own, of many kinds: KeyError, RuntimeError, TypeError, ValueError
        if isinstance(error, KeyError):
            return f"there is no field {error.args[0]!r}: test first whether `'{error.args[0]}' in` the map"
        return str(error).partition("\n")[0]


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"the expression is {value!r}, neither true nor false")
    return value


if __name__ == "__main__":
    main()
