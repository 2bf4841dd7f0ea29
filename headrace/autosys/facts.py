"""An estate as JSON values: its report and its jobs."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.autosys.census import census
from headrace.autosys.estate import Estate
from headrace.autosys.findings import Finding
from headrace.autosys.jil.keywords import CONDITIONS
from headrace.autosys.jobs import Edge, Job
from headrace.autosys.wording import start_in_words


def report_facts(estate: Estate, found: Sequence[Finding]) -> dict[str, object]:
    """Return the report as JSON."""
    return {
        "counts": census(estate),
        "steps": [
            {
                "statement": f"{step.statement.action}_{step.statement.kind}",
                "name": step.statement.name,
                "affected": step.affected,
                "file": step.statement.file,
                "line": step.statement.line,
            }
            for step in estate.steps
        ],
        "cycles": estate.cycles,
        "findings": found,
    }


def job_facts(job: Job, estate: Estate) -> dict[str, object]:
    """Return a job with its incoming edges."""
    return {
        "name": job.name,
        "type": job.type,
        "box": job.box,
        "machine": job.machine,
        "owner": job.owner,
        "command": job.command,
        "starts": start_in_words(job),
        "conditions": {name: job.values[name] for name in CONDITIONS if job.values.get(name)},
        "edges": [_edge(edge) for edge in estate.waits_for.get(job.name, ())],
        "file": job.file,
        "line": job.line,
    }


def _edge(edge: Edge) -> dict[str, object]:
    return {
        "upstream": edge.upstream,
        "text": edge.text,
        "attribute": edge.attribute,
        "orders": edge.orders,
        "file": edge.file,
        "line": edge.line,
    }
