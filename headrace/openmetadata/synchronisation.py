"""One synchronisation: read what others changed there, then send what changed here.

It can be stopped anywhere. What was sent is stored as it goes, the position only at the end; whatever is sent again has
the same effect, and what is there already is found before it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import Engine

from headrace.catalog.outbox import note_read
from headrace.context import current_context
from headrace.database.locks import alone
from headrace.openmetadata import incoming
from headrace.openmetadata.catalog import Contents, Row, Scope, contents, processes_of, scope, successors
from headrace.openmetadata.client import AnswerTooLarge, Client, OpenMetadataUnavailable, RequestRefused
from headrace.openmetadata.edges import Edges
from headrace.openmetadata.entities import Entities
from headrace.openmetadata.incoming import Touch, UnreadableEvent
from headrace.openmetadata.mapping import Desired, EntityMapping, referenced
from headrace.openmetadata.references import References
from headrace.openmetadata.series import Series
from headrace.openmetadata.session import Outcome, Session, SynchronisationResult
from headrace.openmetadata.state import Kind, Sent, State, milliseconds
from headrace.settings import OpenMetadataSettings


def synchronise(
    engine: Engine,
    client: Client,
    settings: OpenMetadataSettings,
    *,
    is_dry: bool = False,
    whole: bool = False,
    on_progress: Callable[[str], None] = lambda _: None,
) -> SynchronisationResult:
    """Bring the organisation's catalog into OpenMetadata, and what stewards wrote there into the catalog.

    is_dry: only find out what would change; sends nothing but GET. whole: compare also what seems unchanged.
    Raises OpenMetadataUnavailable; what was sent until then is kept.
    """
    with alone(engine, "openmetadata") as first:
        if not first:
            raise OpenMetadataUnavailable(
                "another process is synchronising OpenMetadata; try again when it has finished"
            )
        version = client.require_supported()
        state = State(engine, current_context().organisation_id, client.server, is_dry)
        session = Session(
            client=client, state=state, settings=settings, references=References(client),
            result=SynchronisationResult(client.server, version), bot=client.user(), is_dry=is_dry, is_verifying=whole,
            on_progress=on_progress,
        )  # fmt: skip
        try:
            _run(engine, session)
        except OpenMetadataUnavailable:
            state.flush()
            raise
        session.result.requests = client.requests
        session.result.problems += sorted(session.references.problems)
        return session.result


def _run(engine: Engine, session: Session) -> None:
    state, now, organisation = session.state, datetime.now(UTC), current_context().organisation_id
    last, reader = state.reached(), f"openmetadata/{session.client.server}"
    events_at, events = milliseconds(now) - incoming.SETTLING_MILLISECONDS, list[UUID]()
    if last is not None:
        events_at, events = _read_events(engine, session, last.events_at, now)
    of = scope(engine, organisation, reader, last, now, whole=session.is_verifying, pending=state.pending())
    session.result.whole = of.is_whole
    touched = [UUID(key) for key in state.keys_of(Kind.TABLE, session.touched)]
    rows = contents(engine, organisation, of, touched)
    if rows.is_empty and not of.is_whole and not of.datasets and not of.targets:
        state.load([Kind.TEST_CASE, Kind.STATUS])
    else:
        state.load([kind for kind in Kind if kind is not Kind.EDGE])
        state.load([Kind.EDGE], None if of.targets is None else map(str, of.targets))
        _send(engine, session, of, rows)
    _read_incidents(engine, session)
    if not session.is_dry:
        incoming.forget_events(engine, events)
        reached = replace(of.reached, events_at=events_at)
        state.reach(replace(reached, read_at=min(reached.read_at, session.refused_since or reached.read_at)))
        note_read(engine, organisation, reader, of.reached.position)


def _read_events(engine: Engine, session: Session, since: int, now: datetime) -> tuple[int, list[UUID]]:
    """Note what others changed; returns where to go on, and the events of the webhook."""
    try:
        session.touched, following, events = incoming.touched(
            engine, session.client, current_context().organisation_id, session.bot, since, now
        )
    except (
        AnswerTooLarge,
        UnreadableEvent,
    ):  # after a pause of weeks, or an odd one: everything is read instead
        session.is_verifying = True
        return milliseconds(now) - incoming.SETTLING_MILLISECONDS, []
    except RequestRefused as refused:
        session.result.problems.append(f"what stewards changed cannot be read: {refused}")
        return since, []
    return following, events


def _send(engine: Engine, session: Session, of: Scope, rows: Contents) -> None:
    """Send the entities in the order in which they refer to each other."""
    here, settings, state = current_context(), session.settings, session.state
    by_id = {str(row["dataset_id"]): row for row in rows.datasets}
    gone = _continued(engine, session, of, by_id)
    mapping = EntityMapping(
        state,
        session.references,
        settings.service,
        here.organisation,
        here.settings.service_url,
        settings.send_sql,
    )
    entities = Entities(session)
    if of.is_whole and not state.of(Kind.TABLE):
        entities.read_lists(mapping.database)
    tables = [
        each for row in rows.datasets if (each := mapping.table(row, rows.hidden.get(row["key"], frozenset())))
    ]  # fmt: skip
    pipelines = [each for row in rows.processes if (each := mapping.pipeline(row))]
    session.result.problems += mapping.problems
    if tables or pipelines:
        entities.ensure("services", mapping.containers(rows.datasets), at_once=False)
        entities.ensure_properties()
    entities.ensure("tags and domains", referenced(session.references), at_once=False)
    for outcome, desired in entities.ensure("tables", [*tables, *gone]):
        if desired.key in by_id:
            _record(engine, session, by_id[desired.key], desired, outcome)
    entities.ensure("pipelines", pipelines)
    edges = mapping.edges(rows, processes_of(engine, here.organisation_id, rows))
    Edges(session).ensure(edges, of.targets)
    _send_checks(session, entities, mapping, by_id)
    series = Series(session.client, state, settings.send_values, rows.hidden, is_dry=session.is_dry)
    session.on_progress("profiles, results and statuses")
    for progress in (series.of_versions(rows.versions, mapping), series.of_runs(rows.runs)):
        for count, problem in progress:
            session.result.problems += [problem] if problem else []
            session.result.counts["measurement", "send"] += count
    session.refused_since = series.refused_since


def _continued(engine: Engine, session: Session, of: Scope, by_id: dict[str, Row]) -> list[Desired]:
    """Let datasets that were renamed keep their tables; returns the tables of those that are gone."""
    missing = [
        each for each in session.state.of(Kind.TABLE)
        if each.key not in by_id and (of.datasets is None or UUID(each.key) in of.datasets)
    ]  # fmt: skip
    if not missing:
        return []
    ids = [UUID(each.key) for each in missing]
    following = successors(engine, current_context().organisation_id, ids)
    gone = []
    for each in missing:
        key = following.get(each.key)
        if key in by_id and session.state.get(Kind.TABLE, key) is None:
            session.state.move(each.key, key)
        else:
            gone.append(Desired(Kind.TABLE, each.key, each.fqn, {}, is_gone=True, about=each.fqn))
    return gone


def _send_checks(session: Session, entities: Entities, mapping: EntityMapping, by_id: dict[str, Row]) -> None:
    sendable = [
        row for key, row in by_id.items()
        if row["status"] != "RETIRED" and (session.is_dry or _is_there(session, key))
    ]  # fmt: skip
    desired = {(each.kind, each.key): each for row in sendable for each in mapping.cases(row)}
    definitions = [each for each in desired.values() if each.kind is Kind.TEST_DEFINITION]
    entities.ensure("definitions of checks", definitions, at_once=False)
    entities.ensure("checks", [each for each in desired.values() if each.kind is Kind.TEST_CASE])
    gone = [
        Desired(Kind.TEST_CASE, each.key, each.fqn, {}, parent=each.parent, is_gone=True, about=each.fqn)
        for each in session.state.of(Kind.TEST_CASE)
        if each.parent in by_id and (Kind.TEST_CASE, each.key) not in desired
    ]
    entities.ensure("checks", gone)


def _is_there(session: Session, key: str) -> bool:
    row = session.state.get(Kind.TABLE, key)
    return row is not None and row.entity_id is not None


def _record(engine: Engine, session: Session, row: Row, desired: Desired, outcome: Outcome) -> None:
    """Store what stewards wrote to a table as proposed changes of its declaration."""
    if session.is_dry or outcome.current is None:
        return
    at = datetime.fromtimestamp(outcome.current.get("updatedAt", 0) / 1000, UTC)
    touch = session.touched.get(desired.fqn) or Touch(outcome.current.get("updatedBy"), at)
    session.result.proposed += incoming.record(
        engine, session.client, row, outcome.current, outcome.differences, touch
    )


def _read_incidents(engine: Engine, session: Session) -> None:
    """Store the resolutions of incidents as they were written there."""
    checks = [each for each in session.state.of(Kind.TEST_CASE) if each.parent]
    if not checks or session.is_dry:
        return
    cases = {each.fqn: (each.parent, each.key.partition("/")[2]) for each in checks}
    last = session.state.get(Kind.STATUS, "incidents")
    since = int(last.sent["at"]) if last else 0
    try:
        count, newest = incoming.record_incidents(engine, session.client, session.bot, cases, since)
    except RequestRefused as refused:
        session.result.problems.append(f"resolutions of incidents cannot be read: {refused}")
        return
    session.result.proposed += count
    if newest > since:
        session.state.store(Sent(Kind.STATUS, "incidents", "incidents", None, {"at": newest}, ""))
