"""Results of a scan, as values: processes, their dependencies, and the files they use."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.catalog.records import Technology
from headrace.database.jsonb import encoded


class ExternalKey(NamedTuple):
    """The possible keys of an external process.

    short: `AUTOSYS/<instance>/<box>/<job>` without empty parts. whole: the same with empty parts, which is unique:
    `AUTOSYS/PRD//JOB`, if `AUTOSYS/PRD/JOB` is already the job of a box PRD.
    """

    short: str
    whole: str

    @classmethod
    def of(cls, technology: str, name: str, instance: str = "", box: str | None = None) -> "ExternalKey":
        """Return the keys of an external process; a slash within a name is written %2F."""
        parts = (technology, _part(instance), _part(box or ""), _part(name))
        return cls("/".join(part for part in parts if part), "/".join(parts))


def _part(name: str) -> str:
    return name.replace("%", "%25").replace("/", "%2F") if "/" in name or "%" in name else name


class Dependency(NamedTuple):
    """One dependency of a process.

    condition: in its system's notation, `s(JOB, 12.00)`. attribute: the field that contains it. orders: the process
    runs after the other; false if the two are only kept apart, or the condition ends a box.
    """

    technology: Technology
    instance: str
    name: str
    attribute: str
    condition: str
    orders: bool = True


class Use(NamedTuple):
    """Evidence that a process reads or writes files or a table.

    direction: reads, writes or unknown. confidence: from 0 to 1. line: relative to the process's first line.
    """

    pattern: str
    direction: str
    attribute: str
    excerpt: str
    confidence: float
    line: int = 0


class Place(NamedTuple):
    """The place where a process is defined.

    text_line: the first line of the text that alone defines it; digest: that text's; None without such a text. lost:
    parts that could not be parsed, each a mapping with a line relative to `text_line`. block: for a text that was
    elsewhere, its previous block; texts that leave a block together stay together.
    """

    file: str
    line: int
    text_line: int
    digest: str | None = None
    lost: Sequence[Mapping[str, Any]] = ()
    block: int | None = None


@dataclass(frozen=True, slots=True)
class ScannedProcess:
    """A process as defined in the files.

    attributes: normalised names and values, by which scans are compared. source: the original text.
    """

    technology: Technology
    instance: str
    name: str
    place: Place
    box: str | None = None
    description: str | None = None
    owners: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    waits_for: tuple[Dependency, ...] = ()
    uses: tuple[Use, ...] = ()

    @property
    def key(self) -> ExternalKey:
        """Its key in the catalog: the short one, unless another process has it."""
        return ExternalKey.of(self.technology, self.name, self.instance, self.box)

    @property
    def title(self) -> str:
        """Its display name: a job's name, or the key of another process."""
        return self.name if self.technology is Technology.AUTOSYS else self.key.short

    def digest(self) -> str:
        """Return a digest that is equal if and only if the catalog would store the same for two processes, except
        their places."""
        attributes = sorted(self.attributes, key=lambda pair: pair[0])
        kept = [
            self.key.short,
            self.description,
            self.owners,
            attributes,
            self.metadata,
            self.source,
            self.waits_for,
        ]
        return hashlib.sha256(encoded(kept)).hexdigest()


class EstateText(NamedTuple):
    """The text that defines a job, a machine, a calendar, ..., and its place; kind: job, machine, ..."""

    kind: str
    name: str
    file: str
    line: int
    source: str


class KnownProcess(NamedTuple):
    """A process in the catalog; file is None if no scan contains it.

    block: the texts of one block move together; None if the file is None.
    """

    technology: str
    name: str
    lifecycle: str
    file: str | None
    line: int | None
    text_line: int | None
    text_digest: str | None
    lost: list[dict[str, Any]] | None
    block: int | None

    @property
    def title(self) -> str:
        """Its display name, as for a scanned process."""
        return self.name if self.technology == Technology.AUTOSYS else f"{self.technology}/{self.name}"
