"""Decide what comes in about datasets, by the rules of that moment: events, registrations and versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from psycopg import Cursor

from headrace.catalog.records import CheckResult, CheckStatus
from headrace.gates import Candidate, Moment
from headrace.policies.evaluation import Decision, Unevaluated, decide
from headrace.policies.folder import FOLDER
from headrace.policies.rules import CASES, EXCEPTIONS, RULES, Outcome, Policies, load_policies
from headrace.policies.subjects import Subject, facts, known_facts

_CHECK = "policy:"  # the beginning of the names of results
_MAX_DETAIL = 2000  # characters


def concerns(root: Path, moment: Moment) -> bool:
    """Return True if the project has a rule of that moment, or one that cannot be read."""
    policies = _of_project(root)
    return bool(policies.of(moment).rules) or any(_unread(policies))


def results(root: Path, cursor: Cursor[Any], candidates: Sequence[Candidate]) -> list[list[CheckResult]]:
    """Return a result for each rule that is not met, or that cannot be evaluated.

    Also for each file with an entry that cannot be read: it may be a rule that nothing evaluates.
    """
    policies = _of_project(root)
    unread = list(_unread(policies))
    if not policies.rules:
        return [unread for _ in candidates]
    subjects = _subjects(cursor, candidates)
    now = datetime.now(UTC)
    found: list[list[CheckResult]] = [[] for _ in candidates]
    for moment in {each.at for each in candidates}:
        of_moment = policies.of(moment)
        numbers = [number for number, each in enumerate(candidates) if each.at == moment]
        if not of_moment.rules:
            continue
        asked = [subjects[number] for number in numbers]
        decisions, failed = decide(of_moment, asked, now)
        for decision in decisions:
            found[numbers[decision.number]].append(_result(decision))
        for broken in failed:
            for number in numbers if broken.number is None else [numbers[broken.number]]:
                found[number].append(_not_evaluated(broken))
    return [[*each, *unread] for each in found]


def _of_project(root: Path) -> Policies:
    """Return the policies of a project, read again when a file has changed."""
    folder = root / FOLDER
    files = [*sorted(folder.iterdir()), *(folder / name for name in (RULES, EXCEPTIONS, CASES))]
    return _loaded(root, tuple((str(file), *_state(file)) for file in files))


def _state(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4)
def _loaded(root: Path, files: tuple[tuple[str, int, int], ...]) -> Policies:
    """Return the policies. files: their state, by which they are kept."""
    return load_policies(root)


def _subjects(cursor: Cursor[Any], candidates: Sequence[Candidate]) -> list[Subject]:
    keys = {key for each in candidates for key in each.inputs}
    keys |= {each.key for each in candidates if each.record is None}
    known = known_facts(cursor, keys)
    return [
        Subject(
            each.key,
            known[each.key] if each.record is None else facts(each.record, each.kind),
            [known[key] for key in each.inputs],
            event=each.at,
            version=each.version,
            run=each.run,
        )
        for each in candidates
    ]


def _result(decision: Decision) -> CheckResult:
    rule, exception = decision.rule, decision.exception
    detail: Mapping[str, Any] = {
        "outcome": decision.outcome.value,
        "message": rule.message,
        "comply": rule.comply,
    }
    if decision.outcome is Outcome.ALLOW and exception is not None:
        detail = {**detail, "approved_by": exception.approved_by, "until": exception.until.isoformat()}
    status = {Outcome.ALLOW: CheckStatus.PASS, Outcome.WARN: CheckStatus.WARN}.get(
        decision.outcome, CheckStatus.FAIL
    )
    return CheckResult(_CHECK + rule.name, status, detail=detail)


def _not_evaluated(broken: Unevaluated) -> CheckResult:
    is_refused = broken.rule.if_not_evaluated == "refuse"
    return CheckResult(
        _CHECK + broken.rule.name,
        CheckStatus.FAIL if is_refused else CheckStatus.WARN,
        detail={"not_evaluated": broken.reason},
    )


def _unread(policies: Policies) -> Iterator[CheckResult]:
    found: dict[str, list[str]] = {}
    for each in policies.problems:
        if each.file.name != CASES:
            found.setdefault(each.file.name, []).append(f"line {each.line}: {each.message}")
    for name, problems in found.items():
        detail = {"not_evaluated": "; ".join(problems)[:_MAX_DETAIL]}
        yield CheckResult(f"{_CHECK}{FOLDER}/{name}", CheckStatus.WARN, detail=detail)
