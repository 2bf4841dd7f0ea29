-- Locks a process's reports on a dataset, so that the next statement sees all earlier reports.
INSERT INTO catalog.column_lineage_report AS known (target_name_id, reporter_id, via, organisation_id, process_id, last_at)
SELECT name_id, reporter_id, 'plan', %(organisation)s, %(process_id)s, '-infinity'
FROM jsonb_to_recordset(%(lineages)s) AS item (name_id uuid, reporter_id uuid)
ORDER BY name_id, reporter_id
ON CONFLICT (target_name_id, reporter_id, via) DO UPDATE SET process_id = excluded.process_id
