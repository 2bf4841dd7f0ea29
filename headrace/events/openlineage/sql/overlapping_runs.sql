SELECT DISTINCT reported.reported_run_id, reported.process_id, reported.document
FROM jsonb_to_recordset(%(spans)s) AS item (process_id uuid, run_id uuid, since timestamptz, until timestamptz)
JOIN catalog.openlineage_run reported
    ON reported.process_id = item.process_id
   AND (reported.run_id = item.run_id
        OR reported.reported_run_id = item.run_id
        OR reported.last_at >= item.since AND (item.until IS NULL OR reported.first_at <= item.until))
WHERE reported.organisation_id = %(organisation)s AND reported.reported_run_id <> reported.process_id AND NOT reported.native
