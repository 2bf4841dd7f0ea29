-- Stores a completion of each run, once; one known as history only completes now. A known one may have changed: its
-- business date, its times, and its run's id, if it turned out to be that of another job, or a scheduler's. `digest`
-- null: no event reports it any more. Its position in the order of arrival is that of the first live event that reports
-- it. Returns the new ones.
WITH item AS MATERIALIZED (
    SELECT item.*, coalesce(known_sequence, event.sequence) AS sequence
    FROM jsonb_to_recordset(%(completions)s) AS item (
        event_key text, run_id uuid, process_id uuid, run text, at timestamptz, moment timestamptz, partition_key text,
        historical boolean, event_time timestamptz, digest text, known_sequence bigint
    )
    LEFT JOIN LATERAL (
        SELECT sequence
        FROM catalog.run_event
        WHERE run_event.event_time = item.event_time
          AND content_hash = item.digest
          AND organisation_id = %(organisation)s
    ) event ON true
), known AS MATERIALIZED (
    SELECT event_key, sequence, historical
    FROM catalog.completion
    WHERE organisation_id = %(organisation)s AND event_key = ANY (ARRAY (SELECT event_key FROM item))
), moved AS (
    DELETE FROM catalog.pending_materialization pending USING item
    WHERE pending.organisation_id = %(organisation)s
      AND pending.event_key = item.event_key
      AND (pending.run_id, pending.at) IS DISTINCT FROM (item.run_id, item.at)
    RETURNING subject_type, subject_id, pending.partition_key, pending.event_key, item.at, item.run_id, version_id
), queued AS (
    INSERT INTO catalog.pending_materialization (
        organisation_id, subject_type, subject_id, partition_key, event_key, at, run_id, version_id
    )
    SELECT %(organisation)s, moved.* FROM moved ORDER BY event_key -- sorted, which waits until all are deleted
    ON CONFLICT (organisation_id, completion_id) DO NOTHING
), stored AS (
    INSERT INTO catalog.completion AS stored (
        organisation_id, event_key, sequence, run_id, process_id, run, attempt, status, at, moment, partition_key,
        run_partition_key, historical
    )
    SELECT %(organisation)s, event_key, coalesce(item.sequence, known.sequence), run_id, process_id, run, 1, 'COMPLETE', at,
           moment, partition_key, '', coalesce(item.historical, known.historical)
    FROM item
    LEFT JOIN known USING (event_key)
    WHERE item.historical IS NOT NULL OR known.event_key IS NOT NULL
    ORDER BY at, event_key
    ON CONFLICT (organisation_id, event_key) DO UPDATE SET
        run_id = excluded.run_id,
        run = excluded.run,
        at = excluded.at,
        moment = excluded.moment,
        partition_key = excluded.partition_key,
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
WHERE CASE WHEN known.event_key IS NULL THEN item.historical IS NOT NULL ELSE known.historical AND NOT item.historical END
