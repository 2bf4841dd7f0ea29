INSERT INTO catalog.run_input (run_id, attempt, dataset_version_id, organisation_id, reason)
SELECT DISTINCT ON (version_id) %(run_id)s, %(attempt)s, version_id, %(organisation)s, reason
FROM unnest(%(versions)s::uuid[], %(reasons)s::text[]) AS read (version_id, reason)
ON CONFLICT DO NOTHING
