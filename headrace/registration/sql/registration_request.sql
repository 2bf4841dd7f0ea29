-- A separate statement after registration_draft.sql: row-level security uses the dataset as it was before this one.
INSERT INTO catalog.dataset_registration (organisation_id, dataset_id, submitted_by, requested, objections)
SELECT %(organisation)s, dataset_id, %(by)s, %(requested)s, %(objections)s
FROM catalog.dataset
WHERE organisation_id = %(organisation)s AND full_name = %(requested)s ->> 'key'
ON CONFLICT (dataset_id) WHERE status = 'PENDING' DO NOTHING
RETURNING reg_id
