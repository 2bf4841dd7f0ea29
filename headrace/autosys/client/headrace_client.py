#!/usr/bin/env python3
"""Report to Headrace what a job did: one file that needs only the standard library, for Python 3.6 and newer.

Copy it to the host where the jobs run. In Python:

    from headrace_client import register_dataset, register_process
    register_dataset("ops/raw_flights", version="2013-01-01", row_count=842, location="/data/flights.csv")
    register_process("LOAD_FLIGHTS", "SUCCESS", business_date="2013-01-01")

In a shell script:

    python3 headrace_client.py dataset ops/raw_flights version=2013-01-01 row_count=842
    python3 headrace_client.py process LOAD_FLIGHTS SUCCESS business_date=2013-01-01
    python3 headrace_client.py run -- /opt/jobs/load_flights.sh -d 2013-01-01

Reports are sent to HEADRACE_URL (http://host:3200), or written to the folder HEADRACE_COMPLETIONS. Undelivered reports
are kept in HEADRACE_SPOOL and delivered by a later call. HEADRACE_TOKEN is the token of the run, or of a service.
Reporting never fails a job: a call takes at most HEADRACE_TIMEOUT seconds (3), writes errors to stderr in one line, and
exits with 0; `run` exits like its command.
"""

# Rules for newer Pythons that do not apply to 3.6:
# ruff: noqa: ANN401, B904, B905, PTH103, PTH104, PTH108, PTH111, PTH113, PTH115, PTH116, PTH118, PTH119, PTH120, PTH123
# ruff: noqa: PTH208, S310, S311, SIM105, UP006, UP017, UP031, UP035, UP037, UP045

import codecs
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from datetime import date, datetime, timezone
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

BATCH = 200  # documents per delivery
FORBIDDEN = "it belongs to another run than the token"
MAX_WAITING_DOCUMENTS = 10000
NUMBERS = ("attempt", "byte_size", "exit_code", "max_exit_success", "row_count")
PASSED_ON = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGALRM")
KILLS = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGKILL")
USAGE = (
    "usage: headrace_client.py dataset NAME [FACT=VALUE...] | process NAME STATUS [FACT=VALUE...] | flush"
    " | run [FACT=VALUE...] -- COMMAND..."
)

Document = Dict[str, Any]


def register_dataset(name: str, version: Optional[str] = None, status: str = "SUCCESS", **facts: Any) -> bool:
    """Report that the dataset `name` has been written; returns True if that was delivered immediately.

    facts: row_count, location, format, byte_size, checksum (`sha256:...`), partition, business_date, schema, metadata,
    and any other metadata. `process` reports the end of that process's run, too; without it, the surrounding Autosys
    job is metadata.
    """
    job = _autosys()
    if job and "process" not in facts:
        here = {"job": job["process"], "instance": job.get("instance"), "run": job.get("run")}
        here.update(facts.get("metadata") or {})
        facts["metadata"] = {name: value for name, value in here.items() if value is not None}
    return _in_time(_report, dict(facts, dataset=name, version=version, status=status))


def register_process(name: str, status: str, **facts: Any) -> bool:
    """Report the status of the process `name`; returns True if that was delivered immediately.

    status: Autosys' name or code (RUNNING, SUCCESS, FAILURE, TERMINATED, SU, FA). facts: run, attempt, exit_code,
    machine, log, business_date, partition, reason, outputs, and any other metadata.
    """
    here = _autosys()
    if here.get("process") != name:
        here = {}
    here.update(facts)
    return _in_time(_report, dict(here, process=name, status=status))


def flush() -> bool:
    """Deliver waiting reports, oldest first, until none is left or the server is unreachable; returns True if none
    is left."""
    waiting = _waiting()
    while waiting:
        _in_time(_deliver)
        left = _waiting()
        if len(left) >= len(waiting):
            return False
        waiting = left
    return True


