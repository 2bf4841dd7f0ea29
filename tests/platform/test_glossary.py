"""The glossary: banned words in help, messages, docs, docstrings, comments, names, SQL and tables."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from sqlalchemy import Engine

from headrace.cli import app
from headrace.database.connection import transaction
from tests.paths import REPOSITORY

PLATFORM = REPOSITORY / "headrace"
PAGES = [
    *sorted((REPOSITORY / "docs").glob("*.md")),
    *(REPOSITORY / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")),
]
COLUMNS = 80

# In names of modules, classes, functions, parameters, variables, tables, columns and SQL files: parts of a name.
BANNED_NAMES = {
    "told", "tell", "tells", "telling", "said", "saying", "happening", "happenings", "promise", "promises", "promised",
    "gravity", "urgency", "standing", "standings", "announcement", "announcements", "parcel", "discretion", "discreet",
    "announce", "announced", "announces", "nobody", "somebody", "anybody", "everybody", "whoever", "whom", "heard",
    "acting", "leaf", "leaves", "unheard", "noticed", "trouble", "troubles", "parcels", "door", "doors", "gravest",
}  # fmt: skip
# Exceptions, with the reason.
ALLOWED_NAMES = {
    "leave_late_runs": "the verb",
    "LEAVES": "the verb",
    "leaves": "the verb",
    "nobody": "the Unix user",
    "NOBODY": "the Unix user",
    "become_nobody": "the Unix user",
}
LIMITS = {
    "AT_ONCE",
    "MOST",
    "LARGEST",
    "LONGEST",
    "LISTED",
    "FAR",
    "DEEPEST",
    "SHOWN",
    "FARTHEST",
    "RANKED",
    "SETTLED",
    "SENDING",
    "BUDGET",
    "CHAINED",
    "DOUBTFUL",
}  # without MAX_ or a unit

# In help and pages: people are "they", and things have the names of the glossary.
BANNED_PHRASES = [
    r"\bhe\b", r"\bhim\b", r"\bhis\b", r"\bhimself\b", r"\bwhoever\b", r"\bsomebody\b", r"\bnobody\b", r"\banybody\b",
    r"\beverybody\b", r"\bhappenings?\b", r"\bpromises?\b", r"\bpromised\b", r"\bgravity\b", r"\burgency\b",
    r"\bstandings?\b",
    r"\bis told\b", r"\bare told\b", r"\bbe told\b", r"\bwas told\b", r"\bwere told\b", r"\bparcels?\b",
    r"\bunasked\b", r"\banew\b", r"\bforeseen\b", r"(?<!here )\b(?:is|was) no (?!longer|more|earlier|less)",
]  # fmt: skip
# In docstrings, comments and comments of SQL.
BANNED_IN_PROSE = [
    *BANNED_PHRASES, r"\bsaid\b", r"\btold\b", r"\btells?\b", r"\btelling\b", r"\bwhom\b",
    r"\bheard of\b", r"\btaken for\b", r"^(?:What|Whether|Whoever|Whatever|Whose)\b",
]  # fmt: skip
# In messages of the code.
BANNED_IN_MESSAGES = [
    r"\bhe\b", r"\bhim\b", r"\bhis\b", r"\bwhoever\b", r"\bsomebody\b", r"\bnobody\b", r"\bhappenings?\b",
    r"\w\(e?s\)",
    r"\bpromises?\b", r"\bunasked\b", r"\bforeseen\b", r"(?<!here )\b(?:is|was) no (?!longer|more|earlier|less)",
]  # fmt: skip


@cache
def trees(*folders: str) -> list[tuple[str, ast.Module]]:
    return [
        (str(path.relative_to(REPOSITORY)), ast.parse(path.read_text()))
        for folder in folders
        for path in sorted((REPOSITORY / folder).rglob("*.py"))
        if not {"templates", "node_modules"} & set(path.parts)
    ]


def parts(name: str) -> set[str]:
    return {part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def names(*folders: str) -> Iterator[tuple[str, str]]:
    """Modules, classes, functions, parameters and variables."""
    for path, tree in trees(*folders):
        yield path, Path(path).stem
        for node in ast.walk(tree):
            match node:
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    yield f"{path}:{node.lineno}", node.name
                case ast.arg():
                    yield f"{path}:{node.lineno}", node.arg
                case ast.Name(ctx=ast.Store()):
                    yield f"{path}:{node.lineno}", node.id


def sql_names() -> Iterator[tuple[str, str]]:
    """The SQL files, and the parameters and aliases in them."""
    for file in sql_files():
        yield file.name, file.stem
        for name in re.findall(r"%\((\w+)\)s|\bAS (?!MATERIALIZED\b)(\w+)", file.read_text()):
            yield file.name, name[0] or name[1]


def sql_files() -> list[Path]:
    return [path for path in sorted(PLATFORM.rglob("*.sql")) if "versions" not in path.parts]


def prose() -> Iterator[tuple[str, str]]:
    """Docstrings and comments of the platform, those of SQL included."""
    for path, tree in trees("headrace"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{path}: {getattr(node, 'name', '')}", ast.get_docstring(node) or ""
        with tokenize.open(REPOSITORY / path) as source:
            for token in tokenize.generate_tokens(source.readline):
                if token.type == tokenize.COMMENT:
                    yield f"{path}:{token.start[0]}", token.string
    for file in sql_files():
        for comment in re.findall(r"--.*", file.read_text()):
            yield file.name, comment


def messages() -> Iterator[tuple[str, str]]:
    """Yield texts of more than a word, except docstrings and SQL."""
    for path, tree in trees("headrace"):
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                text = node.value
                if " " in text and not re.search(r"\b(SELECT|FROM|WHERE|INSERT|JOIN)\b", text):
                    yield f"{path}:{node.lineno}", text


def commands(group: Any = None, path: str = "headrace") -> Iterator[tuple[str, Any, Any]]:
    group = group or typer.main.get_command(app)
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield f"{path} {name}", command, group
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{path} {name}")


def found(patterns: list[str], text: str) -> list[str]:
    return [match[0] for pattern in patterns for match in re.finditer(pattern, text)]


def test_names_use_the_words_of_the_glossary() -> None:
    wrong = [
        f"{place}: {name}"
        for place, name in [
            *names("headrace", "tests", "benchmarks"),
            *sql_names(),
        ]
        if parts(name) & BANNED_NAMES
        and name.strip("_") not in ALLOWED_NAMES
        and not name.startswith("test_")
    ]
    assert not wrong, "\n".join(wrong)


def test_docstrings_and_comments_use_the_words_of_the_glossary() -> None:
    wrong = [
        f"{place}: {' '.join(words)}: {' '.join(text.split())[:100]}"
        for place, text in prose()
        if (words := found(BANNED_IN_PROSE, text))
    ]
    assert not wrong, "\n".join(wrong)


def test_constants_say_what_they_limit() -> None:
    wrong = [
        f"{place}: {name}" for place, name in names("headrace") if name.isupper() and "MAX" not in name and any(
            name.strip("_") == word or name.endswith(f"_{word}") or name.startswith((f"{word}_", f"_{word}_"))
            for word in LIMITS
        )
    ]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_tables_and_columns_use_the_words_of_the_glossary(engine: Engine) -> None:
    with transaction(engine) as cursor:
        columns = cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'catalog'"
        ).fetchall()
    assert columns
    wrong = [
        f"{row['table_name']}.{row['column_name']}"
        for row in columns
        if (parts(row["table_name"]) | parts(row["column_name"])) & BANNED_NAMES
    ]
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_the_words_of_the_glossary(page: Path) -> None:
    wrong = [
        f"{page.name}:{number}: {' '.join(found(BANNED_PHRASES, line))}: {line.strip()[:100]}"
        for number, line in enumerate(page.read_text().splitlines(), 1)
        if found(BANNED_PHRASES, line)
    ]
    assert not wrong, "\n".join(wrong)


def test_help_uses_the_words_of_the_glossary() -> None:
    wrong = []
    for name, command, _ in commands():
        texts = [command.help or "", *(getattr(each, "help", None) or "" for each in command.params)]
        wrong += [f"{name}: {word}: {text[:80]}" for text in texts for word in found(BANNED_PHRASES, text)]
    assert not wrong, "\n".join(wrong)


def test_messages_use_the_words_of_the_glossary() -> None:
    wrong = [
        f"{place}: {' '.join(words)}: {text.strip()[:90]}"
        for place, text in messages()
        if (words := found(BANNED_IN_MESSAGES, text))
    ]
    assert not wrong, "\n".join(wrong)


def test_summaries_of_commands_fit_in_one_line() -> None:
    wrong = []
    for name, command, group in commands():
        width = max(len(each) for each in group.list_commands(None))
        summary = command.get_short_help_str(
            COLUMNS - 2 - width - 6
        )  # click leaves 2 columns free, and 6 for margins
        if summary.endswith("..."):
            wrong.append(f"{name}: {summary}")
    assert not wrong, "\n".join(wrong)
