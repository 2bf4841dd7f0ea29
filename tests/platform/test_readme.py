"""The README agrees with the product, and messages and documents name commands that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from headrace.cli import app
from headrace.declarations.loading.project import load
from tests.paths import REPOSITORY
from tests.platform.projects import write_project

README = (REPOSITORY / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
LINES = [line for kind, text in BLOCKS if kind == "bash" for line in text.splitlines()]
COMMANDS = [line for line in LINES if line.startswith("headrace ")]


@pytest.mark.parametrize("line", COMMANDS)
def test_each_command_of_the_readme_is_understood(line: str) -> None:
    name, *arguments = shlex.split(line, comments=True)[1:]
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]

    command.make_context(name, arguments)


COMMAND = r"headrace ([a-z][a-z-]*)(?: ([a-z][a-z-]*)(?![\w./]))?"
NAMED = {".md": re.compile(rf"(?:`|^){COMMAND}", re.MULTILINE), ".py": re.compile(rf"[`\"'(]{COMMAND}")}
PLACES = (("headrace", "**/*"), ("docs", "**/*.md"), ("jobs", "*.py"), ("benchmarks", "*.py"), (".", "*.md"))
TEXTS = [
    path
    for folder, pattern in PLACES
    for path in sorted((REPOSITORY / folder).glob(pattern))
    if path.suffix in NAMED
]


def test_each_command_that_a_message_or_a_document_names_exists() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    wrong = [
        f"{path.relative_to(REPOSITORY)}: headrace {name} {rest}"
        for path in TEXTS
        for name, rest in NAMED[path.suffix].findall(path.read_text(encoding="utf-8"))
        if name not in commands or (rest and rest not in getattr(commands[name], "commands", [rest]))
    ]
    assert wrong == []


SHOWN = re.compile(r"^(?:    |\$ )?headrace ([a-z].*?)(?:\s#.*| [>|&].*)?$", re.MULTILINE)


def test_each_option_that_a_document_shows_exists() -> None:
    wrong = []
    for path in TEXTS:
        for line in SHOWN.findall(path.read_text(encoding="utf-8")) if path.suffix == ".md" else ():
            command: Any = typer.main.get_command(app)
            words = shlex.split(line)
            while words and words[0] in getattr(command, "commands", {}):
                command = command.commands[words.pop(0)]
            try:
                command.make_parser(typer.Context(command)).parse_args(words)
            except Exception as error:
                wrong.append(f"{path.relative_to(REPOSITORY)}: headrace {line}: {error}")
    assert wrong == []


def test_each_target_of_the_readme_can_be_made() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    targets = {line.split()[1] for line in LINES if line.startswith("make ")}
    assert targets
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_each_page_that_the_readme_names_exists() -> None:
    pages = re.findall(r"\]\(([^)#]+)\)", README)
    assert pages
    assert [page for page in pages if not (REPOSITORY / page).exists()] == []


def test_the_smallest_dataset_loads(tmp_path: Path) -> None:
    declaration, connected = [text for kind, text in BLOCKS if kind == "yaml"]
    assert len(declaration.splitlines()) < 10
    source = (
        "---\ntype: headrace.ExternalDataset\nattributes:\n  key: flights/route_monthly\n"
        "  partitions: {type: monthly, start: '2013-01-01'}\n"
    )
    loaded = load(write_project(tmp_path, "flights", declaration + connected + source))
    assert [str(problem) for problem in loaded.problems] == []
    assert {plan.record.key for plan in loaded.plans} == {"flights/busiest_routes", "flights/route_monthly"}


FILES = re.compile(r"`([\w./-]+/[\w.-]+\.(?:py|sql|toml|yaml|md))`")


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/autosys.md"])
def test_each_file_of_the_platform_that_a_page_names_exists(page: str) -> None:
    named = FILES.findall((REPOSITORY / page).read_text(encoding="utf-8"))
    assert named
    platform = REPOSITORY / "headrace"
    assert [
        name for name in named if not any((folder / name).exists() for folder in (REPOSITORY, platform))
    ] == []
