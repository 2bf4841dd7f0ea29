-- Subtract runs that leave the archive from its roll-ups, which are computed again from the remaining runs; no roll-up
-- counts them any more.
WITH item AS MATERIALIZED (
    SELECT *
    FROM jsonb_to_recordset(%(runs)s) AS item (run_id uuid, process_id uuid, day date, state text)
), place AS MATERIALIZED (
    SELECT DISTINCT process_id, day, state FROM item
), remaining AS MATERIALIZED (
    SELECT process_id, day, state, count(*) AS runs, sum(one.attempts) AS attempts, count(one.seconds) AS timed,
           coalesce(sum(one.seconds), 0) AS seconds, max(one.seconds) AS longest,
           array_agg(one.run_id ORDER BY one.run_id) AS run_ids,
           array_agg(one.attempts ORDER BY one.run_id) AS run_attempts,
           array_agg(one.seconds ORDER BY one.run_id) AS run_seconds
    FROM place
    JOIN catalog.run_day known USING (process_id, day, state)
    CROSS JOIN LATERAL unnest(known.run_ids, known.run_attempts, known.run_seconds) AS one (run_id, attempts, seconds)
    WHERE one.run_id NOT IN (SELECT run_id FROM item)
    GROUP BY process_id, day, state
), live AS (
    UPDATE catalog.process_run run
    SET archived_day = NULL
    FROM item
    WHERE run.run_id = item.run_id AND run.archived_day IS NOT NULL
), less AS (
    UPDATE catalog.run_day known
    SET runs = remaining.runs, attempts = remaining.attempts, timed = remaining.timed, seconds = remaining.seconds,
        longest = remaining.longest, run_ids = remaining.run_ids, run_attempts = remaining.run_attempts,
        run_seconds = remaining.run_seconds
    FROM remaining
    WHERE (known.process_id, known.day, known.state) = (remaining.process_id, remaining.day, remaining.state)
)
DELETE FROM catalog.run_day known
USING place
WHERE (known.process_id, known.day, known.state) = (place.process_id, place.day, place.state)
  AND NOT EXISTS (
      SELECT FROM remaining
      WHERE (remaining.process_id, remaining.day, remaining.state) = (place.process_id, place.day, place.state)
  )
