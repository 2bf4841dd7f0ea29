"""Let the versions of external datasets pass the gates, before they are published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from sqlalchemy import Engine

from headrace.catalog.records import CheckStatus, DatasetRecord, VersionDraft
from headrace.database.connection import transaction
from headrace.gates import Candidate, Moment, gate_results, is_gated


def gated(
    engine: Engine, drafts: Sequence[VersionDraft], records: Mapping[str, DatasetRecord]
) -> tuple[list[VersionDraft], set[tuple[str, str | None]]]:
    """Return the drafts with the results of all gates, and the places of those that one refuses.

    records: the declared datasets, by key. A refused draft has another name than one that is not, as the same files may
    pass later.
    """
    if not drafts or not is_gated(Moment.PUBLISH):
        return list(drafts), set()
    candidates = [
        Candidate(
            Moment.PUBLISH,
            each.dataset,
            records[each.dataset],
            "external",
            version={
                "rows": each.row_count,
                "bytes": each.byte_size,
                "partitions": [each.partition] if each.partition is not None else [],
            },
        )
        for each in drafts
    ]
    with transaction(engine) as cursor:
        results = gate_results(cursor, candidates)
    found: list[VersionDraft] = []
    refused: set[tuple[str, str | None]] = set()
    for draft, of_draft in zip(drafts, results, strict=True):
        failed = sorted(each.name for each in of_draft if each.status is CheckStatus.FAIL)
        named = draft
        if failed:
            refused.add((draft.dataset, draft.partition))
            digest = sha256(f"{draft.idempotency_key} {failed}".encode()).hexdigest()[:8]
            time = draft.tag.rpartition("-")[0]
            named = replace(
                draft, tag=f"{time}-{digest}", idempotency_key=f"{draft.idempotency_key}/{digest}"
            )
        found.append(replace(named, checks=(*draft.checks, *of_draft)))
    return found, refused
