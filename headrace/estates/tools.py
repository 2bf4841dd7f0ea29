"""Inputs and outputs of well-known programs, derived from their arguments."""

import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from headrace.estates.shell import program


class Direction(StrEnum):
    """Use of a dataset by a job."""

    READS = "reads"
    WRITES = "writes"
    UNKNOWN = "unknown"


Use = tuple[str, Direction]
Tool = Callable[[Sequence[str]], Iterator[Use]]

_READ_OPTIONS = re.compile(
    "i|in|input|infile|inputs|inputfile|inputpath|inputdir|indir|src|srcfile|source|from|read|data|datafile"
)
_WRITE_OPTIONS = re.compile(
    "o|out|output|outfile|outputs|outputfile|outputpath|outputdir|outdir|dest|destination|dst|target|to|write|sink"
)
_SPARK_FLAGS = frozenset(("--verbose", "-v", "--supervise", "--version"))
_HDFS_COPY = frozenset(
    (
        "-put",
        "-copyfromlocal",
        "-movefromlocal",
        "-get",
        "-copytolocal",
        "-getmerge",
        "-cp",
        "-mv",
        "-appendtofile",
    )
)
_HDFS = {
    "-cat": Direction.READS,
    "-text": Direction.READS,
    "-touchz": Direction.WRITES,
    "-touch": Direction.WRITES,
}
_DB2_FROM = re.compile(r"\b(?:load|import)\s+(?:client\s+)?from\s+(\S+)\s+of\b", re.IGNORECASE)
_DB2_TO = re.compile(r"\bexport\s+to\s+(\S+)\s+of\b", re.IGNORECASE)


def known_uses(words: Sequence[str]) -> list[Use] | None:
    """Return the inputs and outputs of a command with a known program; None for an unknown one."""
    tool = _TOOLS.get(program(words[0])) if words else None
    return list(tool(words[1:])) if tool is not None else None


def option_uses(arguments: Sequence[str]) -> Iterator[tuple[str, Direction, bool]]:
    """Yield likely paths among the arguments of an unknown program: text, direction, and whether an option names it."""
    waiting: Direction | None = None
    for argument in arguments:
        name, equals, value = argument.partition("=")
        is_option = argument.startswith("-") and len(argument) > 1
        direction = _option_direction(name) if is_option or (equals and name.isidentifier()) else None
        if equals and (direction is not None or is_option):
            yield value, direction or Direction.UNKNOWN, direction is not None
            waiting = None
        elif is_option:
            waiting = direction
        else:
            yield argument, waiting or Direction.UNKNOWN, waiting is not None
            waiting = None


def _option_direction(name: str) -> Direction | None:
    word = re.sub(r"[-_]", "", name.lower())
    if _READ_OPTIONS.fullmatch(word):
        return Direction.READS
    return Direction.WRITES if _WRITE_OPTIONS.fullmatch(word) else None


def _operands(arguments: Sequence[str], with_value: str = "") -> list[str]:
    """Return the arguments that are not options; `with_value` lists, separated by blanks, the options that take a
    value."""
    taking, found, skip = with_value.split(), [], False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in taking:
            skip = True
        elif not argument.startswith("-") or argument == "-":
            found.append(argument)
    return found


def _copy(arguments: Sequence[str], with_value: str = "") -> Iterator[Use]:
    operands = _operands(arguments, with_value)
    if len(operands) > 1:
        yield from ((source, Direction.READS) for source in operands[:-1])
        yield operands[-1], Direction.WRITES


def _scp(arguments: Sequence[str]) -> Iterator[Use]:
    return _copy(arguments, "-P -i -o -c -F -l -S -J")


def _rsync(arguments: Sequence[str]) -> Iterator[Use]:
    return _copy(arguments, "-e --exclude --include")


def _reads(arguments: Sequence[str]) -> Iterator[Use]:
    return ((operand, Direction.READS) for operand in _operands(arguments, "-n -c"))


def _reads_after_first(arguments: Sequence[str]) -> Iterator[Use]:
    return ((operand, Direction.READS) for operand in _operands(arguments, "-F -v -f -e")[1:])


def _writes(arguments: Sequence[str]) -> Iterator[Use]:
    return ((operand, Direction.WRITES) for operand in _operands(arguments, "-t -r -d"))


def _nothing(arguments: Sequence[str]) -> Iterator[Use]:
    return iter(())


def _zip_to(suffix: str) -> Tool:
    def uses(arguments: Sequence[str]) -> Iterator[Use]:
        for operand in _operands(arguments):
            yield operand, Direction.READS
            if "-c" not in arguments:
                yield operand + suffix, Direction.WRITES

    return uses


def _unzip_from(suffix: str) -> Tool:
    def uses(arguments: Sequence[str]) -> Iterator[Use]:
        for operand in _operands(arguments):
            yield operand, Direction.READS
            if operand.endswith(suffix) and "-c" not in arguments:
                yield operand.removesuffix(suffix), Direction.WRITES

    return uses


