SELECT DISTINCT told.reported_run_id, told.process_id, told.document
FROM jsonb_to_recordset(%(spans)s) AS item (process_id uuid, run_id uuid, since timestamptz, until timestamptz)
JOIN catalog.openlineage_run told
    ON told.process_id = item.process_id
   AND (told.run_id = item.run_id
        OR told.reported_run_id = item.run_id
        OR told.last_at >= item.since AND (item.until IS NULL OR told.first_at <= item.until))
WHERE told.organisation_id = %(organisation)s AND told.reported_run_id <> told.process_id AND NOT told.native
