"""Read Autosys estates from files, with progress, and errors that name the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from headrace.terminal.arguments import zone_of
from headrace.terminal.errors import CommandError

if TYPE_CHECKING:
    from headrace.autosys import Estate

EstateFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES",
        exists=True,
        show_default=False,
        help="JIL files and calendar exports, or directories of them, in the order in which they apply.",
    ),
]

OptionalFiles = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILES",
        exists=True,
        show_default=False,
        help="JIL files, calendar exports and descriptions of processes, or directories of them. "
        "[default: what was scanned]",
    ),
]

ServerZone = Annotated[
    ZoneInfo | None,
    typer.Option(
        "--zone", metavar="ZONE", parser=zone_of, help="The time zone of the Autosys server. [default: UTC]"
    ),
]


def read(paths: Sequence[Path]) -> Estate:
    """Read the estate from the files, those of a directory by name. Raises CommandError if a file cannot be read."""
    from headrace.autosys import read_estate
    from headrace.terminal.progress import progress

    files = [file for path in paths for file in files_of(path)]
    with progress("reading") as on_progress:
        try:
            return read_estate(_reported(files, on_progress))
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read: {error.strerror}") from error


def read_and_warn(paths: Sequence[Path]) -> Estate:
    """Read an estate, and warn on stderr if statements were lost; for commands that do not list findings."""
    from headrace.severity import Severity

    estate = read(paths)
    lost = sum(finding.severity is Severity.ERROR for finding in estate.findings)
    if lost:
        what = "1 error" if lost == 1 else f"{lost:,} errors"
        typer.echo(f"{what} in {_named(paths)}; `headrace legacy report` shows what was lost.", err=True)
    return estate


def files_of(path: Path) -> list[Path]:
    """Return the file, or the files below a directory in order of their paths, without hidden ones."""
    if not path.is_dir():
        return [path]
    files = sorted(
        each
        for each in path.rglob("*")
        if each.is_file() and not any(part.startswith(".") for part in each.relative_to(path).parts)
    )
    if not files:
        raise CommandError(f"{path} contains no files; pass JIL files, or a directory of them")
    return files


def _reported(files: Sequence[Path], on_progress: Callable[[str], None]) -> Iterator[Path]:
    for number, file in enumerate(files, 1):
        on_progress(f"reading {file}" + (f" ({number} of {len(files)})" if len(files) > 1 else ""))
        yield file
    on_progress("resolving dependencies")


def _named(paths: Sequence[Path]) -> str:
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
