"""The gate of policies: refuses what a rule denies or holds, unless an exception allows it.

Rules are read with Dagster's reader of YAML, which is imported in projects with policies only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import Cursor

from headrace.catalog.records import CheckResult
from headrace.gates import Candidate, Moment
from headrace.policies.folder import project_with_policies


class PolicyGate:
    """The policies of this process's project."""

    def concerns(self, moment: Moment) -> bool:
        """Return True if there is a rule of that moment, or one that cannot be read."""
        root = project_with_policies()
        if root is None:
            return False
        from headrace.policies import incoming

        return incoming.concerns(root, moment)

    def results(self, cursor: Cursor[Any], candidates: Sequence[Candidate]) -> list[list[CheckResult]]:
        """Return a result for each rule that is not met, or that cannot be evaluated."""
        root = project_with_policies()
        if root is None:
            return [[] for _ in candidates]
        from headrace.policies import incoming

        return incoming.results(root, cursor, candidates)
