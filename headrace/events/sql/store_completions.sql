-- Stores genuine successes, each once, and retracts those without `at`, whose runs turned out otherwise. Further events
-- of a run may change a known one: its times, its business date, and its run, if that turned out to be another one. Its
-- position in the order of arrival is that of the first live event that reports it; `sequence` null: none of these
-- events does. Triggered runs and materializations in Dagster continue; a version that waits for Dagster is reported by
-- the completion of the run that it belongs to now, or keeps its own. Returns those that are new, or live for the first time.
WITH item AS MATERIALIZED (
    SELECT *
    FROM jsonb_to_recordset(%(completions)s) AS item (
        event_key text, sequence bigint, run_id uuid, process_id uuid, run text, attempt int, status text, at timestamptz,
        started_at timestamptz, moment timestamptz, exit_code int, machine text, log_location text, partition_key text,
        run_partition_key text, historical boolean
    )
), known AS MATERIALIZED (
    SELECT stored.*, item.at IS NULL AS is_retracted
    FROM item
    CROSS JOIN LATERAL (
        SELECT ctid AS row_id, event_key, sequence, historical
        FROM catalog.completion
        WHERE organisation_id = %(organisation)s AND completion.event_key = item.event_key
        OFFSET 0 -- this and what follows by the index, whatever statistics the planner has
    ) stored
), waiting AS MATERIALIZED (
    SELECT pending.*, item.at, item.run_id
    FROM item
    CROSS JOIN LATERAL (
        SELECT ctid AS row_id, subject_type, subject_id, partition_key, event_key, version_id, at AS former_at,
               run_id AS former_run_id
        FROM catalog.pending_materialization
        WHERE organisation_id = %(organisation)s AND pending_materialization.event_key = item.event_key
        OFFSET 0
    ) pending
    WHERE CASE WHEN item.at IS NULL THEN subject_type = 'PROCESS'
          ELSE (former_run_id, former_at) IS DISTINCT FROM (item.run_id, item.at) END
), taken AS (
    DELETE FROM catalog.pending_materialization WHERE ctid = ANY (ARRAY (SELECT row_id FROM waiting))
    RETURNING event_key
), queued AS (
    INSERT INTO catalog.pending_materialization (
        organisation_id, subject_type, subject_id, partition_key, event_key, at, run_id, version_id
    )
    SELECT %(organisation)s, subject_type, subject_id, partition_key, event_key, at, run_id, version_id
    FROM waiting
    WHERE at IS NOT NULL AND event_key IN (SELECT event_key FROM taken) -- which waits until all are deleted
    ORDER BY event_key
    ON CONFLICT (organisation_id, completion_id) DO NOTHING
), otherwise AS MATERIALIZED (
    SELECT pending.completion_id, other.*
    FROM item
    CROSS JOIN LATERAL (
        SELECT completion_id, event_key, version_id
        FROM catalog.pending_materialization
        WHERE organisation_id = %(organisation)s AND pending_materialization.event_key = item.event_key
        OFFSET 0
    ) pending
    CROSS JOIN LATERAL (
        SELECT produced_by_run_id FROM catalog.dataset_version WHERE dataset_version_id = pending.version_id OFFSET 0
    ) version
    CROSS JOIN LATERAL (
        SELECT event_key, at, run_id
        FROM catalog.completion
        WHERE run_id = version.produced_by_run_id AND event_key <> pending.event_key
        ORDER BY at DESC, event_key DESC
        LIMIT 1
    ) other
    WHERE item.at IS NULL
), reported AS (
    UPDATE catalog.pending_materialization pending
    SET event_key = otherwise.event_key, at = otherwise.at, run_id = otherwise.run_id, changed_at = now()
    FROM otherwise
    WHERE pending.organisation_id = %(organisation)s AND pending.completion_id = otherwise.completion_id
), retracted AS (
    DELETE FROM catalog.completion ended
    WHERE ended.ctid = ANY (ARRAY (SELECT row_id FROM known WHERE is_retracted))
      AND NOT EXISTS (
          SELECT FROM catalog.pending_materialization pending
          WHERE pending.organisation_id = ended.organisation_id
            AND pending.event_key = ended.event_key
            AND pending.subject_type = 'DATASET'
            AND pending.completion_id NOT IN (SELECT completion_id FROM otherwise)
      )
), stored AS (
    INSERT INTO catalog.completion AS stored (
        organisation_id, event_key, sequence, run_id, process_id, run, attempt, status, at, started_at, moment, exit_code,
        machine, log_location, partition_key, run_partition_key, historical
    )
    SELECT %(organisation)s, event_key, coalesce(item.sequence, known.sequence), run_id, process_id, run, attempt, status, at,
           started_at, moment, exit_code, machine, log_location, partition_key, run_partition_key,
           CASE WHEN item.sequence IS NULL THEN known.historical ELSE item.historical END
    FROM item
    LEFT JOIN known USING (event_key)
    WHERE at IS NOT NULL AND (item.sequence IS NOT NULL OR known.event_key IS NOT NULL)
    ORDER BY at, event_key
    ON CONFLICT (organisation_id, event_key) DO UPDATE SET
        run_id = excluded.run_id,
        run = excluded.run,
        at = excluded.at,
        moment = excluded.moment,
        partition_key = excluded.partition_key,
        run_partition_key = excluded.run_partition_key,
        historical = stored.historical AND excluded.historical,
        sequence = CASE
            WHEN stored.historical = excluded.historical THEN least(stored.sequence, excluded.sequence)
            WHEN stored.historical THEN excluded.sequence
            ELSE stored.sequence
        END
)
SELECT event_key
FROM item
LEFT JOIN known USING (event_key)
WHERE item.sequence IS NOT NULL AND (known.event_key IS NULL OR known.historical AND NOT item.historical)
