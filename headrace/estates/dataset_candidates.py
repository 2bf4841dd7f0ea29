"""Candidate datasets: files that jobs seem to read and write, with evidence and confidence.

The confidence of a piece of evidence (confidence.py) is halved if the path contains an unknown value. A candidate has
the confidence of its best evidence, and is nearer to 1 by a third of the rest if one job writes it and another reads
it. Candidates become datasets only when their owners confirm them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headrace.autosys.estate import Estate
from headrace.autosys.jil.statements import Attribute
from headrace.autosys.jobs import Job
from headrace.estates.confidence import ARGUMENT, LOG, OPTION, REDIRECTION, SCHEDULER, STD_OUT, TOOL
from headrace.estates.paths import is_certain, is_log, pattern_of
from headrace.estates.shell import Command, split
from headrace.estates.tools import Direction, known_uses, option_uses

_ATTRIBUTES = {
    "watch_file": (Direction.READS, SCHEDULER),
    "text_file_name": (Direction.READS, SCHEDULER),
    "std_in_file": (Direction.READS, TOOL),
    "std_out_file": (Direction.WRITES, STD_OUT),
    "std_err_file": (Direction.WRITES, LOG),
    "destination_file": (Direction.WRITES, SCHEDULER),
    "results_file": (Direction.WRITES, SCHEDULER),
}
_TRANSFERS = {"FTP": "ftp", "SCP": "scp"}


@dataclass(frozen=True, slots=True)
class Evidence:
    """A piece of evidence for a candidate: the job, the place in its definition, and the text."""

    job: str
    direction: Direction
    attribute: str
    file: str
    line: int
    text: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """Files that match one pattern, and the evidence, best first."""

    pattern: str
    evidence: tuple[Evidence, ...]

    @property
    def writers(self) -> tuple[str, ...]:
        """The jobs that seem to write it."""
        return self._jobs(Direction.WRITES)

    @property
    def readers(self) -> tuple[str, ...]:
        """The jobs that seem to read it, or to wait for it."""
        return self._jobs(Direction.READS)

    @property
    def confidence(self) -> float:
        """The confidence that it is a dataset, from 0 to 1."""
        best = self.evidence[0].confidence
        if len(self.evidence) == 1:
            return best
        writers, readers = set(self.writers), set(self.readers)
        agreed = writers and readers and len(writers | readers) > 1
        return round(best + (1 - best) / 3, 3) if agreed and best > LOG else best

    def _jobs(self, direction: Direction) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.job for each in self.evidence if each.direction is direction))

    def facts(self) -> dict[str, object]:
        """Return the candidate with all of its evidence, as JSON values."""
        return {
            "pattern": self.pattern,
            "confidence": self.confidence,
            "writers": self.writers,
            "readers": self.readers,
            "evidence": self.evidence,
        }


def candidates(estate: Estate) -> tuple[Candidate, ...]:
    """Return the candidates of an estate, by descending confidence, then by pattern."""
    found: dict[str, list[Evidence]] = {}
    for job in estate.jobs.values():
        for pattern, evidence in candidates_of(job):
            found.setdefault(pattern, []).append(evidence)
    made = (
        Candidate(pattern, tuple(sorted(evidence, key=lambda each: -each.confidence)))
        for pattern, evidence in found.items()
    )
    return tuple(sorted(made, key=lambda each: (-each.confidence, each.pattern)))


def candidates_of(job: Job, at_least: float = 0) -> Iterator[tuple[str, Evidence]]:
    """Yield patterns and evidence from the definition of one job, in the order of the attributes.

    at_least: minimum confidence.
    """
    variables = dict(_variables(job.all("envvars")))
    transfer = _TRANSFERS.get(job.type)
    for attribute in job.attributes:
        if attribute.name in _ATTRIBUTES:
            direction, confidence = _ATTRIBUTES[attribute.name]
            uses: Iterable[tuple[str, Direction, float]] = [
                (attribute.value.lstrip("> "), direction, confidence)
            ]
        elif attribute.name in ("command", "remote_command"):
            line = split(
                attribute.value.replace("\\:", ":")
            )  # escaped also within quotes, where it stays as written
            variables |= {
                name: value for name, value in line.variables if "$" not in value and "`" not in value
            }
            uses = _command_uses(line.commands)
        elif transfer is not None and attribute.name in (f"{transfer}_local_name", f"{transfer}_remote_name"):
            uploads = job.values.get(f"{transfer}_transfer_direction", "DOWNLOAD").upper().startswith("U")
            is_source = uploads == attribute.name.endswith("local_name")
            uses = [(attribute.value, Direction.READS if is_source else Direction.WRITES, SCHEDULER)]
        else:
            continue
        for text, direction, confidence in uses:
            if confidence < at_least:
                continue
            pattern = pattern_of(text, job=job.name, variables=variables)
            if pattern is not None:
                evidence = _evidence(job, attribute, pattern, text, direction, confidence)
                if evidence.confidence >= at_least:
                    yield pattern, evidence


def _evidence(
    job: Job, attribute: Attribute, pattern: str, text: str, direction: Direction, confidence: float
) -> Evidence:
    if is_log(pattern) and confidence < SCHEDULER:
        confidence = LOG
    elif not is_certain(pattern):
        confidence = confidence / 2
    file = attribute.file or job.file
    return Evidence(job.name, direction, attribute.name, file, attribute.line, text, confidence)


def _command_uses(commands: Iterable[Command]) -> Iterator[tuple[str, Direction, float]]:
    for command in commands:
        for operator, target in command.redirections:
            if operator.endswith("&") or operator.startswith("<<"):
                continue  # a copy of a descriptor, or a here-document
            if operator.startswith("2"):
                yield target, Direction.WRITES, LOG
            else:
                yield target, Direction.READS if "<" in operator else Direction.WRITES, REDIRECTION
        known = known_uses(command.words)
        if known is not None:
            yield from ((text, direction, TOOL) for text, direction in known)
        else:
            for text, direction, is_option in option_uses(command.words[1:]):
                yield text, direction, OPTION if is_option else ARGUMENT


def _variables(written: Iterable[Attribute]) -> Iterator[tuple[str, str]]:
    for attribute in written:
        name, equals, value = attribute.value.partition("=")
        value = value.strip().strip('"')
        if equals and "$" not in value and "`" not in value:
            yield name.strip(), value
