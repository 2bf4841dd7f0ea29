-- The jobs of Autosys that scans have, with those that have succeeded in two weeks, and the boxes.
SELECT process.process_key, process.instance, process.external_name, box.process_key AS box,
       coalesce(process.metadata_json ->> 'type' = 'BOX', false) AS is_box
FROM catalog.process
LEFT JOIN catalog.process AS box
    ON box.organisation_id = process.organisation_id
    AND box.technology = process.technology
    AND box.instance = process.instance
    AND box.external_name = process.metadata_json ->> 'box'
WHERE process.organisation_id = %(organisation)s
  AND process.technology = 'AUTOSYS'
  AND process.lifecycle = 'ACTIVE'
  AND (process.metadata_json ->> 'type' = 'BOX' OR EXISTS (
      SELECT FROM catalog.process_run AS run
      WHERE run.process_id = process.process_id AND run.status = 'SUCCESS'
        AND run.start_ts >= %(since)s - interval '14 days'))
ORDER BY process.process_key
