-- Stores the drafts and moves the pointers, all at once. The pointers are locked (reserve.sql), so that every decision
-- taken from this statement's snapshot still holds when it writes.
WITH draft AS MATERIALIZED (
    SELECT item.*, dataset.dataset_id, gen_random_uuid() AS version_id, clock_timestamp() AS now
    FROM jsonb_to_recordset(%(drafts)s) AS item (
        ordinal int, dataset text, partition_key text, version_tag text, path text, format text, schema_hash text,
        row_count bigint, byte_size bigint, file_count int, checksum text, idempotency_key text,
        expected_generation int, inputs uuid[], checks jsonb, block_reason text, statistics jsonb, code_version text,
        fingerprint text, quarantine_path text, quarantine_rows bigint, metadata_json jsonb, lineage_hash text
    )
    JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = item.dataset
), run AS MATERIALIZED (
    SELECT process_id FROM catalog.process_run WHERE run_id = %(run_id)s
), attempt AS MATERIALIZED (
    -- Locked, so that it cannot be given up, and its files deleted, before this transaction ends.
    SELECT state FROM catalog.run_attempt
    WHERE run_id = %(run_id)s AND (%(attempt)s::int IS NULL OR attempt = %(attempt)s)
    ORDER BY attempt DESC
    LIMIT 1
    FOR SHARE
), known AS MATERIALIZED (
    -- An earlier completion: published under the same key, or this very draft with any outcome.
    SELECT DISTINCT ON (draft.ordinal)
           draft.ordinal, version.dataset_version_id, version.outcome, version.reason, version.produced_at,
           (version.dataset_id, version.partition_key, version.idempotency_key)
               IS DISTINCT FROM (draft.dataset_id, draft.partition_key, draft.idempotency_key) AS conflict
    FROM draft
    JOIN LATERAL (
        SELECT * FROM catalog.dataset_version published
        WHERE published.organisation_id = %(organisation)s
          AND published.idempotency_key = draft.idempotency_key
          AND published.outcome = 'PUBLISHED'
        UNION ALL
        SELECT * FROM catalog.dataset_version same
        WHERE same.dataset_id = draft.dataset_id
          AND same.partition_key = draft.partition_key
          AND same.version_tag = draft.version_tag
    ) version ON true
    ORDER BY draft.ordinal, version.outcome = 'PUBLISHED' DESC
), fresh AS MATERIALIZED (
    SELECT draft.*, pointer.generation, pointer.dataset_version_id AS previous_version_id,
           existing.fingerprint = draft.fingerprint AS same_work,
           CASE WHEN draft.block_reason IS NOT NULL THEN 'BLOCKED'
                WHEN pointer.generation <> draft.expected_generation THEN 'SUPERSEDED'
                ELSE 'PUBLISHED' END AS outcome,
           CASE WHEN draft.block_reason IS NOT NULL THEN draft.block_reason
                WHEN pointer.generation = 0 AND draft.expected_generation <> 0 THEN format(
                    'expected generation %s, but nothing is published', draft.expected_generation)
                WHEN pointer.generation <> draft.expected_generation THEN format(
                    '%s at %s, while this run was under way (generation %s, expected %s)',
                    CASE winner.kind
                        WHEN 'WITHDRAW' THEN 'its pointer was withdrawn, as the declaration no longer had this partition,'
                        WHEN 'RESTORE' THEN format('version %s was restored with its declaration', won.version_tag)
                        WHEN 'ROLLBACK' THEN format('rolled back to version %s by %s', won.version_tag, winner.moved_by)
                        ELSE format('version %s was published by run %s', won.version_tag,
                                    coalesce(winner.run_id::text, 'unknown')) END,
                    to_char(winner.moved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                    pointer.generation, draft.expected_generation) END AS reason
    FROM draft
    JOIN catalog.published_pointer pointer USING (dataset_id, partition_key)
    LEFT JOIN catalog.pointer_move winner USING (dataset_id, partition_key, generation)
    LEFT JOIN catalog.dataset_version won ON won.dataset_version_id = winner.dataset_version_id
    LEFT JOIN catalog.dataset_version existing ON existing.dataset_version_id = pointer.dataset_version_id
    WHERE NOT EXISTS (SELECT FROM known WHERE known.ordinal = draft.ordinal)
), input AS MATERIALIZED (
    SELECT fresh.ordinal, fresh.version_id, fresh.dataset_id, input_id, version.dataset_id AS input_dataset_id,
           version.version_tag, version.partition_key, coalesce(version.outcome = 'PUBLISHED', false) AS published
    FROM fresh
    CROSS JOIN LATERAL (SELECT DISTINCT unnest(fresh.inputs) AS input_id) named
    LEFT JOIN catalog.dataset_version version ON version.dataset_version_id = input_id
), schema AS (
    INSERT INTO catalog.dataset_schema (
        dataset_id, schema_hash, column_order, organisation_id, column_name, column_type, nullable, column_metadata
    )
    SELECT used.dataset_id, used.schema_hash, col.position, %(organisation)s, col.item ->> 'name', col.item ->> 'type',
           (col.item ->> 'nullable')::boolean, col.item - '{name,type,nullable}'::text[]
    FROM (SELECT DISTINCT dataset_id, schema_hash FROM fresh) used
    JOIN LATERAL jsonb_array_elements(%(schemas)s::jsonb -> used.schema_hash)
        WITH ORDINALITY AS col (item, position) ON true
    WHERE NOT EXISTS (
        SELECT FROM catalog.dataset_schema stored
        WHERE stored.dataset_id = used.dataset_id AND stored.schema_hash = used.schema_hash
    )
    ON CONFLICT DO NOTHING
), version AS (
    INSERT INTO catalog.dataset_version (
        dataset_version_id, organisation_id, dataset_id, partition_key, version_tag, path, format, row_count, byte_size,
        file_count, checksum, schema_hash, code_version, fingerprint, produced_by_run_id, idempotency_key, outcome,
        reason, quarantine_path, quarantine_rows, statistics, metadata_json, lineage_hash, provenance_id, produced_at
    )
    SELECT version_id, %(organisation)s, dataset_id, partition_key, version_tag, path, format, row_count, byte_size,
           file_count, checksum, schema_hash, code_version, fingerprint, %(run_id)s, idempotency_key, outcome,
           reason, quarantine_path, quarantine_rows, statistics, metadata_json, lineage_hash,
           (%(provenances)s::jsonb ->> ordinal::text)::uuid, now
    FROM fresh
), version_input AS (
    INSERT INTO catalog.version_input (dataset_version_id, input_version_id, organisation_id)
    SELECT version_id, input_id, %(organisation)s FROM input WHERE published
), results AS (
    INSERT INTO catalog.quality_check_result (
        dataset_version_id, name, organisation_id, status, failed_rows, detail_json, executed_at
    )
    SELECT fresh.version_id, result.name, %(organisation)s, result.status, result.failed_rows, result.detail, fresh.now
    FROM fresh
    CROSS JOIN LATERAL jsonb_to_recordset(fresh.checks)
        AS result (name text, status text, failed_rows bigint, detail jsonb)
), edge AS (
    -- A declared edge that has ended is not restored by a run that still used it. A dataset that continues its previous
    -- version is not downstream of itself.
    INSERT INTO catalog.lineage_edge (
        organisation_id, source_type, source_id, target_type, target_id, edge_role, process_id, origin
    )
    SELECT DISTINCT %(organisation)s::uuid, 'DATASET', input_dataset_id, 'DATASET', dataset_id, 'DERIVES', run.process_id,
           'OBSERVED'
    FROM input
    LEFT JOIN run ON true
    WHERE input.published
      AND input.input_dataset_id <> input.dataset_id
      AND NOT EXISTS (
          SELECT FROM catalog.lineage_edge stored
          WHERE stored.source_id = input.input_dataset_id
            AND stored.target_id = input.dataset_id
            AND stored.edge_role = 'DERIVES'
            AND (run.process_id IS NULL OR stored.process_id = run.process_id)
      )
    ON CONFLICT DO NOTHING
), moved AS (
    UPDATE catalog.published_pointer pointer
    SET dataset_version_id = fresh.version_id, generation = pointer.generation + 1,
        moved_at = greatest(fresh.now, pointer.moved_at)
    FROM fresh
    WHERE fresh.outcome = 'PUBLISHED'
      AND pointer.dataset_id = fresh.dataset_id
      AND pointer.partition_key = fresh.partition_key
    RETURNING pointer.dataset_id, pointer.partition_key, pointer.generation, pointer.moved_at
), history AS (
    INSERT INTO catalog.pointer_move (
        dataset_id, partition_key, generation, organisation_id, dataset_version_id, previous_version_id, kind, run_id,
        moved_at
    )
    SELECT dataset_id, partition_key, moved.generation, %(organisation)s, fresh.version_id, fresh.previous_version_id,
           'PUBLISH', %(run_id)s, moved.moved_at
    FROM moved JOIN fresh USING (dataset_id, partition_key)
), outbox AS (
    INSERT INTO catalog.outbox (organisation_id, topic, payload_json)
    SELECT %(organisation)s, 'version.' || lower(outcome), jsonb_build_object(
        'dataset', dataset, 'partition', nullif(partition_key, ''), 'tag', version_tag, 'version_id', version_id,
        'run_id', %(run_id)s::uuid, 'generation', generation + (outcome = 'PUBLISHED')::int, 'reason', reason)
    FROM fresh
    ORDER BY ordinal
), unreported AS (
    -- Until the run has reported it.
    INSERT INTO catalog.unreported_version (dataset_version_id, organisation_id)
    SELECT version_id, %(organisation)s FROM fresh WHERE outcome = 'PUBLISHED' AND %(run_id)s::uuid IS NOT NULL
), event AS (
    INSERT INTO catalog.run_event (
        event_time, organisation_id, run_id, process_key, event_type, payload_json, content_hash
    )
    SELECT reported.event_time, %(organisation)s, %(run_id)s, reported.process_key, reported.event_type,
           CASE WHEN reported.payload ? 'inputs' THEN reported.payload || jsonb_build_object(
               'inputs', named.inputs, 'job', jsonb_build_object(
                   'namespace', %(namespace)s::text, 'name', reported.process_key))
                ELSE reported.payload END,
           reported.content_hash
    FROM (
        SELECT item.*, process.process_key
        FROM jsonb_to_recordset(%(events)s)
            AS item (event_time timestamptz, event_type text, payload jsonb, content_hash text)
        LEFT JOIN run ON true
        LEFT JOIN catalog.process USING (process_id)
    ) reported
    CROSS JOIN (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
            'namespace', %(namespace)s::text, 'name', full_name,
            'facets', jsonb_build_object('headrace_versions', jsonb_build_object('versions', versions)))), '[]') AS inputs
        FROM (
            SELECT dataset.full_name, jsonb_agg(DISTINCT jsonb_build_object(
                'versionId', input_id, 'tag', version_tag, 'partition', nullif(partition_key, ''))) AS versions
            FROM input JOIN catalog.dataset ON dataset.dataset_id = input_dataset_id
            GROUP BY dataset.full_name
        ) read
    ) named
    WHERE EXISTS (SELECT FROM fresh)
    ON CONFLICT DO NOTHING
)
SELECT ordinal, version_id, outcome, generation + (outcome = 'PUBLISHED')::int AS generation, reason, now AS produced_at,
       false AS replayed, false AS conflict,
       CASE WHEN outcome = 'SUPERSEDED' AND same_work THEN previous_version_id END AS existing_version_id,
       ARRAY (SELECT input_id FROM input WHERE input.ordinal = fresh.ordinal AND NOT published) AS unpublished,
       EXISTS (SELECT FROM run) AS run_known, EXISTS (SELECT FROM attempt WHERE state = 'LOST') AS lost
FROM fresh
UNION ALL
SELECT ordinal, dataset_version_id, outcome,
       coalesce(
           (SELECT generation FROM catalog.pointer_move move
            WHERE move.dataset_version_id = known.dataset_version_id AND move.kind = 'PUBLISH'),
           (SELECT generation FROM catalog.published_pointer pointer
            WHERE pointer.dataset_id = draft.dataset_id AND pointer.partition_key = draft.partition_key)),
       reason, produced_at, true, conflict, NULL, '{}', EXISTS (SELECT FROM run), false
FROM known JOIN draft USING (ordinal)
ORDER BY ordinal
