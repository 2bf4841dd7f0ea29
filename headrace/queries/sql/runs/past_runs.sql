-- Runs before a time that succeeded: for each job of an instance, and each Spark process by its key, at most so many of each kind of day, the newest. The last day
-- of a month is one kind, each other weekday another.
WITH dated AS (
    SELECT CASE technology WHEN 'SPARK' THEN process_key ELSE external_name END AS name, attempt.start_ts, attempt.end_ts,
           (attempt.start_ts AT TIME ZONE %(zone)s)::date AS day
    FROM catalog.process
    JOIN catalog.process_run run USING (process_id)
    JOIN catalog.run_attempt attempt USING (run_id)
    WHERE process.organisation_id = %(organisation)s
      AND (process.technology = 'SPARK' OR (process.technology = 'AUTOSYS' AND process.instance = %(instance)s))
      AND (%(names)s::text[] IS NULL
           OR CASE technology WHEN 'SPARK' THEN process_key ELSE external_name END = ANY (%(names)s))
      AND run.start_ts >= %(before)s - %(days)s * interval '1 day'
      AND run.start_ts < %(before)s
      AND attempt.state = 'SUCCESS'
      AND (attempt.ending = 'GENUINE' OR process.technology = 'SPARK')
      AND attempt.end_ts > attempt.start_ts
), ranked AS (
    SELECT name, start_ts, end_ts,
           row_number() OVER (
               PARTITION BY name,
                            CASE WHEN extract(day FROM day + 1) = 1 THEN 0 ELSE extract(isodow FROM day) END
               ORDER BY start_ts DESC
           ) AS place
    FROM dated
)
SELECT name, extract(epoch FROM start_ts)::float8 AS started_at, extract(epoch FROM end_ts)::float8 AS ended_at
FROM ranked
WHERE place <= %(each)s
ORDER BY name, start_ts
