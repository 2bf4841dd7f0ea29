-- Genuine successes of some processes, each run once for each partition that it states.
WITH wanted AS MATERIALIZED (
    SELECT process_id, process_key, technology, instance, coalesce(external_name, job_name) AS name
    FROM catalog.process
    WHERE organisation_id = %(organisation)s
      AND (external_name IS NOT NULL OR job_name IS NOT NULL)
      AND (external_name = ANY (%(names)s::text[])
           OR job_name = ANY (%(names)s::text[])
           OR process_key = ANY (%(names)s::text[]))
)
SELECT event.sequence, wanted.process_key, wanted.technology, wanted.instance, wanted.name,
       coalesce(event.run, event.event_key) AS run,
       nullif(coalesce(
           nullif(event.partition_key, ''),
           (SELECT max(other.partition_key) FROM catalog.reported_event other WHERE other.run_id = event.run_id)
       ), '') AS partition,
       coalesce(
           event.started_at,
           -- Of a run that OpenLineage events tell of, the start may have been told after its end.
           CASE WHEN starts_with(event.event_key, 'openlineage/') THEN (
               SELECT start_ts FROM catalog.run_attempt told
               WHERE told.run_id = event.run_id AND told.attempt = event.attempt
           ) END,
           (SELECT min(coalesce(other.started_at, other.at)) FROM catalog.reported_event other
            WHERE other.run_id = event.run_id AND other.attempt = event.attempt
              AND other.state NOT IN ('QUEUED', 'HELD'))
       ) AS moment,
       event.historical
FROM catalog.reported_event event
JOIN wanted USING (process_id)
WHERE event.sequence > %(after)s
  AND event.sequence <= %(to)s
  AND event.state = 'SUCCESS'
  AND event.ending = 'GENUINE'
  AND (%(historical)s::boolean OR NOT event.historical)
  AND NOT EXISTS (
      SELECT
      FROM catalog.reported_event earlier
      WHERE earlier.run_id = event.run_id
        AND earlier.sequence < event.sequence
        AND earlier.state = 'SUCCESS'
        AND earlier.ending = 'GENUINE'
        AND (%(historical)s::boolean OR NOT earlier.historical)
        AND event.partition_key IN ('', earlier.partition_key)
  )
ORDER BY event.sequence * %(direction)s::bigint
LIMIT %(most)s
