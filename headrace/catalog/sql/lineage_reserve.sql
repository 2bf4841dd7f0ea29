-- Locks a process's reports on a dataset, so that the next statement sees all earlier reports.
WITH named AS (
    INSERT INTO catalog.dataset_name (organisation_id, namespace, name, name_id, dataset_id, reported)
    SELECT %(organisation)s, %(namespace)s, dataset.full_name, item.name_id, dataset.dataset_id, true
    FROM jsonb_to_recordset(%(names)s) AS item (dataset text, name_id uuid)
    JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = item.dataset
    ORDER BY item.name_id
    ON CONFLICT DO NOTHING
)
INSERT INTO catalog.column_lineage_report AS known (target_name_id, reporter_id, via, organisation_id, process_id, last_at)
SELECT name_id, reporter_id, 'plan', %(organisation)s, %(process_id)s, '-infinity'
FROM jsonb_to_recordset(%(lineages)s) AS item (name_id uuid, reporter_id uuid)
ORDER BY name_id, reporter_id
ON CONFLICT (target_name_id, reporter_id, via) DO UPDATE SET process_id = excluded.process_id