def run(command: Sequence[str], **facts: Any) -> int:
    """Run the command and report its start and its end; returns its exit code, negative for the signal that ended it.

    The command has this process's input, output, environment and process group; signals to this process are passed on.
    facts: like those of `register_process`; max_exit_success: the highest exit code that is a success, as in Autosys.
    """
    started, clock = _now(), time.monotonic()
    document = _autosys() or {"process": os.path.basename(command[0]), "technology": "SHELL"}
    document.setdefault("run", _unique())
    document.update(machine=socket.gethostname(), log=_log_place(), started_at=started)
    document.update(facts)
    forwarder = _SignalForwarder()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if it is ignored, no exit code is kept
    reason = None
    complaints: List[str] = []
    try:
        child = subprocess.Popen(command, close_fds=False)
    except OSError as error:
        code = 127 if isinstance(error, FileNotFoundError) else 126
        reason = "%s: %s" % (command[0], error.strerror)
        _complain(reason)
    else:
        forwarder.on_to(child)
        _begin(_report, (dict(document, status="RUNNING", at=started),), complaints)
        code = _wait(child)
        if code < 0:
            reason = "ended by %s" % _signal_name(-code)
    for complaint in complaints:
        _complain(complaint)
    most = document.get("max_exit_success", 0)
    document.update(
        status=_status(code, most if isinstance(most, int) else 0),
        exit_code=_as_shells_say(code),
        reason=reason,
        duration_seconds=round(time.monotonic() - clock, 3),
    )
    _in_time(_report, document)
    forwarder.end()
    return code


def main(words: Sequence[str]) -> int:
    """Run the command line; returns the exit code."""
    action = words[0] if words else ""
    if action == "run":
        return _main_run(words[1:])
    try:
        if action == "dataset" and len(words) > 1:
            register_dataset(words[1], **_facts(words[2:]))
        elif action == "process" and len(words) > 2:
            register_process(words[1], words[2], **_facts(words[3:]))
        elif action == "flush" and len(words) == 1:
            flush()
        else:
            _complain(USAGE)
    except Exception as error:
        _complain("%s: %s" % (type(error).__name__, error))
    return 0


def _main_run(words: Sequence[str]) -> int:
    cut = words.index("--") if "--" in words else len(words)
    if cut >= len(words) - 1:
        _complain(USAGE)
        return 2
    try:
        facts = _facts(words[:cut])
    except ValueError as error:
        _complain(str(error))
        facts = {}
    code = run(words[cut + 1 :], **facts)
    if code < 0:
        _die_of(-code)
    return _as_shells_say(code)


def _facts(words: Sequence[str]) -> Document:
    """Parse FACT=VALUE as text, or as a number if required; FACT:=JSON as JSON."""
    facts: Document = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip(":"):
            raise ValueError("%r is not a FACT=VALUE" % word)
        if name.endswith(":"):
            try:
                facts[name[:-1]] = json.loads(_text(value))
            except ValueError:
                raise ValueError("%s=... is not valid JSON" % name)
        elif value:
            facts[name] = _number(value) if name in NUMBERS else value
    return facts


def _number(value: str) -> Any:
    try:
        return int(value)
    except ValueError:
        return value  # the server reports the problem


def _autosys() -> Document:
    """Return the facts that Autosys passes to a job; empty outside of Autosys."""
    job = os.environ.get("AUTO_JOB_NAME")
    if not job:
        return {}
    found: Document = {"process": job, "technology": "AUTOSYS"}
    for name, variable in (("instance", "AUTOSERV"), ("run", "AUTORUN")):
        value = os.environ.get(variable)
        if value:
            found[name] = value
    return found


def _log_place() -> Optional[str]:
    """Return the file that the job's output goes to, if it is known."""
    for descriptor in (1, 2):
        try:
            place = os.readlink("/proc/self/fd/%d" % descriptor)
        except OSError:
            continue
        if os.path.isfile(place):
            return place
    return None


# The end of a command that is run, and the signals until then


def _wait(child: "subprocess.Popen[bytes]") -> int:
    """Wait for the exit code, in steps: a signal just before an endless wait would only be passed on after that
    wait."""
    while True:
        try:
            return child.wait(timeout=60)  # polls twenty times a second, which lets the handlers run
        except subprocess.TimeoutExpired:
            pass


class _SignalForwarder:
    """Passes signals to this process on to a command; until it has started they are queued."""

    def __init__(self) -> None:
        self.child: Optional["subprocess.Popen[bytes]"] = None
        self.early: List[int] = []
        self.before: Dict[int, Any] = {}
        for name in PASSED_ON:
            number = getattr(signal, name, None)
            # A signal ignored here is ignored by the command too.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                self.before[number] = signal.signal(number, self.receive)

    def on_to(self, child: "subprocess.Popen[bytes]") -> None:
        self.child = child
        for number in self.early:
            self.receive(number, None)

    def receive(self, number: int, _: Any) -> None:
        if self.child is None:
            self.early.append(number)
        # Signals from a terminal are sent to its whole foreground process group.
        elif self.child.returncode is None and not (
            number in (signal.SIGINT, signal.SIGQUIT) and _is_in_foreground()
        ):
            try:
                os.kill(self.child.pid, number)
            except ProcessLookupError:
                pass

    def end(self) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


