"""Translate exceptions of Spark, Java and the operating system to Headrace's own."""

from __future__ import annotations

import errno
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import unquote

from headrace.catalog.records import Version
from headrace.catalog.schema import sensitive
from headrace.spark.errors import (
    CorruptInput,
    DiskFull,
    InvalidCheck,
    ResourceError,
    SchemaMismatch,
    SparkUnavailable,
    StoreUnavailable,
)

_SPARK = frozenset({"pyspark", "py4j"})
_MAX_CAUSES = 12  # a longer chain is a cycle

# Patterns are matched against the full chain of causes, as PySpark and py4j print it.
_DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded|DSQuotaExceeded|NSQuotaExceeded")
_FORBIDDEN = re.compile(
    r"AccessControlException|AccessDenied|Permission denied|Read-only file system|Access Denied|"
    r"status code: 403|Forbidden"
)
_CREDENTIALS = re.compile(
    r"InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|Unable to locate credentials|"
    r"Unable to load credentials|No AWS Credentials|Partial credentials"
)
_UNREACHABLE = re.compile(
    r"UnknownHostException|NoRouteToHost|ConnectException|Connection refused|SocketTimeoutException|"
    r"UnsupportedFileSystemException|No FileSystem for scheme|Could not connect to the endpoint|"
    r"HttpChannelEOFException|AWSClientIOException|AWSServiceThrottledException|AWSStatus500Exception|"
    r"Wrong FS|Call From .* failed on connection|ClassNotFoundException: Class org.apache.hadoop.fs"
)
_NO_BUCKET = re.compile(r"NoSuchBucket|UnknownStoreException|specified bucket does not exist")
_UNWRITABLE = re.compile(
    r"Mkdirs failed to create|mkdir of .* failed|ParentNotDirectoryException|Not a directory|"
    r"Unable to create|Parent path is not a directory|FileAlreadyExistsException|Is a directory"
)
_MISSING_FILE = re.compile(
    r"FAILED_READ_FILE\.FILE_NOT_EXIST|PATH_NOT_FOUND|FileNotFoundException|(?:Path|File) \S+ does not exist"
)
_CORRUPT = re.compile(
    r"FAILED_READ_FILE|ChecksumException|is not a Parquet file|MALFORMED_RECORD_IN_PARSING|MALFORMED_CSV_RECORD|"
    r"Malformed (?:records|CSV|ORC)|CANNOT_READ_FILE_FOOTER|Could not read footer|PARQUET_CONVERSION_FAILURE|"
    r"PARQUET_COLUMN_DATA_TYPE_MISMATCH|BAD_RECORD|CSV header does not conform|"
    r"ParquetDecodingException|could not read page|corrupted|InvalidProtocolBufferException"
)
_RECORD = re.compile(r"MALFORMED_RECORD_IN_PARSING|MALFORMED_CSV_RECORD|BAD_RECORD|Malformed (?:records|CSV)")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z][A-Z0-9_]*)*)\]")
# Errors of the transform, whatever the message: a missing column, a Python function that raises.
NOTHING = "Nothing is at"  # begins the message about missing files
_NOT_ANALYSED = re.compile(r"^(?:AnalysisException|ParseException)", re.M)
_PYTHON_FUNCTION = re.compile(r"^PythonException|Traceback \(most recent call last\)", re.M)
_JVM_GONE = re.compile(
    r"Answer from Java side is empty|Py4JNetworkError|Error while sending or receiving|Py4JError: .*empty"
)
_PATTERN = re.compile(r"PatternSyntaxException")
_EXCEPTION = re.compile(r"[\w.$]+(?:Exception|Error): ")
_PATH = re.compile(r"(?:[a-z][a-z0-9+.-]*:/+|/)[^\s\"',;()]+")


@contextmanager
def explained(target: str, inputs: Collection[Version] = (), *, wholly: bool = False) -> Iterator[None]:
    """Convert exceptions with a known cause to ResourceError; others pass unchanged.

    target: the location or purpose being worked on; inputs: the versions that may be read meanwhile, called on errors
    only; wholly: only Headrace's code runs within, so any Spark exception is a ResourceError.
    """
    try:
        yield
    except ResourceError:
        raise
    except Exception as error:
        explained = meaning(error, target, tuple(inputs))
        if explained is None and wholly and _of_spark(error):
            explained = ResourceError(
                f"Spark failed at {target}: {_text(error).splitlines()[0].rstrip('.')}."
            )
        if explained is None:
            raise
        for note in getattr(error, "__notes__", ()):
            explained.add_note(note)
        raise explained from error


