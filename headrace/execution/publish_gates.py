"""Gates that a version passes between its checks and its publish; policies are one, packages may add others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sqlalchemy import Engine

from headrace.catalog.records import CheckResult
from headrace.execution.plan import OutputPlan, ProcessPlan
from headrace.plugins import Registry
from headrace.stores.writes import WrittenVersion


@dataclass(frozen=True, slots=True)
class Candidate:
    """The written versions of one output, one for each partition of the run."""

    plan: ProcessPlan
    output: OutputPlan
    versions: Sequence[WrittenVersion]


class PublishGate(Protocol):
    """Decides whether versions may be published."""

    def results(self, engine: Engine, candidate: Candidate) -> Sequence[CheckResult]:
        """Return a result for each objection: FAIL blocks the versions, WARN is shown with them."""
        ...


PUBLISH_GATES: Registry[PublishGate] = Registry(
    "headrace.publish_gates", "publish gate", {"policies": "headrace.policies.publishing:PolicyGate"}
)


def gated(
    engine: Engine, plan: ProcessPlan, output: OutputPlan, written: tuple[str, list[WrittenVersion]]
) -> tuple[str, list[WrittenVersion]]:
    """Add the results of all gates to the versions of an output."""
    tag, versions = written
    candidate = Candidate(plan, output, versions)
    results = [
        result
        for name in PUBLISH_GATES.names()
        for result in PUBLISH_GATES.get(name).results(engine, candidate)
    ]
    return tag, [replace(each, check_results=(*each.check_results, *results)) for each in versions]
