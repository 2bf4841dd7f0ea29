"""The SLA sensor: evaluates objectives, forecasts deadlines, and finds the causes of incidents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg
from sqlalchemy import Engine

from headrace import garbage_collection
from headrace.alerts import heartbeat
from headrace.database.connection import connect
from headrace.declarations.loading.project import records
from headrace.errors import DeclaredElsewhere, ProjectNameTaken, UnknownDataset
from headrace.execution.plan import Plan, ProcessPlan
from headrace.execution.registration import no_session, register
from headrace.nouns import noun
from headrace.openlineage import renames
from headrace.registration.retirement import retire_undeclared
from headrace.slas.events import Kind
from headrace.slas.queries import OutOfOrder, out_of_order
from headrace.slas.status import SlaStatus
from headrace.slas.tick import Tick, evaluate

INTERVAL_SECONDS = 15  # deadlines are minutes
_MAX_NAMES_SHOWN = 3  # of late objectives, of those at risk, and of retired datasets


def slas_sensor(plans: Sequence[Plan] = (), *, complete: bool = False) -> dg.SensorDefinition:
    """Create the sensor over all SLA objectives. A tick is one transaction.

    The first tick of a code location registers `plans`, so that an SLA of a dataset that never ran is evaluated too.
    complete: they are all declarations of the project, so that it retires what the project no longer declares.
    Otherwise it keeps no state of its own: objective states are in the catalog, and a tick that dies leaves no trace.
    Changes during a downtime are recorded at the time they happened.
    """

    registration = _Registration(plans, complete=complete)

    @dg.sensor(
        name=heartbeat.JUDGING,
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Evaluates SLAs of datasets and jobs, forecasts delays, and finds their causes.",
    )
    def slas(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        engine = connect()
        with heartbeat.failures_recorded(engine, heartbeat.JUDGING):
            registered = registration.register(engine)
        if registered.problem:
            context.log.error(registered.problem)
        for warning in registered.warnings:
            context.log.warning(warning)
        if registered.retired:
            context.log.warning(str(registered))
        with garbage_collection.paused(), heartbeat.failures_recorded(engine, heartbeat.JUDGING):
            tick = evaluate(engine)
        heartbeat.record_heartbeat(engine, heartbeat.JUDGING, datetime.now(UTC))
        found = f"{registered} {summary(tick, out_of_order(engine, _MAX_NAMES_SHOWN))}".strip()
        return dg.SensorResult(skip_reason=dg.SkipReason(found))

    return slas


@dataclass(frozen=True, slots=True)
class _RegistrationResult:
    """Result of a registration. retired: datasets that are no longer declared; warnings: outdated manifests."""

    problem: str = ""
    retired: Sequence[str] = ()
    warnings: Sequence[str] = ()

    def __str__(self) -> str:
        if not self.retired:
            return self.problem
        retired = _listed(self.retired[:_MAX_NAMES_SHOWN], len(self.retired))
        return f"Retired, as they are no longer declared: {retired}."


class _Registration:
    """The registration of a code location's declarations, once: they change only when it is loaded again."""

    def __init__(self, plans: Sequence[Plan], *, complete: bool) -> None:
        self._plans = plans
        self._complete = complete
        self._done = not plans  # also when the declarations cannot be found: that retires nothing

    def register(self, engine: Engine) -> _RegistrationResult:
        """Register the declarations, unless that is done. A problem is tried again.

        The SLAs registered before are evaluated all the same.
        """
        if self._done:
            return _RegistrationResult()
        datasets, processes = records(self._plans)
        try:
            renames.follow_declarations(engine, datasets)
            warnings = register(engine, datasets, processes, no_session)
        except (DeclaredElsewhere, ProjectNameTaken, UnknownDataset) as error:
            return _RegistrationResult(
                f"New and changed SLAs are not evaluated, as the declarations cannot be registered: {error}"
            )
        self._done = True
        if not self._complete:
            return _RegistrationResult(warnings=warnings)
        keys = [plan.record.key for plan in self._plans if isinstance(plan, ProcessPlan)]
        retired = retire_undeclared(engine, [record.key for record in datasets], keys)
        return _RegistrationResult(retired=retired, warnings=warnings)


def summary(tick: Tick, wrong: Sequence[OutOfOrder]) -> str:
    """Summarise a tick and the current issues, for the Automation page."""
    if tick.skipped:
        return "Another process is evaluating the SLAs."
    sentences = [
        f"{tick.evaluated:,} {noun(tick.evaluated, 'objective')} evaluated, {tick.predicted} forecast."
    ]
    if tick.compiled:
        sentences.append(f"{tick.compiled:,} {noun(tick.compiled, 'SLA')} new or changed.")
    if tick.events:
        events = ", ".join(f"{count} {_plain(kind)}" for kind, count in tick.events.items())
        sentences.append(f"Events: {events}.")
    sentences += [f"{_plain(each.state).capitalize()}: {_named(each)}." for each in wrong]
    if not wrong:
        sentences.append("Nothing is late or at risk.")
    return " ".join(sentences)


def _named(wrong: OutOfOrder) -> str:
    return _listed(wrong.keys, wrong.count)


def _listed(keys: Sequence[str], count: int) -> str:
    names = ", ".join(keys)
    return f"{names} and {count - len(keys)} more" if count > len(keys) else names


def _plain(word: Kind | SlaStatus) -> str:
    return word.value.lower().replace("_", " ")
