"""Files that another system wrote become versions of the external datasets that declare where such files land."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import takewhile
from time import monotonic

from sqlalchemy import Engine

from catalog.publishing import publish
from catalog.queries import published
from catalog.records import CheckStatus, Outcome, Publication, Version, VersionDraft
from catalog.registry import register
from components.plan import ExternalPlan
from sensors.landed_files import LandedFile, draft, landed_files


@dataclass(frozen=True, slots=True)
class Observation:
    """What a look at the landed files came to.

    published: every published version of the datasets; new: those among them that this look published;
    problems: files that could not become versions, each with the reason.
    """

    published: tuple[Version, ...]
    new: tuple[Version, ...]
    problems: tuple[str, ...]


def observe(
    engine: Engine, external: Sequence[ExternalPlan], within: timedelta = timedelta(minutes=10)
) -> Observation:
    """Publish a version for each file that landed since the last look, or whose content has changed since.

    A version's location is the file itself; once the file is replaced, the content that the version had is gone. A
    file that does not read as its dataset declares is stored as a blocked version. A file that is written to
    meanwhile is left for the next look. Files that are versions already cost one query together, and no reading.

    Args:
        engine: the catalog.
        external: the datasets; only CSV files at a declared location are looked at.
        within: files that are not reached in this time are left for the next look.
    """
    register(engine, [plan.record for plan in external])
    rows = published(engine, [plan.record.key for plan in external])
    known = {(row.dataset, row.partition): row.version for row in rows}
    generations = {(row.dataset, row.partition): row.generation for row in rows}
    files, problems = landed_files(external)
    unknown = [file for file in files if not _is(file, known.get(file.place))]
    deadline = monotonic() + within.total_seconds()
    drafts = [
        found
        for file in takewhile(lambda _: monotonic() < deadline, unknown)
        if (found := draft(file, generations.get(file.place, 0))) is not None
        and (file.place not in known or known[file.place].checksum != found.checksum)
    ]
    publications = publish(engine, None, drafts)
    new = [item.version for item in publications if item.outcome is Outcome.PUBLISHED and not item.replayed]
    known |= {(version.dataset, version.partition): version for version in new}
    blocked = [
        _why(found, item)
        for found, item in zip(drafts, publications, strict=True)
        if item.outcome is Outcome.BLOCKED
    ]
    return Observation(tuple(known.values()), tuple(new), (*problems, *blocked))


def _is(file: LandedFile, version: Version | None) -> bool:
    """Whether the file is the published version, as far as its size and time of change tell."""
    return version is not None and (version.byte_size, version.metadata.get("modified_ns")) == (
        file.size,
        file.modified_ns,
    )


def _why(found: VersionDraft, item: Publication) -> str:
    details = [str(dict(check.detail)) for check in found.checks if check.status is CheckStatus.FAIL]
    return f"{found.location} is not published, {item.reason}: {'; '.join(details)}"
