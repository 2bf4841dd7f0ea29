SELECT process.process_key AS key, technology, instance, external_name AS name, lifecycle, owners, process.description,
       metadata_json ->> 'box' AS box, metadata_json ->> 'type' AS type, metadata_json ->> 'machine' AS machine,
       metadata_json ->> 'schedule' AS schedule, metadata_json ->> 'condition' AS condition,
       place.file || ':' || place.line AS place, run.status AS run_state, run.start_ts AS run_at, run.end_ts AS run_ended
FROM catalog.process
LEFT JOIN catalog.process_place place USING (process_id)
LEFT JOIN LATERAL (
    SELECT status, start_ts, end_ts
    FROM catalog.process_run
    WHERE process_run.process_id = process.process_id
    ORDER BY start_ts DESC
    LIMIT 1
) run ON true
WHERE process.organisation_id = %(organisation)s
  AND external_name IS NOT NULL
  AND (%(like)s::text IS NULL OR external_name LIKE %(like)s)
  AND (%(lifecycle)s::text IS NULL OR lifecycle = %(lifecycle)s)
ORDER BY technology, instance, process_key
LIMIT %(limit)s
