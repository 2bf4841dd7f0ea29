-- The described processes with a schedule: of this id or name, or all; since: only with a success in the two weeks before.
SELECT process_id, process_key, technology, external_name,
       metadata_json -> 'starts' AS starts, coalesce(metadata_json -> 'sla', '{}') AS sla
FROM catalog.process
WHERE organisation_id = %(organisation)s
  AND lifecycle = 'ACTIVE'
  AND metadata_json ? 'starts'
  AND (%(process)s::uuid IS NULL OR process_id = %(process)s::uuid)
  AND (%(name)s::text IS NULL OR %(name)s::text IN (process_key, external_name))
  AND (%(since)s::timestamptz IS NULL OR EXISTS (
      SELECT FROM catalog.process_run AS run
      WHERE run.process_id = process.process_id AND run.status = 'SUCCESS'
        AND run.start_ts >= %(since)s::timestamptz - interval '14 days'))
ORDER BY process_key
