-- A person's decision about a candidate is kept.
INSERT INTO catalog.dataset_candidate (organisation_id, instance, pattern)
SELECT DISTINCT %(organisation)s::uuid, instance, pattern
FROM scanned_evidence
ORDER BY instance, pattern
ON CONFLICT (organisation_id, instance, pattern) DO NOTHING
