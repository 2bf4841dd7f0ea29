-- Deprecate an active dataset: it stays as it is, and its readers see the reason.
WITH deprecated AS (
    UPDATE catalog.dataset SET status = 'DEPRECATED', updated_at = now()
    WHERE organisation_id = %(organisation)s AND full_name = ANY (%(keys)s) AND status = 'ACTIVE'
    RETURNING dataset_id, full_name
), recorded AS (
    INSERT INTO catalog.dataset_retirement (organisation_id, dataset_id, status, retired_by, reason)
    SELECT %(organisation)s, dataset_id, 'DEPRECATED', %(by)s, %(reason)s FROM deprecated
)
SELECT full_name AS key FROM deprecated ORDER BY full_name
