"""docs/cli.md, written from the commands themselves: `python -m headrace.cli.reference` brings it up to date."""

from __future__ import annotations

from typing import Any

import typer
from typer.main import get_command

from headrace.cli import app
from headrace.project import project_root

PAGE = project_root() / "docs" / "cli.md"
INTRODUCTION = """\
# The `headrace` command

<!-- Written by `make docs` from the help of the commands. -->

`headrace COMMAND --help` says the same in the terminal, and `headrace --install-completion` teaches the shell to
complete commands, options, dataset keys and version tags.
"""


def reference() -> str:
    """The page, in Markdown."""
    root: Any = get_command(app)
    context = typer.Context(root, info_name="headrace")
    parts = [INTRODUCTION, *_description(root), _parameters(root, context, "Options")]
    for title, commands in root.sections():
        parts += [f"## {title}", *[_section(name, command, context) for name, command in commands]]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _section(name: str, command: Any, parent: typer.Context) -> str:  # noqa: ANN401 - typer keeps its commands' type to itself
    context = typer.Context(command, info_name=name, parent=parent)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    return "\n\n".join(
        part
        for part in (
            f"### `{context.command_path}`",
            *_description(command),
            f"```text\n{usage}\n```",
            _parameters(command, context, "Arguments", argument=True),
            _parameters(command, context, "Options"),
            _examples(command),
            *[_section(each, inner, context) for each, inner in getattr(command, "commands", {}).items()],
        )
        if part
    )


def _description(command: Any) -> list[str]:  # noqa: ANN401
    return [" ".join(paragraph.split()) for paragraph in (command.help or "").split("\n\n")]


def _parameters(command: Any, context: typer.Context, title: str, *, argument: bool = False) -> str:  # noqa: ANN401
    kind = "argument" if argument else "option"
    found = [p for p in command.get_params(context) if p.param_type_name == kind and not p.hidden]
    rows = [p.get_help_record(context) for p in found if "--help" not in p.opts]
    if not rows:
        return ""
    return "\n".join([f"{title}:", "", *[f"- `{name}`: {' '.join(text.split())}" for name, text in rows]])


def _examples(command: Any) -> str:  # noqa: ANN401
    lines = [line.strip() for line in (command.epilog or "").splitlines()[2:]]
    return "\n".join(["```console", *lines, "```"]) if lines else ""


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