def _is_in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _die_of(number: int) -> None:
    """End like the command did; a core dump, if any, is the command's."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _status(code: int, most: int) -> str:
    if 0 <= code <= most:
        return "SUCCESS"
    return "TERMINATED" if code < 0 and _signal_name(-code) in KILLS else "FAILURE"


def _as_shells_say(code: int) -> int:
    return code if code >= 0 else 128 - code


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal %d" % number


# The time limit of a call, and its messages


def _in_time(what: Callable[..., bool], *arguments: Any) -> bool:
    """Run a function, but return after the time limit: a name lookup, or a hanging disk, has no timeout."""
    results: List[bool] = []
    complaints: List[str] = []
    work = _begin(what, arguments, complaints, results)
    work.join(_timeout() + 0.2)
    for complaint in complaints:
        _complain(complaint)
    if work.is_alive():
        _complain("no response within %g s; it waits in %s" % (_timeout(), _spool_name()))
    return results == [True]


def _begin(
    what: Callable[..., bool],
    arguments: Sequence[Any],
    complaints: List[str],
    results: Optional[List[bool]] = None,
) -> threading.Thread:
    def work() -> None:
        # A thread that the interpreter ends in the middle of writing would crash it: the caller writes.
        _here.complaints = complaints
        try:
            result = what(*arguments)
        except Exception as error:
            complaints.append("%s: %s" % (type(error).__name__, error))
        else:
            if results is not None:
                results.append(result)

    thread = threading.Thread(target=work)
    thread.daemon = True
    thread.start()
    return thread


_here = threading.local()


def _complain(message: str) -> None:
    complaints = getattr(_here, "complaints", None)
    if complaints is not None:
        complaints.append(message)
        return
    try:
        sys.stderr.write("headrace: %s\n" % " ".join(_ascii(message).split()))
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # no stderr, or a closed one
        pass


def _ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode("ascii")


def _timeout() -> float:
    try:
        return max(0.1, float(os.environ.get("HEADRACE_TIMEOUT") or 3))
    except ValueError:
        return 3.0


# Documents and their delivery


def _report(document: Document) -> bool:
    """Store the document, then deliver all waiting ones."""
    document = {name: value for name, value in document.items() if value is not None}
    document.setdefault("at", _now())
    document.setdefault("key", _unique())
    line = json.dumps(_clean(document), default=_plain)
    try:
        _keep(line)
    except OSError as error:
        _complain("it cannot be kept in %s (%s), and is delivered now or never" % (_spool_name(), error))
        return _deliver_only(line)
    return _deliver()


def _deliver() -> bool:
    """Deliver the oldest waiting documents; returns True if the server has accepted all of them."""
    waiting = [(path, _read(path)) for path in _waiting()[:BATCH]]
    paths = [path for path, line in waiting if line is not None]
    lines = [line for _, line in waiting if line is not None]
    if not lines:
        return True
    refused = _send(lines, paths)
    if refused is None:
        return False
    for number, path in enumerate(paths, 1):
        if refused.get(number) == FORBIDDEN:
            _complain("%s belongs to another run than the token, and waits" % path)
        elif number in refused:
            _complain("%s is refused: %s" % (_set_aside(path), refused[number]))
        else:
            _forget(path)
    return not refused


def _deliver_only(line: str) -> bool:
    refused = _send([line], ["%s-%d.json" % (_stamp(), os.getpid())])
    for reason in (refused or {}).values():
        _complain("it is refused: %s" % reason)
    return refused == {}


def _send(lines: List[str], paths: List[str]) -> Optional[Dict[int, str]]:
    """Send the documents; returns the reasons of refusals by number from 1, None if no receiver responds."""
    url, folder = os.environ.get("HEADRACE_URL"), os.environ.get("HEADRACE_COMPLETIONS")
    try:
        if url:
            return _post(url.rstrip("/") + "/api/v1/events", lines)
        if folder:
            for line, path in zip(lines, paths):
                _put(folder, os.path.basename(path), line)
            return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = getattr(error, "reason", None) or error
        _complain("%s did not accept it (%s); it waits in %s" % (url or folder, why, _spool_name()))
        return None
    _complain("neither HEADRACE_URL nor HEADRACE_COMPLETIONS is set; it waits in %s" % _spool_name())
    return None


def _post(url: str, lines: List[str]) -> Dict[int, str]:
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    headers = {"Content-Type": "application/x-ndjson"}
    token = os.environ.get("HEADRACE_TOKEN")
    if token:
        headers["Authorization"] = "Bearer " + os.fsencode(token).decode("latin-1")  # its raw bytes
    body = "".join(line + "\n" for line in lines).encode("utf-8")
    try:
        answer = urlopen(Request(url, body, headers), timeout=_timeout())
    except HTTPError as error:
        if error.code == 413:
            if len(lines) == 1:
                return {1: "it is too large"}
            refused: Dict[int, str] = {}
            for number, line in enumerate(lines, 1):
                refused.update((number, reason) for reason in _post(url, [line]).values())
            return refused
        if error.code != 400:
            raise
        answer = error
    receipt = json.loads(answer.read().decode("utf-8"))
    refused = {each["line"]: _reason(each) for each in receipt["rejected"]}
    refused.update((line, FORBIDDEN) for line in receipt.get("forbidden") or ())
    return refused


def _reason(rejected: Document) -> str:
    field = rejected.get("field")
    return "%s: %s" % (field, rejected["message"]) if field else str(rejected["message"])


def _put(folder: str, name: str, line: str) -> None:
    """Write a file atomically."""
    hidden = os.path.join(folder, ".%s.%s" % (name, _unique()))  # a thread of `run` may deliver the same one
    try:
        with open(hidden, "w", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.rename(hidden, os.path.join(folder, name))
    except OSError:
        _forget(hidden)
        raise


# The spool


def _keep(line: str) -> None:
    spool = _spool()
    if len(_waiting()) >= MAX_WAITING_DOCUMENTS:
        raise OSError("%d documents wait there already" % MAX_WAITING_DOCUMENTS)
    moment = (_stamp(), int(time.time() * 1e9) % 10**9, os.getpid(), random.randrange(10000))
    _put(spool, "%s-%09d-%07d-%04d.json" % moment, line)


def _spool_name() -> str:
    return os.environ.get("HEADRACE_SPOOL") or os.path.join(os.path.expanduser("~"), ".headrace-spool")


def _spool() -> str:
    """Return the folder of waiting documents, created if needed. Raises OSError."""
    other = os.path.join(tempfile.gettempdir(), "headrace-spool-%d" % os.getuid())
    chosen = os.environ.get("HEADRACE_SPOOL")
    for folder in [chosen] if chosen else [_spool_name(), other]:
        try:
            os.makedirs(folder, 0o700, exist_ok=True)
        except OSError:
            continue
        # Another user may have created a folder with that name in the temporary folder.
        if os.access(folder, os.W_OK) and (chosen or os.stat(folder).st_uid == os.getuid()):
            return folder
    raise OSError("it is not writable; set HEADRACE_SPOOL")


def _waiting() -> List[str]:
    """Return the waiting documents, oldest first."""
    try:
        spool = _spool()
        names = sorted(os.listdir(spool))
    except OSError:
        return []
    return [os.path.join(spool, name) for name in names if name.endswith(".json") and name[0] != "."]


def _read(path: str) -> Optional[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return " ".join(file.read().splitlines())
    except FileNotFoundError:
        return None  # another call has delivered it meanwhile


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _set_aside(path: str) -> str:
    """Move a refused document out of the way of the others, to where a person can inspect it."""
    refused = os.path.join(os.path.dirname(path), "refused")
    os.makedirs(refused, 0o700, exist_ok=True)
    place = os.path.join(refused, os.path.basename(path))
    try:
        os.rename(path, place)
    except FileNotFoundError:
        pass
    return place


# Values that JSON cannot represent


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_text(str(name)): _clean(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(each) for each in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value


def _text(text: str) -> str:
    """Return the text, with non-UTF-8 bytes as Latin-1, and without characters that databases cannot store."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        try:
            text = text.encode("utf-8", "surrogateescape").decode("utf-8", "headrace-latin-1")
        except UnicodeEncodeError:
            text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\0", "")


def _as_latin_1(error: UnicodeError) -> Tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("headrace-latin-1", _as_latin_1)


def _plain(value: Any) -> Any:
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else str(value)


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _unique() -> str:
    return "%s-%s" % (_stamp(), codecs.encode(os.urandom(8), "hex").decode("ascii"))


def _stamp() -> str:
    return datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")


if __name__ == "__main__":
    exit_code = main(sys.argv[1:])
    os._exit(exit_code)  # without waiting for threads over the time limit
