-- What a person has decided about a candidate stays.
INSERT INTO catalog.dataset_candidate (organisation_id, instance, pattern)
SELECT DISTINCT %(organisation)s::uuid, instance, pattern
FROM scanned_evidence
ORDER BY instance, pattern
ON CONFLICT (organisation_id, instance, pattern) DO NOTHING
