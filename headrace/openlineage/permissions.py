"""Check which events a caller may report: of which runs, with which outputs.

A reporter for a whole organisation is not restricted. A caller with some domains only reports outputs in these; a run's
token only that run and its child runs, with the outputs that it was issued for.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.callers import Caller, Capability, Permission, Scope
from headrace.catalog.jobs import keys_of_jobs
from headrace.catalog.naming import Name, key_of, own_namespace, place
from headrace.catalog.naming import job as plain_job
from headrace.context import without_row_security
from headrace.database.connection import transaction
from headrace.openlineage.sql import statement
from headrace.queries.names import keys_of

Names = frozenset[Name]
_PROCESSES = """
SELECT process_key, external_name IS NOT NULL AND lifecycle <> 'UNSCANNED' AS is_scanned, ARRAY(
    SELECT DISTINCT full_name
    FROM catalog.lineage_edge edge
    JOIN catalog.dataset ON dataset_id = edge.target_id
    WHERE edge.process_id = process.process_id AND edge.target_type = 'DATASET' AND edge.valid_to IS NULL
    ORDER BY full_name
) AS written
FROM catalog.process
WHERE organisation_id = %s AND process_key = ANY (%s)
"""
_OWN_PROCESS = (
    "SELECT process_key FROM catalog.process_run JOIN catalog.process USING (process_id) WHERE run_id = %s"
)
# What an event may say of an input that its reporter may not describe.
_FACETS_OF_READING = frozenset({"version"})
_INPUT_FACETS_OF_READING = frozenset({"inputStatistics", "subset"})
# Facets of OpenLineage. Column lineage determines which columns are sensitive.
_GOVERNING = frozenset({"ownership", "tags", "lifecycleStateChange", "columnLineage", "lineage"})


@dataclass(frozen=True, slots=True)
class Report:
    """The parts of an event that permissions depend on.

    parent, root: the parent and root runs. written: outputs and described datasets. governed: inputs whose owners, tags
    or sources the event reports, or that it reports as renamed or dropped. also: other names that it gives to datasets,
    which would be merged. job: the job that ran. jobs: other jobs whose inputs or outputs it reports.
    """

    run_id: UUID | None = None
    parent: UUID | None = None
    root: UUID | None = None
    written: Names = frozenset()
    governed: Names = frozenset()
    also: Names = frozenset()
    job: Name | None = None
    jobs: Names = frozenset()


@dataclass(frozen=True, slots=True)
class KnownProcess:
    """A process that the catalog knows. is_scanned: from a scheduler's definitions. written: its current outputs."""

    key: str
    is_scanned: bool
    written: Sequence[str]


def refusals(engine: Engine, caller: Caller, reports: Sequence[Report]) -> list[str | None]:
    """Return, for each report, why the caller may not make it; None if it may.

    Raises Forbidden if the caller may not report at all.
    """
    caller.require(Permission.REPORT)
    if reports_everything(caller):
        return [None] * len(reports)
    names = frozenset[Name]().union(*(report.written | report.governed | report.also for report in reports))
    keys = _keys(engine, caller, names)
    own = own_namespace(caller.organisation)
    jobs = frozenset[Name]().union(*map(_jobs, reports))
    processes = keys_of_jobs(engine, caller.organisation_id, own, jobs)
    known = known_processes(engine, caller, set(processes.values()))
    written = {job: known[process] for job, process in processes.items() if process in known}
    if caller.capability is None:
        scope = caller.scope(Permission.REPORT)
        assert scope is not None  # noqa: S101 - `require` was asked before
        return [
            _outside(report, scope, keys, "the domains of this token")
            or _of_another_job(caller, report, scope, written)
            for report in reports
        ]
    below = _below(engine, caller.capability, reports)
    own_process = _own_process(engine, caller.capability)
    # The token was issued for this very run, so its process needs no known outputs.
    written = {job: each for job, each in written.items() if each.key != own_process}
    outputs = Scope(frozenset(), caller.capability.outputs)
    return [
        _of_another_run(report, caller.capability, below)
        or _outside(report, outputs, keys, "the outputs that this token was issued for")
        or _of_another_job(caller, report, outputs, written)
        for report in reports
    ]


