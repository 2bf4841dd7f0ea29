-- The names of Headrace datasets in lineages, where they are new.
INSERT INTO catalog.dataset_name (organisation_id, namespace, name, name_id, dataset_id, reported)
SELECT %(organisation)s, %(namespace)s, dataset.full_name, item.name_id, dataset.dataset_id, true
FROM jsonb_to_recordset(%(names)s) AS item (dataset text, name_id uuid)
JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = item.dataset
ORDER BY item.name_id
ON CONFLICT DO NOTHING
