-- Runs and roll-ups, archived or not.

-- The process of a run, archived or not, for those that made a version.
CREATE OR REPLACE VIEW catalog.run_process WITH (security_invoker = true) AS
SELECT run_id, organisation_id, process_id, start_ts FROM catalog.process_run
UNION ALL
SELECT run_id, organisation_id, process_id, start_ts
FROM catalog.archived_run archived
WHERE NOT EXISTS (SELECT FROM catalog.process_run run WHERE run.run_id = archived.run_id);

-- The roll-ups over archived and live runs. again: archived runs that were reported again since, and are live again until
-- the next pass; only their new state counts, whatever their start is by what is known now.
CREATE OR REPLACE VIEW catalog.run_daily WITH (security_invoker = true) AS
WITH again AS MATERIALIZED (
    SELECT archived.process_id, archived.day, archived.state, array_agg(run.run_id) AS run_ids
    FROM catalog.process_run run
    JOIN catalog.run_day archived
        ON archived.organisation_id = run.organisation_id
       AND archived.day = run.archived_day
       AND run.run_id = ANY (archived.run_ids)
    WHERE run.archived_day IS NOT NULL
    GROUP BY archived.process_id, archived.day, archived.state
)
SELECT organisation_id, process_id, day, state, sum(runs)::bigint AS runs, sum(attempts)::bigint AS attempts,
       sum(timed)::bigint AS timed, sum(seconds) AS seconds, max(longest) AS longest
FROM (
    SELECT organisation_id, process_id, day, state, runs, attempts, timed, seconds, longest
    FROM catalog.run_day
    WHERE NOT EXISTS (
        SELECT FROM again
        WHERE (again.process_id, again.day, again.state) = (run_day.process_id, run_day.day, run_day.state)
    )
    UNION ALL
    SELECT organisation_id, process_id, day, state, count(*), sum(one.attempts), count(one.seconds),
           coalesce(sum(one.seconds), 0), max(one.seconds)
    FROM catalog.run_day
    JOIN again USING (process_id, day, state)
    CROSS JOIN LATERAL unnest(run_day.run_ids, run_attempts, run_seconds) AS one (run_id, attempts, seconds)
    WHERE one.run_id <> ALL (again.run_ids)
    GROUP BY organisation_id, process_id, day, state
    UNION ALL
    SELECT organisation_id, process_id, (start_ts AT TIME ZONE 'UTC')::date, status, count(*), sum(greatest(attempt, 1)),
           count(end_ts), coalesce(sum(extract(epoch FROM end_ts - start_ts)), 0)::double precision,
           max(extract(epoch FROM end_ts - start_ts))::double precision
    FROM catalog.process_run
    GROUP BY 1, 2, 3, 4
) part
GROUP BY organisation_id, process_id, day, state;

CREATE OR REPLACE VIEW catalog.event_daily WITH (security_invoker = true) AS
SELECT organisation_id, day, event_type, sum(events)::bigint AS events
FROM (
    SELECT organisation_id, day, event_type, events
    FROM catalog.event_day
    UNION ALL
    SELECT organisation_id, (event_time AT TIME ZONE 'UTC')::date, event_type, count(*)
    FROM catalog.run_event
    GROUP BY 1, 2, 3
) part
GROUP BY organisation_id, day, event_type;
