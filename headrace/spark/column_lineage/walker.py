"""Export a plan from Spark's JVM as text, in one call.

A plan of a thousand columns and fifty joins has some 25,000 expressions: one call each from Python is too slow, and
Spark's own JSON of it is 10 MB, most of it types. So the text is created next to the plan, by a class that Spark's own
compiler of generated code (Janino) compiles once per JVM.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).with_name("PlanText.java")
_MAX_PLAN_CHARACTERS = 32_000_000
_lock = threading.Lock()
_compiled: dict[str, Any] = {}  # the class, and the gateway to its JVM


class PlanUnreadable(Exception):
    """Spark's plan could not be exported as text."""


def ready() -> None:
    """Compile the exporter, about 0.5 s once per JVM. Raises PlanUnreadable."""
    with _explained():
        _constructor()


def anticipate() -> threading.Thread:
    """Run `ready` in parallel with the session's first work, so that no run waits for it."""
    thread = threading.Thread(target=_early, name="column-lineage", daemon=True)
    thread.start()
    return thread


def _early() -> None:
    # Errors are left to the caller that needs it: the session may have ended already.
    with suppress(AttributeError, OSError, PlanUnreadable):
        ready()


def plan_text(plan: Any, inputs: Sequence[Any], max_steps: int) -> str:  # noqa: ANN401
    """Export the plan as text, with the inputs' plans by position. max_steps: nodes and expressions. Raises
    PlanUnreadable."""
    with _explained():
        constructor = _constructor()
        gateway = _compiled["gateway"]
        arguments = gateway.new_array(gateway.jvm.Object, 2)
        arguments[0], arguments[1] = _MAX_PLAN_CHARACTERS, max_steps
        text = constructor.newInstance(arguments)
        for number, each in enumerate(inputs):
            text.input(each, number)
        return str(text.of(plan))


@contextmanager
def _explained() -> Iterator[None]:
    from py4j.protocol import Py4JError

    try:
        yield
    except Py4JError as error:
        cause = getattr(error, "java_exception", None)
        reason = cause.toString() if cause is not None else str(error)
        raise PlanUnreadable(f"the plan could not be read: {reason.splitlines()[0]}") from error


def _constructor() -> Any:  # noqa: ANN401
    """Return the constructor of PlanText in PySpark's JVM, compiled there if needed."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        raise PlanUnreadable("the plan could not be read: Spark has been stopped")
    with _lock:
        if _compiled.get("gateway") is not gateway:
            jvm = gateway.jvm
            compiler = jvm.org.codehaus.janino.SimpleCompiler()
            compiler.setParentClassLoader(jvm.Thread.currentThread().getContextClassLoader())
            compiler.cook(_SOURCE.read_text())
            made = compiler.getClassLoader().loadClass("headrace.PlanText")
            constructor = made.getConstructors()[0]
            _compiled.update(gateway=gateway, constructor=constructor)
        return _compiled["constructor"]
