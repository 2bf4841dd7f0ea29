"""Turn landed files, and changed tables, into versions of the external datasets that declare them."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from time import monotonic

from sqlalchemy import Engine

from headrace.catalog.records import CheckStatus, Outcome, Publication, Version, VersionDraft
from headrace.execution.plan import ExternalPlan
from headrace.landed.files import Landed, LandedFiles, Listing, is_looked_at, list_landed
from headrace.landed.gates import gated
from headrace.landed.profiling import profile_sample, unprofiled
from headrace.landed.tables import LandedTable, look, table_draft
from headrace.landed.versions import SIGNATURE, draft, has_same_content, is_version
from headrace.publishing.publication import publish
from headrace.queries import published
from headrace.registration.declarations import register
from headrace.spark.errors import ResourceError, StoreUnavailable, UnusableFunction
from headrace.spark.failures import explained

SECONDS_REFUSED = 600.0  # until files that a gate has refused are read again


@dataclass(frozen=True, slots=True)
class UnpublishedFiles:
    """Files without a new version: blocked, with the problem, or unchanged content, without one.

    until: when they are read again all the same (monotonic), as what a gate refuses may pass later.
    """

    signature: str
    generation: int
    problems: tuple[str, ...] = ()
    until: float = inf


Memory = MutableMapping[tuple[str, str | None], UnpublishedFiles]


@dataclass(frozen=True, slots=True)
class Observation:
    """Result of observing landed files.

    published: all published versions of the datasets; new: those among them published now; problems: files that could
    not become versions, and datasets that could not be observed, each with the reason; waiting: missing or incomplete
    files; left: number of places and profiles skipped for lack of time.
    """

    published: tuple[Version, ...]
    new: tuple[Version, ...]
    problems: tuple[str, ...]
    waiting: tuple[str, ...] = ()
    left: int = 0


def observe(
    engine: Engine,
    external: Sequence[ExternalPlan],
    within: timedelta = timedelta(minutes=10),
    memory: Memory | None = None,
) -> Observation:
    """Publish a version for files that landed, changed or were declared differently since the last observation.

    A version's location is that of its files; once they are replaced, its content is gone. Files that do not read as
    declared are stored as a blocked version. Files that are still being written are left for the next observation.
    Files that are versions already cost a listing, and no reading. A dataset that cannot be observed is a problem, and
    the others continue. Published versions of datasets with `profile: full` are profiled by a sample, once.

    Args:
        engine: the catalog.
        external: the datasets; those with files at a declared location are observed.
        within: files not reached in this time are left for the next observation.
        memory: of a process that observes again and again, which then does not read unchanged files without a version
            again, and not count the rows of tables whose watermark has not changed.
    """
    register(engine, [plan.record for plan in external])
    rows = published(engine, [plan.record.key for plan in external])
    known = {(row.dataset, row.partition): row.version for row in rows}
    generations = {(row.dataset, row.partition): row.generation for row in rows}
    deadline = monotonic() + within.total_seconds()
    unreachable: dict[str, str] = {}
    looks = [_look(plan, unreachable, counted=memory is None) for plan in external]
    memory = {} if memory is None else memory
    problems = [problem for each in looks for problem in each.problems]
    waiting = [line for each in looks for line in each.waiting]
    drafts: list[VersionDraft] = []
    left = 0
    for landed in (landed for each in looks for landed in each.landed):
        version, generation = known.get(landed.place), generations.get(landed.place, 0)
        earlier = memory.get(landed.place)
        if is_version(landed, version):
            continue
        if (
            earlier
            and (earlier.signature, earlier.generation) == (landed.signature, generation)
            and monotonic() < earlier.until
        ):
            problems += earlier.problems
            continue
        if monotonic() >= deadline:
            left += 1
            continue
        with _isolated(landed.plan, problems):
            found = _draft(landed, generation)
            if found is None:
                waiting.append(f"{landed.plan.record.key}: {landed.location} is being written")
            elif has_same_content(found, version):
                memory[landed.place] = UnpublishedFiles(landed.signature, generation)
            else:
                drafts.append(found)
    drafts, refused = gated(engine, drafts, {plan.record.key: plan.record for plan in external})
    publications = publish(engine, None, drafts)
    new = [item.version for item in publications if item.outcome is Outcome.PUBLISHED and not item.replayed]
    known |= {(version.dataset, version.partition): version for version in new}
    for found, item in zip(drafts, publications, strict=True):
        if item.outcome is Outcome.BLOCKED:
            problem = _why(found, item)
            problems.append(problem)
            place = found.dataset, found.partition
            until = monotonic() + SECONDS_REFUSED if place in refused else inf
            memory[place] = UnpublishedFiles(
                found.metadata[SIGNATURE], found.expected_generation, (problem,), until
            )
    for plan, version in unprofiled(engine, external, known.values()):
        if monotonic() >= deadline:
            left += 1
            continue
        with _isolated(plan, problems):
            profile_sample(engine, version)
    return Observation(tuple(known.values()), tuple(new), tuple(problems), tuple(waiting), left)


def _look(plan: ExternalPlan, unreachable: dict[str, str], *, counted: bool) -> Listing:
    """Look at a dataset. unreachable: why, by connection; a database that does not answer is asked once. counted: count
    the rows of tables with a watermark."""
    if not is_looked_at(plan):
        return Listing()
    problems: list[str] = []
    with _isolated(plan, problems):
        if plan.source is None:
            return list_landed(plan, str(plan.location))
        name = plan.source.connection
        if name in unreachable:
            raise StoreUnavailable(unreachable[name])
        try:
            return Listing((look(plan, plan.source, counted=counted),))
        except StoreUnavailable as error:
            unreachable[name] = str(error)
            raise
    return Listing(problems=tuple(problems))


def _draft(landed: Landed, generation: int) -> VersionDraft | None:
    match landed:
        case LandedFiles():
            return draft(landed, generation)
        case LandedTable():
            return table_draft(landed, generation)
    raise TypeError(f"{landed} is neither files nor a table")


@contextmanager
def _isolated(plan: ExternalPlan, problems: list[str]) -> Iterator[None]:
    """Record errors of a dataset's filesystem or database as a problem; each client has its own exceptions."""
    record = plan.record
    try:
        with explained(f"{record.key} at {plan.location}"):
            yield
    except Exception as error:
        is_understood = plan.source is not None or isinstance(error, UnusableFunction)
        if is_understood and isinstance(error, ResourceError):
            problems.append(f"{record.key} could not be observed: {error}")
            return
        problems.append(
            f"{record.key} could not be observed: {_cause(error)}. Check that its location ({record.declared_at}) is "
            "right, and that Spark's settings and this user's rights lead there."
        )


def _cause(error: Exception) -> str:
    """Return the cause in one line, without advice about stores."""
    if isinstance(error, ResourceError):
        return str(error).partition(". ")[0]
    lines = str(error).splitlines()
    # py4j first names the call, and below that Java's message.
    messages = [line.removeprefix(": ") for line in lines if line.startswith(": ")] or lines
    return messages[0].rstrip(".") if messages else type(error).__name__


def _why(found: VersionDraft, item: Publication) -> str:
    details = [str(dict(check.detail)) for check in found.checks if check.status is CheckStatus.FAIL]
    return f"{found.location} is not published, {item.reason}: {'; '.join(details)}"
