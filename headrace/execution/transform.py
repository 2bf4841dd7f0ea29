"""Execute transforms: a query or Python function per step, whose result later steps can read."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headrace.execution.plan import TransformContext
from headrace.execution.problems import SqlError, TransformError, UnknownParameter, place
from headrace.execution.python_code import load_module
from headrace.execution.sql import Query, spliced

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame

Frames = Mapping[str, "DataFrame"]


class Code(Protocol):
    """The code of one step: computes frames from the available frames."""

    def __call__(self, context: TransformContext, frames: Frames) -> DataFrame | Mapping[str, DataFrame]:
        """Return the step's frame, or the frames of several outputs by key."""
        ...


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Steps in order, then the outputs.

    outputs: for each dataset key the step with its frame, or None if the last step returns a mapping.
    """

    steps: tuple[tuple[str, Code], ...]
    outputs: Mapping[str, str | None]

    def __call__(self, context: TransformContext, inputs: Frames) -> dict[str, DataFrame]:
        """Return the output frames by dataset key."""
        frames: dict[str, Any] = dict(inputs)
        for name, code in self.steps:
            frames[name] = code(context, frames)
        last_name, last_code = self.steps[-1]
        found: dict[str, DataFrame] = {}
        for key, step in self.outputs.items():
            found[key] = frames[step] if step is not None else _picked(last_code, frames[last_name], key)
        return found


@dataclass(frozen=True, slots=True)
class SqlCode:
    """A query. frames: the input or step of each table that it names."""

    query: Query
    frames: Mapping[str, str]

    def __call__(self, context: TransformContext, frames: Frames) -> DataFrame:
        """Return the query's frame. Raises SqlError if Spark cannot analyse it."""
        from pyspark.errors import AnalysisException, ParseException

        parameters = {
            name: context.parameters[name] for name in self.query.parameters if name in context.parameters
        }
        try:
            if not self.frames:
                return context.spark.sql(self.query.source.text, parameters)
            fields = {table: f"_{index}" for index, table in enumerate(self.frames)}
            return context.spark.sql(
                _as_format(self.query, fields),
                parameters,
                **{fields[table]: frames[name] for table, name in self.frames.items()},
            )
        except (AnalysisException, ParseException) as error:
            raise _spark_error(self.query, error) from error


@dataclass(frozen=True, slots=True)
class PythonCode:
    """A function in a project file, imported when it first runs. several: it returns a mapping of frames."""

    file: Path
    root: Path
    name: str
    line: int
    several: bool = False

    def __call__(self, context: TransformContext, frames: Frames) -> DataFrame | Mapping[str, DataFrame]:
        """Return the function's result. Raises TransformError for anything but a frame, or a missing function."""
        with _located(self, self.name):
            function = getattr(load_module(self.file, self.root), self.name, None)
        if not callable(function):
            raise TransformError(self.file, self.line, f"no function {self.name}")
        return called(function, self, context, frames)


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """A function declared with the decorator."""

    function: Callable[..., Any]
    file: Path
    line: int
    several: bool = False

    def __call__(self, context: TransformContext, frames: Frames) -> DataFrame | Mapping[str, DataFrame]:
        """Return the function's result. Raises TransformError for anything but a frame."""
        return called(self.function, self, context, frames)


def called(
    function: Callable[..., Any], code: PythonCode | FunctionCode, context: TransformContext, frames: Frames
) -> DataFrame | Mapping[str, DataFrame]:
    """Call `function` with the frames that its parameters name, and check its result."""
    from pyspark.sql import DataFrame

    arguments = _arguments(function, code, {**frames, "context": context})
    with _located(code, function.__name__):
        result = function(**arguments)
    if code.several:
        if not isinstance(result, Mapping) or not all(
            isinstance(frame, DataFrame) for frame in result.values()
        ):
            raise TransformError(
                code.file,
                code.line,
                f"{function.__name__} returned {_kind(result)}, not a dict of Spark's DataFrames",
                "A process with several outputs returns {dataset key: DataFrame}.",
            )
        return result
    if not isinstance(result, DataFrame):
        raise TransformError(
            code.file,
            code.line,
            f"{function.__name__} returned {_kind(result)}, not a DataFrame of Spark",
            "Return the DataFrame itself; Headrace writes it." if result is None else None,
        )
    return result