def meaning(error: BaseException, target: str, inputs: Sequence[Version] = ()) -> ResourceError | None:
    """Return the meaning of the error, or None if it does not come from Spark, or does not concern files, schemas or
    the JVM.

    An exception that Python code raises for its own reasons (a service that refuses a connection, a missing file of its
    own) says nothing about a store, however similar the message.
    """
    if not _of_spark(error):
        return None
    text = _chain(error)
    if isinstance(error, ConnectionError) or _JVM_GONE.search(text):
        return SparkUnavailable(
            f"Spark's JVM died while working on {target}. The next attempt starts a new one; if it dies again, "
            "look for an out-of-memory kill in the system's log and raise spark.driver.memory."
        )
    if _PYTHON_FUNCTION.search(text):
        return None
    if _DISK_FULL.search(text):
        return _disk_full(target)
    if _PATTERN.search(text):
        return InvalidCheck(
            f"Java cannot parse a regular expression: {_cause(text, _PATTERN)}. Correct the check's `str_matches` or "
            "`str_contains`, or the transform."
        )
    read = _input_at_fault(text, inputs)
    if read is not None:
        return read
    if "PATH_ALREADY_EXISTS" in text:
        return StoreUnavailable(
            f"{target} already exists, and a version is never written over another. Run again: each attempt has a "
            "new tag."
        )
    return unavailable(error, target) or _unwritable_schema(text, target)


def unavailable(error: BaseException, location: str) -> StoreUnavailable | None:
    """Return the error's meaning for the reachability of a location, or None."""
    text = _chain(error)
    if _NOT_ANALYSED.search(text):
        return None
    number = getattr(error, "errno", None)
    if number in (errno.ENOSPC, errno.EDQUOT) or _DISK_FULL.search(text):
        return _disk_full(location)
    if _CREDENTIALS.search(text):
        return StoreUnavailable(
            f"The credentials for {location} are missing, wrong or expired: {_cause(text, _CREDENTIALS)}. Give the "
            "processes of Headrace the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role."
        )
    if number in (errno.EACCES, errno.EPERM, errno.EROFS) or _FORBIDDEN.search(text):
        return StoreUnavailable(
            f"No permission at {location}: {_cause(text, _FORBIDDEN)}. Give the user that runs Headrace the right "
            "to read and write there, or set HEADRACE_WAREHOUSE to another place."
        )
    if number in (errno.ENOTDIR, errno.EISDIR, errno.EEXIST) or _UNWRITABLE.search(text):
        return StoreUnavailable(
            f"Cannot create {location}: {_cause(text, _UNWRITABLE)}. Check that the user who runs Headrace "
            "may write to the folders above it, or set HEADRACE_WAREHOUSE to another place."
        )
    if _NO_BUCKET.search(text):
        return StoreUnavailable(
            f"There is no bucket for {location}. Create it, or correct its name in the address."
        )
    if _UNREACHABLE.search(text):
        return StoreUnavailable(
            f"Cannot reach {location}: {_cause(text, _UNREACHABLE)}. Check the address in HEADRACE_WAREHOUSE, the "
            "network, and that Spark has the filesystem's library (spark.jars.packages)."
        )
    if isinstance(error, FileNotFoundError) or _MISSING_FILE.search(text):
        return StoreUnavailable(
            f"{NOTHING} {location}, or one of its files is missing. Restore it, or materialize the dataset again."
        )
    if isinstance(error, OSError):
        return StoreUnavailable(f"Cannot use {location}: {error}.")
    return None


def corrupt(version: Version, file: str, reason: str) -> CorruptInput:
    """Create the exception for a version whose file cannot be read."""
    remedy = (
        "Another system writes it: have it delivered again, then run `headrace observe`"
        if version.metadata.get("external")
        else f"Roll {version.dataset} back to an earlier version, or materialize it again"
    )
    return CorruptInput(
        f"{_translated(version)} cannot be read: {reason} (file {file}). {remedy}; published versions are unchanged."
    )


