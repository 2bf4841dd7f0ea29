"""The gate of policies: rules with `at: [publish]` are evaluated before versions are published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from headrace import queries
from headrace.catalog.records import CheckResult, CheckStatus
from headrace.errors import UnknownDataset
from headrace.execution.publish_gates import Candidate
from headrace.policies.evaluation import Decision, decide
from headrace.policies.rules import CASES, FOLDER, Outcome, Policies, load_policies
from headrace.policies.subjects import Event, Subject, completed, facts
from headrace.project import project_root

_CHECK = "policy:"  # the beginning of the names of results
_MAX_DETAIL = 2000  # characters


class PolicyGate:
    """Blocks versions that a rule denies or holds, unless an exception allows them."""

    def results(self, engine: Engine, candidate: Candidate) -> Sequence[CheckResult]:
        """Return a result for each rule that is not met, or that cannot be evaluated, which blocks nothing.

        Also for each file with an entry that cannot be read: it may be a rule that nothing evaluates.
        """
        if not (project_root() / FOLDER).is_dir():
            return []
        policies = load_policies(project_root())
        rules = tuple(rule for rule in policies.rules if Event.PUBLISH in rule.at)
        unread = list(_unread(policies))
        if not rules:
            return unread
        plan, output = candidate.plan, candidate.output
        subject = Subject(
            output.record.key,
            facts(output.record, "dataset", output.store, plan.incremental.mode if plan.incremental else ""),
            [_registered(engine, each.dataset) for each in plan.inputs],
            (Path(), 0),
            Event.PUBLISH,
            {
                "rows": sum(each.row_count for each in candidate.versions),
                "bytes": sum(each.byte_size for each in candidate.versions),
                "partitions": [each.partition for each in candidate.versions if each.partition is not None],
            },
        )
        decisions, failed = decide(replace(policies, rules=rules), [subject], datetime.now(UTC))
        broken = (
            CheckResult(_CHECK + each.rule.name, CheckStatus.WARN, detail={"not_evaluated": each.reason})
            for each in failed
        )
        return [*_results(decisions), *broken, *unread]


def _results(decisions: Sequence[Decision]) -> Iterator[CheckResult]:
    for each in decisions:
        detail = {"outcome": each.outcome.value, "message": each.rule.message, "comply": each.rule.comply}
        if each.outcome is Outcome.ALLOW and each.exception is not None:
            detail |= {"approved_by": each.exception.approved_by, "until": each.exception.until.isoformat()}
        status = {Outcome.ALLOW: CheckStatus.PASS, Outcome.WARN: CheckStatus.WARN}.get(
            each.outcome, CheckStatus.FAIL
        )
        yield CheckResult(_CHECK + each.rule.name, status, detail=detail)


def _unread(policies: Policies) -> Iterator[CheckResult]:
    found: dict[str, list[str]] = {}
    for each in policies.problems:
        if each.file.name != CASES:
            found.setdefault(each.file.name, []).append(f"line {each.line}: {each.message}")
    for name, problems in found.items():
        detail = {"not_evaluated": "; ".join(problems)[:_MAX_DETAIL]}
        yield CheckResult(f"{_CHECK}{FOLDER}/{name}", CheckStatus.WARN, detail=detail)


def _registered(engine: Engine, key: str) -> dict[str, Any]:
    """Return an input as the catalog knows it: its owners, tags and description."""
    try:
        found = queries.dataset(engine, key)
    except UnknownDataset:
        return completed({"key": key})
    return completed(
        {
            "key": key,
            "owners": list(found.owners),
            "tags": dict(found.tags),
            "description": found.description or "",
        }
    )
