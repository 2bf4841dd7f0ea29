-- Keeps each event, normalized and raw. An event that is there already is left as it is, except that one loaded as
-- history becomes a live one when it is said again as such. Returns the keys of those that are new or have become live.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(events)s) AS item (
        event_key text, run_id uuid, process_id uuid, process_key text, run text, attempt int, state text, status text,
        ending text, at timestamptz, started_at timestamptz, exit_code int, machine text, reason text, log_location text,
        partition_key text, box_process_id uuid, outputs jsonb, origin text, historical boolean, event_type text,
        payload jsonb, content_hash text
    )
), kept AS (
    INSERT INTO catalog.reported_event AS known (
        organisation_id, event_key, run_id, process_id, run, attempt, state, status, ending, at, started_at, exit_code,
        machine, reason, log_location, partition_key, box_process_id, outputs, origin, historical
    )
    SELECT %(organisation)s, event_key, run_id, process_id, run, attempt, state, status, ending, at, started_at, exit_code,
           machine, reason, log_location, partition_key, box_process_id, outputs, origin, historical
    FROM item
    ORDER BY at, event_key
    ON CONFLICT (organisation_id, event_key) DO UPDATE
        SET historical = false, sequence = excluded.sequence
        WHERE known.historical AND NOT excluded.historical
    RETURNING event_key
), raw AS (
    INSERT INTO catalog.run_event (
        event_time, organisation_id, run_id, process_key, event_type, payload_json, content_hash, historical
    )
    SELECT at, %(organisation)s, run_id, process_key, event_type, payload, content_hash, historical
    FROM item
    JOIN kept USING (event_key)
    ON CONFLICT (event_time, content_hash, organisation_id) DO UPDATE SET historical = excluded.historical
)
SELECT event_key FROM kept