@contextmanager
def _located(code: PythonCode | FunctionCode, name: str) -> Iterator[None]:
    """Pass on exceptions of the user's code, with their line as a note.

    Raises TransformError for Spark's analysis errors, and for a parameter that the run does not have.
    """
    from pyspark.errors import AnalysisException, ParseException

    try:
        yield
    except (AnalysisException, ParseException) as error:
        raise TransformError(code.file, _line_in(code, error), _first_line(error)) from error
    except UnknownParameter as error:
        raise TransformError(code.file, _line_in(code, error), str(error)) from error
    except Exception as error:
        error.add_note(f"in the transform {name}, {place(code.file, _line_in(code, error))}")
        raise


def _arguments(
    function: Callable[..., Any], code: PythonCode | FunctionCode, known: Mapping[str, Any]
) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            return {**{key: value for key, value in known.items() if key != "context"}, **arguments}
        if name in known:
            arguments[name] = known[name]
        elif parameter.default is parameter.empty:
            raise TransformError(
                code.file,
                code.line,
                f"{function.__name__} has the parameter {name!r}, which is not the name of an input or earlier step",
                f"Known: {', '.join(sorted(known))}.",
            )
    return arguments


def _picked(code: Code, result: Any, key: str) -> DataFrame:  # noqa: ANN401
    """Return the frame of the dataset `key` from the result of a function with several outputs."""
    short = key.split("/")[-1]
    for name in (key, short):
        if name in result:
            return result[name]  # type: ignore[no-any-return]
    place = (code.file, code.line) if isinstance(code, PythonCode | FunctionCode) else (Path(), 1)
    raise TransformError(
        *place,
        f"the function returned no DataFrame for {key}",
        f"It returned: {', '.join(map(str, result)) or 'nothing'}.",
    )


def _as_format(query: Query, fields: Mapping[str, str]) -> str:
    """Return the query as a format string that Spark's `sql` fills with views (or with plans, on Spark Connect).

    Braces of the query are doubled; markers that do not occur in SQL protect the fields meanwhile.
    """
    marked = spliced(query, lambda table: f"\0{fields[table]}\1")
    return marked.replace("{", "{{").replace("}", "}}").replace("\0", "{").replace("\1", "}")


_POSITION = re.compile(r"line (\d+),? pos(?:ition)? \d+")


def _spark_error(query: Query, error: PySparkException) -> SqlError:
    """Convert Spark's error to the place in the file: its own line, and the quoted fragment."""
    text = query.source.text
    line, column = 1, 1
    position = _POSITION.search(str(error))
    if position:
        line = min(int(position.group(1)), text.count("\n") + 1)
    fragments = [context.fragment() for context in _contexts(error)]
    # Some errors have no position, and quote the name that they concern.
    fragments += [] if position else re.findall(r"[`\"](\w+)[`\"]", str(error))
    found = (re.search(re.escape(name.strip("`")), text[_offset(text, line) :]) for name in fragments if name)
    place = next((match for match in found if match), None)
    if place:
        before = text[: _offset(text, line) + place.start()]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    return query.source.error(line, column, f"Spark cannot run the SQL: {_first_line(error)}")


def _contexts(error: PySparkException) -> list[Any]:
    try:
        return list(error.getQueryContext() or [])
    except NotImplementedError:
        return []


def _offset(text: str, line: int) -> int:
    return sum(len(part) for part in text.splitlines(keepends=True)[: line - 1])


def _first_line(error: BaseException) -> str:
    """Return Spark's message without the plan and the names of internal views."""
    sentence = re.split(r"SQLSTATE: \w+;?|;\s*line \d+", str(error))[0].split("\n")[0].strip()
    return re.sub(r"`?_pyspark_[0-9a-f]{32}`?\.?", "", sentence)


def _line_in(code: PythonCode | FunctionCode, error: BaseException) -> int:
    frames = traceback.extract_tb(error.__traceback__)
    return next(
        (frame.lineno or code.line for frame in reversed(frames) if frame.filename == str(code.file)),
        code.line,
    )


def _kind(value: object) -> str:
    """Describe a value's type with its package: other packages have DataFrames too."""
    if value is None:
        return "nothing"
    package = type(value).__module__.partition(".")[0]
    return f"a {type(value).__name__}" + (f" of {package}" if package != "builtins" else "")
