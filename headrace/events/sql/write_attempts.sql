-- Inserts or replaces the attempts of runs, and deletes those of a known run that no longer count.
WITH item AS MATERIALIZED (
    SELECT *
    FROM jsonb_to_recordset(%(attempts)s) AS item (
        run_id uuid, number int, run_start_ts timestamptz, state text, ending text, start_ts timestamptz,
        end_ts timestamptz, exit_code int, reason text, log_location text, host text
    )
), gone AS (
    DELETE FROM catalog.run_attempt known
    WHERE known.run_id = ANY (ARRAY (SELECT run_id FROM item WHERE run_id = ANY (%(known)s::uuid[])))
      AND known.organisation_id = %(organisation)s
      AND NOT EXISTS (SELECT FROM item WHERE item.run_id = known.run_id AND item.number = known.attempt)
)
INSERT INTO catalog.run_attempt AS stored (
    run_id, attempt, organisation_id, run_start_ts, state, ending, start_ts, end_ts, exit_code, reason, log_location, host
)
SELECT run_id, number, %(organisation)s, run_start_ts, state, ending, start_ts, end_ts, exit_code, reason, log_location, host
FROM item
ON CONFLICT (run_id, attempt) DO UPDATE SET
    run_start_ts = excluded.run_start_ts,
    state = excluded.state,
    ending = excluded.ending,
    start_ts = excluded.start_ts,
    end_ts = excluded.end_ts,
    exit_code = excluded.exit_code,
    reason = excluded.reason,
    log_location = excluded.log_location,
    host = excluded.host
WHERE stored.organisation_id = excluded.organisation_id
