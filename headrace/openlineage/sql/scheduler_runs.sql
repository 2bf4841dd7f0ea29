-- The reported scheduler runs that each of these may be: of the same process, and named, or at the same time.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(runs)s) AS item (
        ordinal int, process_id uuid, named uuid[], first timestamptz, last timestamptz
    )
)
SELECT item.ordinal, run.run_id, run.number, true AS overlaps
FROM item
CROSS JOIN LATERAL (
    SELECT run_id, facets_json ->> 'external_run' AS number
    FROM catalog.process_run
    WHERE process_id = item.process_id
      AND organisation_id = %(organisation)s
      AND start_ts BETWEEN item.first - %(longest)s::interval AND item.last
      AND (end_ts IS NULL OR end_ts >= item.first)
      AND facets_json ? 'external_run'
) run
UNION ALL
SELECT item.ordinal, run.run_id, run.facets_json ->> 'external_run', false
FROM item
JOIN catalog.process_run run ON run.run_id = ANY (item.named)
WHERE run.process_id = item.process_id AND run.organisation_id = %(organisation)s AND run.facets_json ? 'external_run'
