"""Results of a scan, as values: processes, their dependencies, and the files they use."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.catalog.records import Technology
from headrace.database.jsonb import encoded


class ExternalKey(NamedTuple):
    """The keys that a process of another system can have.

    short: `AUTOSYS/<instance>/<box>/<job>` without what there is not. whole: the same with empty places, which no other
    process can have: `AUTOSYS/PRD//JOB`, where `AUTOSYS/PRD/JOB` is the job of a box PRD already.
    """

    short: str
    whole: str

    @classmethod
    def of(cls, technology: str, name: str, instance: str = "", box: str | None = None) -> "ExternalKey":
        """The keys of what another system runs; a slash within a name is written %2F."""
        parts = (technology, _part(instance), _part(box or ""), _part(name))
        return cls("/".join(part for part in parts if part), "/".join(parts))


def _part(name: str) -> str:
    return name.replace("%", "%25").replace("/", "%2F") if "/" in name or "%" in name else name


class Dependency(NamedTuple):
    """One thing that a process waits for.

    condition: the test as that system writes it, `s(JOB, 12.00)`. attribute: the field that holds it. orders: the
    process runs after the other; false where the two are only kept apart, or the condition ends a box.
    """

    technology: Technology
    instance: str
    name: str
    attribute: str
    condition: str
    orders: bool = True


class Use(NamedTuple):
    """A reason to think that a process reads or writes files or a table.

    direction: reads, writes or unknown. confidence: from 0 to 1. line: counted from the process's own line.
    """

    pattern: str
    direction: str
    attribute: str
    excerpt: str
    confidence: float
    line: int = 0


class Place(NamedTuple):
    """Where a process is defined.

    text_line: the first line of the text that alone defines it; digest: that text's; None where there is no such text.
    lost: what could not be read of it, each a mapping with a line counted from `text_line`. block: of a text that was
    elsewhere, the block that it leaves; those that leave one together stay together.
    """

    file: str
    line: int
    text_line: int
    digest: str | None = None
    lost: Sequence[Mapping[str, Any]] = ()
    block: int | None = None


@dataclass(frozen=True, slots=True)
class ScannedProcess:
    """A process as the files define it.

    attributes: names and values in one spelling, by which two scans are compared. source: the text as written.
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
        """Its key in the catalog: the short one, unless that is another's."""
        return ExternalKey.of(self.technology, self.name, self.instance, self.box)

    @property
    def title(self) -> str:
        """What people call it: a job by its name, other processes by their key."""
        return self.name if self.technology is Technology.AUTOSYS else self.key.short

    def digest(self) -> str:
        """Equal for two processes exactly when the catalog would store the same of them, their places apart."""
        said = sorted(self.attributes, key=lambda pair: pair[0])
        kept = [
            self.key.short,
            self.description,
            self.owners,
            said,
            self.metadata,
            self.source,
            self.waits_for,
        ]
        return hashlib.sha256(encoded(kept)).hexdigest()


class EstateText(NamedTuple):
    """What alone defines a job, a machine, a calendar, ..., as written, and where it stands; kind: job, machine, ..."""

    kind: str
    name: str
    file: str
    line: int
    source: str


class KnownProcess(NamedTuple):
    """A process as the catalog knows it; file is None for one that no scan has found.

    block: the texts of one block move as one; None where the file is.
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
        """What people call it, as of a scanned process."""
        return self.name if self.technology == Technology.AUTOSYS else f"{self.technology}/{self.name}"
