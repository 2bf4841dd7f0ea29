-- Suggestions with their decisions: of one dataset or all, with one status or any.
SELECT full_name AS dataset, column_name AS "column", kind, confidence, reason, suggested_at, suggestion.status,
       decided_by AS by, decided_at AS at, note
FROM catalog.sensitivity_suggestion suggestion
JOIN catalog.dataset USING (dataset_id)
WHERE suggestion.organisation_id = %(organisation)s
  AND (%(dataset)s::text IS NULL OR full_name = %(dataset)s)
  AND (%(status)s::text IS NULL OR suggestion.status = %(status)s)
  AND (suggestion.status <> 'PENDING' OR NOT catalog.is_declared_sensitive(dataset_id, column_name))
ORDER BY confidence DESC, full_name, column_name