def without_foreign_facets(engine: Engine, caller: Caller, events: Sequence[object]) -> list[object]:
    """Return the events without what they say of inputs that the caller may not report.

    To have read a dataset gives no right to describe it: its schema, its other names, the results of its tests. The
    version that was read and the statistics of reading it remain.
    """
    if reports_everything(caller):
        return list(events)
    capability = caller.capability
    scope = Scope(frozenset(), capability.outputs) if capability else caller.scope(Permission.REPORT)
    names = {name for event in events for each in _list(_at(event, "inputs")) if (name := _name(each))}
    keys = _keys(engine, caller, names)
    foreign_names = {name for name in names if scope is None or not scope.covers(keys[name].key)}
    return [_limited(event, foreign_names) for event in events]


def _limited(event: object, foreign_names: Collection[Name]) -> object:
    inputs = _at(event, "inputs")
    if not isinstance(event, Mapping) or not isinstance(inputs, list):
        return event
    return {**event, "inputs": [_use_only(each) if _name(each) in foreign_names else each for each in inputs]}


def _use_only(dataset: Mapping[str, Any]) -> dict[str, Any]:
    limited = dict(dataset)
    for name, kept in (("facets", _FACETS_OF_READING), ("inputFacets", _INPUT_FACETS_OF_READING)):
        facets = dataset.get(name)
        if isinstance(facets, Mapping):
            limited[name] = {each: content for each, content in facets.items() if each in kept}
    return limited


def reports_everything(caller: Caller) -> bool:
    """Return True if the caller may report every event of the organisation."""
    scope = caller.scope(Permission.REPORT)
    return caller.capability is None and scope is not None and scope.domains is None


def report_of(event: object) -> Report:
    """Extract a report from an OpenLineage event as received, valid or not; what is not an event reports nothing."""
    if not isinstance(event, Mapping):
        return Report()
    parent = _at(event, "run", "facets", "parent")
    datasets = [*_list(event.get("outputs")), event.get("dataset")]
    inputs = _list(event.get("inputs"))
    return Report(
        run_id=_uuid(_at(event, "run", "runId")),
        parent=_uuid(_at(parent, "run", "runId")),
        root=_uuid(_at(parent, "root", "run", "runId")),
        written=frozenset(filter(None, map(_name, [*datasets, *_explained(event)]))),
        governed=frozenset(filter(None, map(_name, filter(_is_governed, inputs)))),
        also=frozenset(_other_names([*datasets, *inputs])),
        job=_name(event.get("job")),
        jobs=frozenset(_other_jobs(event, [*datasets, *inputs])),
    )


@dataclass(frozen=True, slots=True)
class _Key:
    """The key of the dataset of a name; known: True if the dataset exists."""

    key: str
    known: bool


def _outside(report: Report, scope: Scope, keys: Mapping[Name, _Key], what: str) -> str | None:
    for name in sorted(report.written):
        if not scope.covers(keys[name].key):
            return f"the output {keys[name].key} is not among {what}"
    for name in sorted(report.governed):
        if not scope.covers(keys[name].key):
            return (
                f"{keys[name].key} is not among {what}, whose owners, tags, sources and names may be reported"
            )
    for name in sorted(report.also):
        if keys[name].known and not scope.covers(keys[name].key):
            return f"{keys[name].key} is not among {what}, and so may not become one with another dataset"
    return None


def _keys(engine: Engine, caller: Caller, names: Iterable[Name]) -> dict[Name, _Key]:
    """Return the dataset of each name: for a path below the warehouse the dataset of the version stored there, for
    an alias its dataset, for an unknown name the dataset that would be created."""
    own = own_namespace(caller.organisation)
    return {
        name: _Key(key_of(place(name, own).name, own) if key is None else key, key is not None)
        for name, key in keys_of(engine, caller.organisation_id, frozenset(names)).items()
    }


def _of_another_job(
    caller: Caller, report: Report, scope: Scope, known: Mapping[Name, KnownProcess]
) -> str | None:
    """Check the job: Headrace's processes are identified by their first output, others by what they write.

    A caller who may report none of its outputs may not report the job, its owners, its code, inputs and outputs: they
    are visible to everyone who sees a dataset next to the job.
    """
    own = own_namespace(caller.organisation)
    for job in sorted(_jobs(report)):
        if job.namespace == own and not scope.covers(plain_job(job).name):
            return f"the job {job.name} is one of the catalog's own, and not this token's"
        if job in known and (reason := foreign(scope, known[job])):
            return f"the job {job} {reason}"
    return None


