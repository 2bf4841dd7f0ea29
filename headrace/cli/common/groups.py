"""The root command group: help in sections, and errors shown as messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup

from headrace.cli.common.errors import complain, explanation
from headrace.project import NoProject


class Commands(TyperGroup):
    """Commands in the sections that they name, in the order in which they were added."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer keeps the type of its contexts to itself
        """Run the command that was named; an exception becomes a message on stderr and exit code 1."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, typer.TyperException, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            complain(explanation(error))
            raise typer.Exit(2 if isinstance(error, NoProject) else 1) from error

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the list of commands into the help, one section after another."""
        width = max(len(name) for name in self.commands)
        for title, commands in self.sections():
            rows = [
                (name.ljust(width), command.get_short_help_str(formatter.width - width - 6))
                for name, command in commands
            ]
            with formatter.section(title):
                formatter.write_dl(rows)

    def sections(self) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
        """The titles of the sections, each with its commands by name."""
        titles: dict[str, list[tuple[str, Any]]] = {}
        for name, command in self.commands.items():
            titles.setdefault(str(command.rich_help_panel), []).append((name, command))  # type: ignore[attr-defined]
        yield from titles.items()
