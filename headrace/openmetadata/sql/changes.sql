-- What stewards wrote, and what the declarations say; of one dataset, or of all.
SELECT dataset.full_name AS key, dataset.declared_at, field, column_name AS "column", value, declared, outcome,
       changed_by AS by, changed_at AS at
FROM catalog.openmetadata_change
JOIN catalog.dataset USING (dataset_id)
WHERE openmetadata_change.organisation_id = %(organisation)s
  AND (%(dataset)s::text IS NULL OR full_name = %(dataset)s)
ORDER BY full_name, column_name, field
