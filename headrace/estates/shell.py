"""Parse a command line as a shell would: simple commands, words, redirections.

Variables and command substitutions stay as written; quotes are removed. In command lines with Windows paths, a
backslash is an ordinary character.
"""

import re
from dataclasses import dataclass

_WINDOWS = re.compile(r"(?:^|[\s\"=])(?:[A-Za-z]:\\|\\\\\w|%\w+%\\)")
_PARTS = r"""'[^']*'|"(?:[^"\\]|\\.)*"|`[^`]*`|\$\((?:[^()]|\([^()]*\))*\)|\$\{[^}]*\}"""
_LEXEME = (
    r"\s*(?:(?P<comment>(?<!\S)\#.*)|(?P<redirection>&>>?|\d*(?:>>|>\||<<<|<<-?|[<>]&?))"
    r"|(?P<control>&&|\|\||[;&|()\n])|(?P<word>(?:%s)+))"
)
_UNIX_TOKEN = re.compile(_LEXEME % (_PARTS + r"""|\\.|[^\s;&|<>()'"`\\$]+|[$"'`\\]"""), re.DOTALL)
_WINDOWS_TOKEN = re.compile(_LEXEME % (_PARTS + r"""|[^\s;&|<>()'"`$]+|[$"'`]"""), re.DOTALL)
_PIECE = re.compile(_PARTS + r"|\\.|[^'\"`\\$]+|.", re.DOTALL)
_MARK = re.compile(r"['\"\\]")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_SHELLS = frozenset(("sh", "bash", "ksh", "zsh", "dash", "csh", "tcsh"))
_BEFORE_A_COMMAND = frozenset(
    ("nohup", "time", "exec", "sudo", "env", "nice", "then", "do", "else", "if", "while", "!", "{")
)
_MAX_NESTING = 3  # maximum nesting of shells


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command: its words without quotes, and its redirections as operator (`>`, `2>>`, `<`) and target."""

    words: tuple[str, ...]
    redirections: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A command line: its commands in order, and the variables set before or between them."""

    commands: tuple[Command, ...]
    variables: tuple[tuple[str, str], ...]


def split(line: str, _depth: int = 0) -> Line:
    """Split a line into commands. Invalid syntax, such as an open quote, is parsed as far as possible."""
    windows = _WINDOWS.search(line) is not None
    commands: list[Command] = []
    variables: list[tuple[str, str]] = []
    words: list[str] = []
    redirections: list[tuple[str, str]] = []
    waiting: str | None = None

    def end() -> None:
        while words and (words[0] in _BEFORE_A_COMMAND or _ASSIGNMENT.fullmatch(words[0])):
            assignment = _ASSIGNMENT.fullmatch(words.pop(0))
            if assignment is not None:
                variables.append((assignment[1], assignment[2]))
        inner = _inner(words) if _depth < _MAX_NESTING else None
        if inner is not None:
            found = split(inner, _depth + 1)
            commands.extend(found.commands)
            variables.extend(found.variables)
            words.clear()
        if words or redirections:
            commands.append(Command(tuple(words), tuple(redirections)))
        words.clear()
        redirections.clear()

    for token in (_WINDOWS_TOKEN if windows else _UNIX_TOKEN).finditer(line):
        if token["control"]:
            end()
            waiting = None
        elif token["redirection"]:
            waiting = token["redirection"]
        elif token["word"]:
            word = _unquoted(token["word"], windows)
            if waiting is None:
                words.append(word)
            else:
                redirections.append((waiting, word))
                waiting = None
    end()
    return Line(tuple(commands), tuple(variables))


def _inner(words: list[str]) -> str | None:
    """Return the command line passed to `sh -c`."""
    if len(words) > 2 and program(words[0]) in _SHELLS:
        for position, word in enumerate(words[1:-1], 1):
            if not word.startswith("-"):
                return None
            if re.fullmatch(r"-[a-z]*c", word):
                return words[position + 1]
    return None


def program(word: str) -> str:
    """Return the program name in the first word of a command: no folders, no `.exe`, lower case."""
    name = re.split(r"[/\\]", word)[-1].lower()
    return name.removesuffix(".exe")


def _unquoted(word: str, windows: bool) -> str:
    if _MARK.search(word) is None:
        return word
    parts: list[str] = []
    for piece in _PIECE.findall(word):
        if len(piece) > 1 and piece[0] == "'":
            parts.append(piece[1:-1])
        elif len(piece) > 1 and piece[0] == '"':
            inner = piece[1:-1]
            parts.append(inner if windows else re.sub(r'\\(["\\$`])', r"\1", inner))
        elif piece[0] == "\\" and len(piece) == 2 and not windows:
            parts.append(piece[1])
        elif piece not in ("'", '"'):
            parts.append(piece)
    return "".join(parts)
