-- Keeps a completion of each run, once; one that was known as history only completes now.
INSERT INTO catalog.reported_event AS known (
    organisation_id, event_key, run_id, process_id, run, attempt, state, status, ending, at, partition_key, outputs, historical
)
SELECT %(organisation)s, event_key, run_id, process_id, run, 1, 'SUCCESS', 'COMPLETE', 'GENUINE', at, partition_key, '[]', historical
FROM jsonb_to_recordset(%(completions)s) AS item (
    event_key text, run_id uuid, process_id uuid, run text, at timestamptz, partition_key text, historical boolean
)
ORDER BY at, event_key
ON CONFLICT (organisation_id, event_key) DO UPDATE SET historical = false, sequence = excluded.sequence
    WHERE known.historical AND NOT excluded.historical
RETURNING event_key