def _jobs(report: Report) -> Names:
    return report.jobs if report.job is None else report.jobs | {report.job}


def foreign(scope: Scope, process: KnownProcess) -> str | None:
    """Return why a caller with this scope may not report a known process; None if they may.

    A success of it starts triggers and meets SLAs, a failure alerts people. Of a process that only events made known,
    and that writes nothing so far, the first outputs are still to come.
    """
    if any(map(scope.covers, process.written)):
        return None
    if process.written:
        return f"writes {process.written[0]} and nothing that this token may report"
    if process.is_scanned:
        return "belongs to a scanned estate and has no known outputs: reporting it takes a token for every domain"
    return None


def known_processes(engine: Engine, caller: Caller, keys: Collection[str]) -> dict[str, KnownProcess]:
    """Return those of the processes with these keys that the catalog knows, by key."""
    with without_row_security(), transaction(engine) as cursor:
        rows = cursor.execute(_PROCESSES, [caller.organisation_id, sorted(keys)]).fetchall()
    return {
        row["process_key"]: KnownProcess(row["process_key"], row["is_scanned"], row["written"])
        for row in rows
    }


def _own_process(engine: Engine, capability: Capability) -> str | None:
    with without_row_security(), transaction(engine) as cursor:
        row = cursor.execute(_OWN_PROCESS, [capability.run_id]).fetchone()
    return None if row is None else row["process_key"]


def _of_another_run(report: Report, capability: Capability, below: Mapping[UUID, bool]) -> str | None:
    """Refuse a run that is neither the token's run nor its child, new or known.

    Such a run must not become a child of a known run that is not below the token's run either: naming the token's run
    as root does not permit that.
    """
    own = capability.run_id
    if report.run_id is None:
        return f"this token reports the run {own}, and the event names no run"
    if report.run_id == own:
        return None
    stays = report.parent in (None, own) or below.get(report.parent, True)
    if stays and below.get(report.run_id, own in (report.parent, report.root)):
        return None
    return f"this token reports the run {own} and its child runs; {report.run_id} is not one of them"


def _below(engine: Engine, capability: Capability, reports: Iterable[Report]) -> dict[UUID, bool]:
    """Return, for the known runs, whether they are below the token's run."""
    runs = {run for report in reports for run in (report.run_id, report.parent)} - {None, capability.run_id}
    if not runs:
        return {}
    with transaction(engine) as cursor:
        found = statement("runs_below").execute(cursor, {"runs": list(runs), "run_id": capability.run_id})
        return {row["run_id"]: row["below"] for row in found}


def _explained(event: object) -> list[Any]:
    """Return the datasets whose sources the job reports."""
    entries = _list(_at(event, "job", "facets", "lineage", "entries"))
    return [entry for entry in entries if _at(entry, "type") == "DATASET"]


def _other_jobs(event: Mapping[str, Any], datasets: Iterable[object]) -> Iterator[Name]:
    """Yield other jobs whose inputs or outputs lineage facets report."""
    entries = _list(_at(event, "job", "facets", "lineage", "entries"))
    for stated in (*entries, *(_at(dataset, "facets", "lineage") for dataset in datasets)):
        fields = _at(stated, "fields")
        columns = fields.values() if isinstance(fields, Mapping) else ()
        sources = [
            *_list(_at(stated, "inputs")),
            *(s for each in columns for s in _list(_at(each, "inputs"))),
        ]
        for each in (stated, *sources):
            if _at(each, "type") == "JOB" and (name := _name(each)):
                yield name


def _is_governed(dataset: object) -> bool:
    facets = _at(dataset, "facets")
    return isinstance(facets, Mapping) and not _GOVERNING.isdisjoint(facets)


def _other_names(datasets: Iterable[object]) -> Iterator[Name]:
    """Yield the other names: symlinks, and the previous name of a renamed dataset."""
    for dataset in datasets:
        for each in (
            *_list(_at(dataset, "facets", "symlinks", "identifiers")),
            _at(dataset, "facets", "lifecycleStateChange", "previousIdentifier"),
        ):
            if name := _name(each):
                yield name


def _at(value: object, *path: str) -> Any:  # noqa: ANN401 - JSON
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _name(value: object) -> Name | None:
    namespace, name = _at(value, "namespace"), _at(value, "name")
    return Name(namespace, name) if isinstance(namespace, str) and isinstance(name, str) else None


def _uuid(value: object) -> UUID | None:
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None
