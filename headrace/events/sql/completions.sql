-- Genuine successes of some processes, each run once per reported partition.
WITH named AS MATERIALIZED (
    SELECT process_id, process_key, technology, instance, coalesce(external_name, job_name) AS name,
           CASE lifecycle WHEN 'ACTIVE' THEN 0 WHEN 'RETIRED' THEN 2 ELSE 4 END
           + (lifecycle <> 'UNSCANNED' AND technology <> 'AUTOSYS')::int AS rank
    FROM catalog.process
    WHERE organisation_id = %(organisation)s
      AND (external_name IS NOT NULL OR job_name IS NOT NULL)
      AND (external_name = ANY (%(names)s::text[])
           OR job_name = ANY (%(names)s::text[])
           OR process_key = ANY (%(names)s::text[]))
), wanted AS MATERIALIZED (
    -- A name means the technology for which scans know it.
    SELECT named.*,
           min(rank) OVER (PARTITION BY name, technology) = min(rank) OVER (PARTITION BY name) AS by_name
    FROM named
)
SELECT ended.sequence, wanted.process_key, wanted.technology, wanted.instance, wanted.name, wanted.by_name,
       coalesce(ended.run, ended.event_key) AS run,
       nullif(coalesce(nullif(ended.partition_key, ''), ended.run_partition_key), '') AS partition, ended.moment,
       ended.historical
FROM catalog.completion ended
JOIN wanted USING (process_id)
WHERE (wanted.by_name OR wanted.process_key = ANY (%(names)s::text[]))
  AND ended.sequence > %(after)s
  AND ended.sequence <= %(to)s
  AND (%(historical)s::boolean OR NOT ended.historical)
  AND NOT EXISTS (
      SELECT
      FROM catalog.completion earlier
      WHERE earlier.run_id = ended.run_id
        AND earlier.sequence < ended.sequence
        AND (%(historical)s::boolean OR NOT earlier.historical)
        AND ended.partition_key IN ('', earlier.partition_key)
  )
ORDER BY ended.sequence * %(direction)s::bigint
LIMIT %(most)s
