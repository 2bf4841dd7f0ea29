-- Genuine successes, derived from all events of their runs. Further reports of a run may change them.
INSERT INTO catalog.completion AS known (
    organisation_id, event_key, sequence, run_id, process_id, run, attempt, status, at, started_at, moment, exit_code,
    machine, log_location, partition_key, run_partition_key, historical
)
SELECT %(organisation)s, event_key, sequence, run_id, process_id, run, attempt, status, at, started_at, moment, exit_code,
       machine, log_location, partition_key, run_partition_key, historical
FROM jsonb_to_recordset(%(completions)s) AS item (
    event_key text, sequence bigint, run_id uuid, process_id uuid, run text, attempt int, status text, at timestamptz,
    started_at timestamptz, moment timestamptz, exit_code int, machine text, log_location text, partition_key text,
    run_partition_key text, historical boolean
)
ON CONFLICT (organisation_id, event_key) DO UPDATE SET
    sequence = excluded.sequence,
    moment = excluded.moment,
    run_partition_key = excluded.run_partition_key,
    historical = excluded.historical
WHERE (known.sequence, known.moment, known.run_partition_key, known.historical) IS DISTINCT FROM
      (excluded.sequence, excluded.moment, excluded.run_partition_key, excluded.historical)
