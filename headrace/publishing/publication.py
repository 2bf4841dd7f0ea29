"""Publish written versions: store them and move the pointers, for all versions of a run in one transaction."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg
from psycopg import Cursor
from psycopg.types.json import Jsonb
from sqlalchemy import Engine

from headrace.catalog import published_events as events
from headrace.catalog import versions
from headrace.catalog.lookup import dataset_ids
from headrace.catalog.records import CheckStatus, Outcome, Publication, Version, VersionDraft
from headrace.catalog.schema import schema_hash
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import encoded, jsonb
from headrace.errors import AttemptLost, IdempotencyConflict, UnknownRun, UnpublishedInput
from headrace.publishing.lineage import lineage_hashes, provenances, store_lineage
from headrace.publishing.sketches import store_sketches
from headrace.publishing.sql import statement


def generations(
    engine: Engine, outputs: Sequence[tuple[str, str | None]]
) -> dict[tuple[str, str | None], int]:
    """Return the pointer's generation of each (dataset, partition); 0 if nothing is published.

    Call it when the inputs are pinned, and pass the result to the draft. Raises UnknownDataset.
    """
    found = dict.fromkeys(outputs, 0)
    with transaction(engine) as cursor:
        dataset_ids(cursor, {dataset for dataset, _ in outputs})
        for row in statement("generations").execute(
            cursor, _places(current_context().organisation_id, outputs)
        ):
            found[row["full_name"], row["partition_key"] or None] = row["generation"]
    return found


def publish(
    engine: Engine, run_id: UUID | None, drafts: Sequence[VersionDraft], *, attempt: int | None = None
) -> list[Publication]:
    """Store the drafts and move their pointers, in one transaction; returns one Publication per draft, in order.

    A draft with a failed check is stored as BLOCKED, one whose pointer has moved since as SUPERSEDED, with a reason;
    neither moves the pointer. A draft whose idempotency key has been published, or that was stored before, changes
    nothing and returns the first version. `run_id` is the run of an `attempt`, and `attempt` its number (None: the
    newest); None for a version without a run.

    Raises, with nothing stored: UnknownDataset, UnpublishedInput, UnknownRun, AttemptLost, IdempotencyConflict (a key
    or tag used for something else), ValueError for two drafts of one partition.
    """
    if not drafts:
        return []
    places = [(draft.dataset, draft.partition) for draft in drafts]
    if len(set(places)) != len(places):
        twice = sorted({f"{d} {p or ''}".strip() for d, p in places if places.count((d, p)) > 1})
        raise ValueError(f"two drafts for the same partition: {', '.join(twice)}")
    hashes, lineages = _schema_hashes(drafts), lineage_hashes(drafts)
    parameters = _parameters(run_id, drafts, hashes, lineages) | {"attempt": attempt}
    try:
        with transaction(engine) as cursor:
            known = provenances(cursor, drafts, lineages)
            rows = _store(cursor, places, parameters | {"provenances": jsonb(known)})
            _verify(cursor, run_id, drafts, rows)
            store_lineage(cursor, run_id, drafts, lineages, rows)
            store_sketches(
                cursor,
                {
                    row["version_id"]: draft.sketches
                    for draft, row in zip(drafts, rows, strict=True)
                    if not row["replayed"]
                },
            )
            others = [r["version_id"] for r in rows if r["replayed"]]
            others += [r["existing_version_id"] for r in rows if r["existing_version_id"]]
            stored = versions.by_ids(cursor, others) if others else {}
    except psycopg.errors.UniqueViolation as error:
        raise IdempotencyConflict(
            f"an idempotency key or version tag is in use: {error.diag.message_detail}"
        ) from error
    return [
        Publication(
            version=stored[row["version_id"]] if row["replayed"] else _version(run_id, draft, digest, row),
            outcome=Outcome(row["outcome"]),
            generation=row["generation"],
            reason=row["reason"],
            replayed=row["replayed"],
            existing=stored.get(row["existing_version_id"]),
        )
        for draft, digest, row in zip(drafts, hashes, rows, strict=True)
    ]


def reserve(cursor: Cursor[Any], organisation: UUID, places: Sequence[tuple[str, str | None]]) -> None:
    """Lock the pointers of these datasets and partitions until the transaction ends; missing ones are created."""
    statement("reserve").execute(cursor, _places(organisation, places))


def _store(
    cursor: Cursor[dict[str, Any]], places: Sequence[tuple[str, str | None]], parameters: dict[str, Any]
) -> list[dict[str, Any]]:
    """Reserve the pointers, then publish: two statements in one round trip."""
    with cursor.connection.pipeline():
        reserve(cursor, current_context().organisation_id, places)
        return statement("publish").execute(cursor, parameters).fetchall()


def _verify(
    cursor: Cursor[dict[str, Any]],
    run_id: UUID | None,
    drafts: Sequence[VersionDraft],
    rows: list[dict[str, Any]],
) -> None:
    """Raise the error of a draft that the statement could not store; the transaction then leaves nothing."""
    if len(rows) != len(drafts):
        dataset_ids(cursor, {draft.dataset for draft in drafts})
    for draft, row in zip(drafts, rows, strict=True):
        if row["conflict"]:
            raise IdempotencyConflict(
                f"the idempotency key {draft.idempotency_key} or the tag {draft.tag} of {draft.dataset} was used "
                "before, for another partition or by another run"
            )
        if row["unpublished"]:
            ids = ", ".join(str(version_id) for version_id in row["unpublished"])
            raise UnpublishedInput(
                f"{draft.dataset} was computed from versions that were never published: {ids}. "
                "Inputs are chosen by headrace.publishing.pins.resolve."
            )
    if run_id is not None and not all(row["replayed"] for row in rows) and not rows[0]["run_known"]:
        raise UnknownRun(f"run {run_id} was not started: publish within headrace.publishing.runs.attempt")
    if any(row["lost"] for row in rows):
        raise AttemptLost(
            f"run {run_id} cannot publish: its database session ended, so the attempt was given up as lost and its "
            "files may be deleted. Start it again"
        )


def _places(organisation: UUID, outputs: Sequence[tuple[str, str | None]]) -> dict[str, Any]:
    return {
        "organisation": organisation,
        "datasets": [dataset for dataset, _ in outputs],
        "partitions": [partition or "" for _, partition in outputs],
    }


def _parameters(
    run_id: UUID | None, drafts: Sequence[VersionDraft], hashes: Sequence[str], lineages: Sequence[str | None]
) -> dict[str, Any]:
    encoded_drafts = encoded(
        [
            _row(ordinal, draft, schema, lineage)
            for ordinal, (draft, schema, lineage) in enumerate(zip(drafts, hashes, lineages, strict=True))
        ]
    )
    return {
        "organisation": current_context().organisation_id,
        "namespace": events.namespace(),
        "run_id": run_id,
        "drafts": Jsonb(encoded_drafts, dumps=bytes),
        "schemas": jsonb({digest: draft.columns for draft, digest in zip(drafts, hashes, strict=True)}),
        "events": jsonb(events.reports(run_id, drafts, encoded_drafts)),
    }


def _schema_hashes(drafts: Sequence[VersionDraft]) -> list[str]:
    """Return the schema hash of each draft; drafts of one run share their columns, which are hashed once."""
    columns = {id(draft.columns): draft.columns for draft in drafts}
    hashes = {identity: schema_hash(each) for identity, each in columns.items()}
    return [hashes[id(draft.columns)] for draft in drafts]


def _row(ordinal: int, draft: VersionDraft, schema: str, lineage: str | None) -> dict[str, Any]:
    return {
        "ordinal": ordinal,
        "dataset": draft.dataset,
        "partition_key": draft.partition or "",
        "version_tag": draft.tag,
        "path": draft.location,
        "format": draft.format,
        "schema_hash": schema,
        "row_count": draft.row_count,
        "byte_size": draft.byte_size,
        "file_count": draft.file_count,
        "checksum": draft.checksum,
        "idempotency_key": draft.idempotency_key,
        "expected_generation": draft.expected_generation,
        "inputs": draft.inputs,
        "checks": draft.checks,
        "block_reason": _block_reason(draft),
        "statistics": draft.statistics,
        "code_version": draft.code_version,
        "fingerprint": draft.fingerprint,
        "quarantine_path": draft.quarantine_location,
        "quarantine_rows": draft.quarantine_rows,
        "metadata_json": draft.metadata,
        "lineage_hash": lineage,
    }


def _block_reason(draft: VersionDraft) -> str | None:
    failed = [check for check in draft.checks if check.status is CheckStatus.FAIL]
    if not failed:
        return None
    named = ", ".join(
        check.name + ("" if check.failed_rows is None else f" ({check.failed_rows} rows)") for check in failed
    )
    return f"failed check{'s' if len(failed) > 1 else ''}: {named}"


def _version(run_id: UUID | None, draft: VersionDraft, schema: str, row: dict[str, Any]) -> Version:
    return Version(
        version_id=row["version_id"],
        dataset=draft.dataset,
        partition=draft.partition,
        tag=draft.tag,
        location=draft.location,
        format=draft.format,
        columns=draft.columns,
        row_count=draft.row_count,
        byte_size=draft.byte_size,
        file_count=draft.file_count,
        checksum=draft.checksum,
        schema_hash=schema,
        code_version=draft.code_version,
        fingerprint=draft.fingerprint,
        run_id=run_id,
        outcome=Outcome(row["outcome"]),
        created_at=row["produced_at"],
        metadata=draft.metadata,
    )