def _sort(arguments: Sequence[str]) -> Iterator[Use]:
    for position, argument in enumerate(arguments[:-1]):
        if argument == "-o":
            yield arguments[position + 1], Direction.WRITES
    yield from ((operand, Direction.READS) for operand in _operands(arguments, "-o -k -t -T -S"))


def _tar(arguments: Sequence[str]) -> Iterator[Use]:
    if len(arguments) < 2 or "f" not in arguments[0]:
        return
    creates = "c" in arguments[0]
    yield arguments[1], Direction.WRITES if creates else Direction.READS
    if creates:
        yield from ((operand, Direction.READS) for operand in _operands(arguments[2:], "-C"))


def _fetch(arguments: Sequence[str]) -> Iterator[Use]:
    for position, argument in enumerate(arguments[:-1]):
        if argument in ("-o", "-O", "--output", "--output-document"):
            yield arguments[position + 1], Direction.WRITES
        elif argument in ("-T", "--upload-file"):
            yield arguments[position + 1], Direction.READS


def _dd(arguments: Sequence[str]) -> Iterator[Use]:
    for argument in arguments:
        if argument.startswith(("if=", "of=")):
            yield argument[3:], Direction.READS if argument[0] == "i" else Direction.WRITES


def _sqlldr(arguments: Sequence[str]) -> Iterator[Use]:
    for argument in arguments:
        key, _, value = argument.partition("=")
        if value and key.lower() in ("data", "bad", "discard"):
            yield value, Direction.READS if key.lower() == "data" else Direction.WRITES


def _bcp(arguments: Sequence[str]) -> Iterator[Use]:
    for position, argument in enumerate(arguments[:-1]):
        if argument.lower() in ("in", "out", "queryout"):
            yield arguments[position + 1], Direction.READS if argument.lower() == "in" else Direction.WRITES


def _db2(arguments: Sequence[str]) -> Iterator[Use]:
    statement = " ".join(arguments)
    yield from ((found, Direction.READS) for found in _DB2_FROM.findall(statement))
    yield from ((found, Direction.WRITES) for found in _DB2_TO.findall(statement))


def _hdfs(arguments: Sequence[str]) -> Iterator[Use]:
    if len(arguments) < 3 or arguments[0] not in ("dfs", "fs"):
        return
    action = arguments[1].lower()
    if action in _HDFS_COPY:
        yield from _copy(arguments[2:])
    elif action in _HDFS:
        yield from ((operand, _HDFS[action]) for operand in _operands(arguments[2:]))


def _cloud(*verbs: str) -> Tool:
    def uses(arguments: Sequence[str]) -> Iterator[Use]:
        words = [each for each in arguments if each not in ("s3", "-m", "-q")]
        if words and words[0] in verbs:
            yield from _copy(words[1:], "--exclude --include --profile --region --sse --acl")

    return uses


def _spark(arguments: Sequence[str]) -> Iterator[Use]:
    """Yield the arguments after the application; the options before it are Spark's."""
    position = 0
    while position < len(arguments) and arguments[position].startswith("-"):
        has_value = arguments[position] not in _SPARK_FLAGS and "=" not in arguments[position]
        position += 2 if has_value else 1
    for text, direction, is_option in option_uses(arguments[position + 1 :]):
        if is_option:
            yield text, direction


_TOOLS: dict[str, Tool] = {
    name: tool
    for names, tool in (
        ("cp mv copy move xcopy robocopy install", _copy),
        ("scp pscp", _scp),
        ("rsync", _rsync),
        ("cat head tail wc type unzip", _reads),
        ("grep egrep fgrep awk sed", _reads_after_first),
        ("touch tee", _writes),
        ("sort", _sort),
        ("tar", _tar),
        ("gzip", _zip_to(".gz")),
        ("bzip2", _zip_to(".bz2")),
        ("compress", _zip_to(".Z")),
        ("gunzip", _unzip_from(".gz")),
        ("bunzip2", _unzip_from(".bz2")),
        ("uncompress", _unzip_from(".Z")),
        ("curl wget", _fetch),
        ("dd", _dd),
        ("sqlldr", _sqlldr),
        ("bcp", _bcp),
        ("db2", _db2),
        ("hdfs hadoop", _hdfs),
        ("aws", _cloud("cp", "mv", "sync")),
        ("gsutil", _cloud("cp", "mv", "rsync")),
        ("azcopy", _cloud("copy", "cp", "sync")),
        ("spark-submit spark2-submit spark3-submit", _spark),
        ("bteq ftp sftp sqlplus", _nothing),  # the files they move are listed in their script
        ("cd echo exit rm del mkdir chmod chown ln test [ ls find sleep export date", _nothing),
    )
    for name in names.split()
}
