"""List landed files at the declared location of an external dataset, by partition."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Protocol

from headrace.catalog.schema import schema_hash
from headrace.context import current_context
from headrace.execution.partitions import KEY_SEPARATORS, may_have_key, separator_in
from headrace.execution.plan import PARTITION, ExternalPlan
from headrace.files.filesystem import (
    Entry,
    Files,
    LocalFiles,
    is_local,
    local_path,
)
from headrace.files.formats import FORMATS
from headrace.files.opening import files_for

_LISTINGS = 16  # directories listed concurrently; listing an object store is mostly waiting


@dataclass(frozen=True, slots=True)
class LandedFiles:
    """The unread data files of a dataset, or of one of its partitions, with their change signature.

    filesystem: where they are stored; entries: the files, by name; control: the control file beside them.
    """

    plan: ExternalPlan
    partition: str | None
    filesystem: Files
    location: str
    entries: tuple[Entry, ...]
    control: ControlFile | None = None

    row_count = None

    @property
    def place(self) -> tuple[str, str | None]:
        """The dataset and partition."""
        return self.plan.record.key, self.partition

    @property
    def modified_ns(self) -> int:
        """The latest modification time of the files."""
        return max(entry.modified_ns for entry in self.entries)

    @property
    def signature(self) -> str:
        """Changes when a file is added, removed, changes size or modification time, or is declared differently."""
        record = self.plan.record
        declared = (record.format, schema_hash(record.columns), sorted(self.plan.options.items()))
        files = [(entry.name, entry.byte_size, entry.modified_ns) for entry in self.entries]
        signed: list[object] = [self.location, declared, files]
        if self.plan.reader is not None or self.plan.control is not None:
            signed += [self.plan.reader, self.plan.control and self.plan.control.described]
        if self.control is not None:
            signed += [self.control.location, self.control.entry.byte_size, self.control.entry.modified_ns]
        return sha256(json.dumps(signed).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ControlFile:
    """A control file, unread."""

    filesystem: Files
    location: str
    entry: Entry

    @property
    def is_unchanged(self) -> bool:
        """Return True if it is still the file that was listed."""
        return self.filesystem.listing(self.location) == [self.entry]


class Landed(Protocol):
    """Data of another system: files, or a table."""

    @property
    def plan(self) -> ExternalPlan:
        """The dataset."""
        ...

    @property
    def place(self) -> tuple[str, str | None]:
        """The dataset and partition."""
        ...

    @property
    def location(self) -> str:
        """Where it is."""
        ...

    @property
    def signature(self) -> str:
        """Changes with the data, and with its declaration."""
        ...

    @property
    def row_count(self) -> int | None:
        """The number of rows, if they were counted."""
        ...


@dataclass(frozen=True, slots=True)
class Listing:
    """Result of listing one dataset's location, or of a look at its table.

    waiting: incomplete or missing files, not registered yet; problems: files that can never become a version.
    """

    landed: tuple[Landed, ...] = ()
    waiting: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def is_looked_at(plan: ExternalPlan) -> bool:
    """Return True if the dataset is in a database, or has files of a format that is read at a declared location."""
    is_read = plan.record.format in FORMATS or plan.reader is not None
    return plan.source is not None or (plan.location is not None and is_read)


def not_looked_at(external: Sequence[ExternalPlan]) -> str | None:
    """Name the datasets whose files are not observed, with the reason; None if all are."""
    others = [plan for plan in external if not is_looked_at(plan)]
    if not others:
        return None
    named = ", ".join(
        f"{plan.record.key} ({'no location' if plan.location is None else f'format {plan.record.format}'})"
        for plan in others
    )
    return f"Not observed; only versions that another program registers exist: {named}."


def list_landed(plan: ExternalPlan, location: str) -> Listing:
    """List a dataset's declared location without reading files.

    A relative location is below the state folder. One that Hadoop reads starts Spark, once per process.
    Raises SparkUnavailable, StoreUnavailable.
    """
    files, location = _opened(location)
    places: list[tuple[str, str | None]] = []
    problems = []
    for place, key in _places(location, files):
        if key is None or (plan.partitions and may_have_key(plan.partitions, key)):
            places.append((place, key))
        else:
            problems.append(f"{place} is ignored: {_no_partition(plan, key)}")
    with ThreadPoolExecutor(_LISTINGS) as listings:
        found = list(listings.map(lambda each: _landed(plan, files, *each), places))
    waiting = [each for each in found if isinstance(each, str)]
    if not places and not problems:
        waiting.append(_nothing(plan, location))
    return Listing(
        tuple(each for each in found if isinstance(each, LandedFiles)), tuple(waiting), tuple(problems)
    )


def _no_partition(plan: ExternalPlan, key: str) -> str:
    separator = separator_in(plan.partitions, key) if plan.partitions else None
    if separator is not None:
        use = KEY_SEPARATORS[separator]
        return f"{key!r} has {separator!r}, which {use}: have the file delivered under another name"
    return f"{plan.record.key} has no partition {key}"


def _opened(location: str) -> tuple[Files, str]:
    """Return the filesystem of a declared location, and the location there."""
    if is_local(location):
        return LocalFiles(), f"file://{current_context().settings.home.resolve() / local_path(location)}"
    from headrace.spark.session import file_session

    return files_for(location, file_session), location.rstrip("/")


def _landed(plan: ExternalPlan, files: Files, location: str, partition: str | None) -> LandedFiles | str:
    """Return the files landed at a place, or why there is no version yet."""
    if plan.marker and not files.exists(f"{location}/{plan.marker}"):
        return f"{plan.record.key}: {location} has no {plan.marker} yet"
    found = files.listing(location)
    if not found:
        return _nothing(plan, location)
    landed = LandedFiles(plan, partition, files, location, tuple(found))
    if plan.control is None or plan.control.location is None:
        return landed
    beside, stated_at = _opened(plan.control.location.replace(PARTITION, partition or ""))
    control = beside.listing(stated_at)
    if not control:
        return f"{plan.record.key}: {location} has no control file {stated_at} yet"
    return replace(landed, control=ControlFile(beside, stated_at, control[0]))


def _nothing(plan: ExternalPlan, location: str) -> str:
    return f"{plan.record.key}: nothing at {location} yet"


def _places(location: str, files: Files) -> Iterator[tuple[str, str | None]]:
    """Yield the places that match a location, with the partition key in their names.

    The first part of the path with `{partition}` is matched with the directory listing; further ones repeat the key.
    """
    before, partitioned, after = location.partition(PARTITION)
    if not partitioned:
        yield location, None
        return
    folder, _, start = before.rpartition("/")
    end, slash, rest = after.partition("/")
    name = re.compile(
        re.escape(start) + "(.+)" + r"\1".join(re.escape(part) for part in end.split(PARTITION))
    )
    for entry in files.entries(f"{folder}/"):
        if match := name.fullmatch(entry.name):
            yield f"{folder}/{entry.name}{slash}{rest.replace(PARTITION, match[1])}", match[1]
