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
    """The code of one step: what it makes of the frames in reach."""

    def __call__(self, context: TransformContext, frames: Frames) -> DataFrame | Mapping[str, DataFrame]:
        """The step's frame, or the frames of several outputs by their keys."""
        ...


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Steps in order, then the outputs.

    outputs: for each dataset key the step whose frame it is, or None where the last step returns a mapping.
    """

    steps: tuple[tuple[str, Code], ...]
    outputs: Mapping[str, str | None]

    def __call__(self, context: TransformContext, inputs: Frames) -> dict[str, DataFrame]:
        """The output frames by dataset key."""
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
    """A query. frames: for each table that it names, the input or step that it is."""

    query: Query
    frames: Mapping[str, str]

    def __call__(self, context: TransformContext, frames: Frames) -> DataFrame:
        """The query's frame. Raises SqlError where Spark cannot analyse it."""
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
    """A function in a file of the project, imported when it first runs. several: it returns a mapping of frames."""

    file: Path
    root: Path
    name: str
    line: int
    several: bool = False

    def __call__(self, context: TransformContext, frames: Frames) -> DataFrame | Mapping[str, DataFrame]:
        """What the function returns. Raises TransformError for what is not a frame, or does not exist."""
        with _located(self, self.name):
            function = getattr(load_module(self.file, self.root), self.name, None)
        if not callable(function):
            raise TransformError(self.file, self.line, f"no function {self.name}")
        return called(function, self, context, frames)


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """A function as it is, declared by the decorator."""

    function: Callable[..., Any]
    file: Path
    line: int
    several: bool = False

    def __call__(self, context: TransformContext, frames: Frames) -> DataFrame | Mapping[str, DataFrame]:
        """What the function returns. Raises TransformError for what is not a frame."""
        return called(self.function, self, context, frames)


def called(
    function: Callable[..., Any], code: PythonCode | FunctionCode, context: TransformContext, frames: Frames
) -> DataFrame | Mapping[str, DataFrame]:
    """`function` called with the frames that its parameters name, and its result checked."""
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
            "Return the frame itself; Headrace writes it." if result is None else None,
        )
    return result


@contextmanager
def _located(code: PythonCode | FunctionCode, name: str) -> Iterator[None]:
    """What the user's code raises goes through as it is, with the line that it came from as a note.

    Raises TransformError for what Spark cannot analyse, and for a parameter that the run does not have.
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
                f"{function.__name__} has the parameter {name!r}, which no input or earlier step has for a name",
                f"There are: {', '.join(sorted(known))}.",
            )
    return arguments


def _picked(code: Code, result: Any, key: str) -> DataFrame:  # noqa: ANN401
    """The frame of the dataset `key` in what a function with several outputs returned."""
    short = key.split("/")[-1]
    for name in (key, short):
        if name in result:
            return result[name]  # type: ignore[no-any-return]
    place = (code.file, code.line) if isinstance(code, PythonCode | FunctionCode) else (Path(), 1)
    raise TransformError(
        *place,
        f"the function returned no frame for {key}",
        f"It returned: {', '.join(map(str, result)) or 'nothing'}.",
    )


def _as_format(query: Query, fields: Mapping[str, str]) -> str:
    """The query as the format string that Spark's own `sql` fills with views (or with plans, on Spark Connect).

    Braces of the query are doubled; marks that no SQL holds keep the fields apart from them meanwhile.
    """
    marked = spliced(query, lambda table: f"\0{fields[table]}\1")
    return marked.replace("{", "{{").replace("}", "}}").replace("\0", "{").replace("\1", "}")


_POSITION = re.compile(r"line (\d+),? pos(?:ition)? \d+")


def _spark_error(query: Query, error: PySparkException) -> SqlError:
    """Spark's complaint at the place in the file: its own line, and the fragment it quotes."""
    text = query.source.text
    line, column = 1, 1
    position = _POSITION.search(str(error))
    if position:
        line = min(int(position.group(1)), text.count("\n") + 1)
    fragments = [context.fragment() for context in _contexts(error)]
    # Some complaints come without a place, and quote the name that they are about.
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
    """Spark's message without the plan and the names of internal views."""
    sentence = re.split(r"SQLSTATE: \w+;?|;\s*line \d+", str(error))[0].split("\n")[0].strip()
    return re.sub(r"`?_pyspark_[0-9a-f]{32}`?\.?", "", sentence)


def _line_in(code: PythonCode | FunctionCode, error: BaseException) -> int:
    frames = traceback.extract_tb(error.__traceback__)
    return next(
        (frame.lineno or code.line for frame in reversed(frames) if frame.filename == str(code.file)),
        code.line,
    )


def _kind(value: object) -> str:
    """What a value is, with the package that its type comes from: other packages have DataFrames too."""
    if value is None:
        return "nothing"
    package = type(value).__module__.partition(".")[0]
    return f"a {type(value).__name__}" + (f" of {package}" if package != "builtins" else "")
