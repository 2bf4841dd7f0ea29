"""The group `headrace lineage`, whose default is `show`."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from headrace.cli.lineage import export, show

_DEFAULT = "show"


class LineageCommands(TyperGroup):
    """Commands of `headrace lineage`, with `show` as default: `headrace lineage DATASET` is `headrace lineage show
    DATASET`.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer keeps its contexts' type
        """Insert `show` before arguments that name no command. A key has a slash, and no command has one."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:  # noqa: ANN401
        """Complete commands and dataset keys."""
        shown: Any = self.commands[_DEFAULT]
        keys = next(each for each in shown.params if each.param_type_name == "argument")
        return [*super().shell_complete(ctx, incomplete), *keys.shell_complete(ctx, incomplete)]


app = typer.Typer(cls=LineageCommands, no_args_is_help=True, rich_markup_mode=None)
for _commands in (show, export):
    app.add_typer(_commands.app)
