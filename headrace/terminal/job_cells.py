"""Table cells for jobs and candidate datasets."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.autosys import Job
from headrace.autosys.jil.keywords import CONDITIONS
from headrace.estates.dataset_candidates import Evidence

MAX_EVIDENCE = 3  # pieces of evidence for a candidate


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


def evidence_in_words(evidence: Sequence[Evidence]) -> str:
    """Return the best pieces of evidence, one per line."""
    lines = [
        f"{each.job}, {each.attribute}: {each.text} ({each.file}:{each.line})"
        for each in evidence[:MAX_EVIDENCE]
    ]
    if len(evidence) > MAX_EVIDENCE:
        lines.append(f"and {len(evidence) - MAX_EVIDENCE:,} more")
    return "\n".join(lines)
