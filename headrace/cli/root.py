"""The root command group: commands imported on use, help in sections, errors shown as messages."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from headrace.cli.commands import SECTIONS, Entry
from headrace.project import NoProject
from headrace.terminal.errors import Interrupted, complain, explanation

TERMINATED = 128 + signal.SIGTERM  # the exit code, as a shell shows it
# Rich markup would double the time that the help takes.
SETTINGS: Mapping[str, Any] = {
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
    "add_completion": False,
}


class LazyCommands(dict[str, Any]):
    """Commands by name; a command's module is imported when the command is looked up."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        super().__init__(dict.fromkeys(entries))
        self._entries = entries

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - typer keeps the type of its commands to itself
        """Return the command. Raises KeyError."""
        known = super().__getitem__(name)
        if known is None:
            known = _loaded(self._entries[name])
            self[name] = known
        return known

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401
        """Return the command, or the default if there is none of this name."""
        return self[name] if name in self else default  # noqa: SIM401 - `get` would call itself

    def items(self) -> Any:  # noqa: ANN401
        """Import and return all commands."""
        return {name: self[name] for name in self}.items()


class Commands(TyperGroup):
    """The commands of `SECTIONS`."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        self.commands = LazyCommands({each.name: each for entries in SECTIONS.values() for each in entries})

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Run the given command; an exception becomes a message on stderr and exit code 1 (interrupted: 130 or 143)."""
        try:
            with _sigterm_raised():
                return super().invoke(ctx)
        except Interrupted as error:
            complain(str(error))
            raise typer.Exit(error.exit_code) from error
        except (typer.Exit, typer.Abort, typer.TyperException, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            complain(explanation(error))
            raise typer.Exit(2 if isinstance(error, NoProject) else 1) from error

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the commands into the help, section by section, without importing them."""
        width = max(len(name) for name in self.commands)
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(each.name.ljust(width), each.summary) for each in entries])

    def sections(self) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
        """Yield the section titles with their commands by name, all imported."""
        for title, entries in SECTIONS.items():
            yield title, [(each.name, self.commands[each.name]) for each in entries]


@contextmanager
def _sigterm_raised() -> Iterator[None]:
    """Raise Interrupted on SIGTERM, so that the command cleans up and says why it ends."""

    def end(*_: object) -> None:
        raise Interrupted("stopped by SIGTERM; versions published before are unchanged", TERMINATED)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _loaded(entry: Entry) -> Any:  # noqa: ANN401
    app = import_module(entry.module).app
    root = typer.Typer(**SETTINGS)
    root.callback()(lambda: None)  # a group even with only one command
    if entry.is_group:
        root.add_typer(app, name=entry.name, help=entry.summary)
    else:
        root.add_typer(app)
    group: Any = get_command(root)
    return group.commands[entry.name]
