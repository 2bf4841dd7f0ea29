"""Gates: what comes in about a dataset passes them, or is refused. Policies are one, packages may add others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from psycopg import Cursor

from headrace.catalog.records import CheckResult, CheckStatus, DatasetRecord
from headrace.plugins import Registry


class Moment(StrEnum):
    """When something comes in: a declaration, a registration, an event that another system reports, or a version."""

    DECLARATION = "declaration"
    REGISTRATION = "registration"
    EVENT = "event"
    PUBLISH = "publish"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An event, a registration or a version that is about to come in, and the dataset that it is about.

    record: the dataset as it is declared or requested, which is of this `kind` (`dataset`, `external`, `registered`);
    None: as the catalog knows it. inputs: keys. version: `rows`, `bytes` and `partitions` (keys) of versions, as far as
    they are known. run: `technology`, `system`, `process`, `status` (texts) and `historical` of an event.
    """

    at: Moment
    key: str
    record: DatasetRecord | None = None
    kind: str = ""
    inputs: Sequence[str] = ()
    version: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, str | bool] = field(default_factory=dict)


class Gate(Protocol):
    """Decides what may come in."""

    def concerns(self, moment: Moment) -> bool:
        """Return True if it may have results at that moment; the answer is quick."""
        ...

    def results(
        self, cursor: Cursor[Any], candidates: Sequence[Candidate]
    ) -> Sequence[Sequence[CheckResult]]:
        """Return, for each candidate, a result for each objection: FAIL refuses it, WARN is shown with it.

        Their `detail` has texts: `message`, and `comply` (what to do). With `outcome: hold`, a registration waits for
        its review all the same, and the reviewer sees the objection.
        """
        ...


GATES: Registry[Gate] = Registry("headrace.gates", "gate", {"policies": "headrace.policies.gate:PolicyGate"})


def is_gated(moment: Moment) -> bool:
    """Return True if a gate may have results at that moment."""
    return any(GATES.get(name).concerns(moment) for name in GATES.names())


def gate_results(cursor: Cursor[Any], candidates: Sequence[Candidate]) -> list[list[CheckResult]]:
    """Return the results of all gates for each candidate."""
    found: list[list[CheckResult]] = [[] for _ in candidates]
    for name in GATES.names() if candidates else ():
        for results, more in zip(found, GATES.get(name).results(cursor, candidates), strict=True):
            results += more
    return found


def objections(
    candidates: Sequence[tuple[int, Candidate]], results: Sequence[Sequence[CheckResult]]
) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Return why events are refused, and what to show with the others, each with the dataset, by the event's number.

    candidates: each with the number of its event; results: those of the candidates.
    """
    refused: dict[int, list[str]] = {}
    shown: dict[int, list[str]] = {}
    for (number, candidate), found in zip(candidates, results, strict=True):
        if (reason := refusal(found)) is not None:
            refused.setdefault(number, []).append(f"{candidate.key}: {reason}")
        if texts := [f"{candidate.key}: {warning}" for warning in warnings(found)]:
            shown.setdefault(number, []).extend(texts)
    return refused, shown


def refusal(results: Sequence[CheckResult], *, held: bool = True) -> str | None:
    """Return why a candidate is refused, and what to do; None if it is not. held: also what waits for an approval."""
    refused = [each for each in results if each.status is CheckStatus.FAIL and (held or not is_held(each))]
    return "; ".join(map(described, refused)) or None


def is_held(result: CheckResult) -> bool:
    """Return True if a person can approve what is refused."""
    return result.status is CheckStatus.FAIL and result.detail.get("outcome") == "hold"


def warnings(results: Sequence[CheckResult]) -> list[str]:
    """Return what is to be shown with a candidate that comes in."""
    return [described(each) for each in results if each.status is CheckStatus.WARN]


def described(result: CheckResult) -> str:
    """Return an objection as a sentence, with the name of the rule and what to do."""
    detail = result.detail
    if "message" not in detail:
        return f"{result.name}: {'; '.join(map(str, detail.values()))}"
    return f"{detail['message']} ({result.name}). {detail.get('comply', '')}".strip()
