"""Table rows for jobs and candidate datasets."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.autosys import Edge, Estate, Job, start_in_words
from headrace.autosys.jil.keywords import CONDITIONS
from headrace.estates.dataset_candidates import Candidate, Evidence

MAX_EVIDENCE = 3  # pieces of evidence for a candidate


def job_as_json(job: Job, estate: Estate) -> dict[str, object]:
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


def waits_for(job: Job) -> str:
    """Return its conditions as written, one per line, and the file that it watches."""
    lines = [
        text if name == "condition" else f"{name}: {text}"
        for name in CONDITIONS
        if (text := job.values.get(name))
    ]
    return "\n".join(
        [*lines, *([f"file {job.values['watch_file']}"] if job.values.get("watch_file") else [])]
    )


def candidate_as_json(candidate: Candidate) -> dict[str, object]:
    """Return a candidate with all of its evidence."""
    return {
        "pattern": candidate.pattern,
        "confidence": candidate.confidence,
        "writers": candidate.writers,
        "readers": candidate.readers,
        "evidence": candidate.evidence,
    }


def evidence_in_words(evidence: Sequence[Evidence]) -> str:
    """Return the best pieces of evidence, one per line."""
    lines = [
        f"{each.job}, {each.attribute}: {each.text} ({each.file}:{each.line})"
        for each in evidence[:MAX_EVIDENCE]
    ]
    if len(evidence) > MAX_EVIDENCE:
        lines.append(f"and {len(evidence) - MAX_EVIDENCE:,} more")
    return "\n".join(lines)