def _input_at_fault(text: str, inputs: Sequence[Version]) -> ResourceError | None:
    missing, broken = _MISSING_FILE.search(text), _CORRUPT.search(text)
    if not (missing or broken):
        return None
    version, file = _blamed(text, inputs)
    if version is None:
        return None
    return corrupt(version, file, "a file is missing" if missing else _corruption(text, version))


def _corruption(text: str, version: Version) -> str:
    """Return Spark's message about a corrupt file; only its error condition if the message may quote a sensitive
    record."""
    if not sensitive(version.columns):
        return _cause(text, _CORRUPT)
    conditions = [found[1] for found in _CONDITION.finditer(text)]
    return f"[{conditions[-1]}], details withheld" if conditions else "it is damaged"


def _blamed(text: str, inputs: Sequence[Version]) -> tuple[Version | None, str]:
    """Return the version whose location the text mentions, with the file mentioned.

    Spark prints paths as URIs with or without percent-encoding, so both are compared.
    """
    by_location = {_bare(location): version for version in inputs for location in version.locations}
    for found in _PATH.findall(text):
        for form in (found, unquote(found)):
            path = _bare(form.rstrip(".:"))
            for location, version in by_location.items():
                if path == location or path.startswith(location + "/"):
                    return version, form.rstrip(".:")
    # A malformed record may also be a text that the transform itself parses.
    of_file = "FAILED_READ_FILE" in text or not _RECORD.search(text)
    if len(inputs) == 1 and of_file and _CORRUPT.search(text):
        return inputs[0], inputs[0].location
    return None, ""


def _unwritable_schema(text: str, target: str) -> SchemaMismatch | None:
    unsupported = re.search(r"UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE\S*\s*(.*)", text)
    if unsupported is None:
        return None
    return SchemaMismatch(
        f"{target}: {unsupported[1].strip()} Choose another format for the dataset, or cast the column."
    )


def _disk_full(target: str) -> DiskFull:
    return DiskFull(
        f"Disk full while writing {target}. Free space there (and in spark.local.dir, where Spark keeps what does "
        "not fit into memory), or set HEADRACE_WAREHOUSE to another place."
    )


def _of_spark(error: BaseException) -> bool:
    """Return True if Spark or its client raised the error: by its class, or by the code that it comes from."""
    raised_in, trace = "", error.__traceback__
    while trace is not None:
        raised_in, trace = str(trace.tb_frame.f_globals.get("__name__")), trace.tb_next
    modules = [raised_in, *(cls.__module__ for cls in type(error).__mro__)]
    return any(module.partition(".")[0] in _SPARK for module in modules)


def _translated(version: Version) -> str:
    partition = f" partition {version.partition}" if version.partition is not None else ""
    return f"{version.dataset}{partition} version {version.tag}"


def _bare(path: str) -> str:
    """Normalise a path for comparison, without scheme and repeated slashes: file:/a and file:///a are equal."""
    scheme, found, rest = path.partition(":/")
    if not found:
        return path.rstrip("/")
    return ("" if scheme == "file" else f"{scheme}:/") + "/" + rest.strip("/")


def _cause(text: str, pattern: re.Pattern[str]) -> str:
    """Return the message of the innermost matching exception, without the names of the exceptions around it."""
    found = [(line, match) for line in text.splitlines() if (match := pattern.search(line))]
    if not found:
        return "no details"
    line, match = found[-1]
    heads = [head.end() for head in _EXCEPTION.finditer(line) if head.start() <= match.end()]
    return line[max(heads, default=0) :].strip().rstrip(".")[:300] or line.strip()


def _chain(error: BaseException) -> str:
    """Return the texts of an exception, its causes and the Java exceptions inside, one below the other."""
    lines: list[str] = []
    current: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if current is None:
            break
        lines.append(_text(current))
        stack = getattr(current, "_stackTrace", None) or getattr(
            current, "_stacktrace", None
        )  # classic, Connect
        if isinstance(stack, str):
            lines.append(stack)
        current = current.__cause__ or current.__context__
    return "\n".join(line for text in lines for line in text.splitlines() if not line.startswith("\tat "))


def _text(error: BaseException) -> str:
    """Return the exception's text; PySpark requests it from the JVM, which may have ended."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as unsaid:
        return f"{type(error).__name__}: {type(unsaid).__name__}: {unsaid}"
