-- The datasets that runs read and wrote.
INSERT INTO catalog.run_dataset (organisation_id, run_id, name_id, role, version, partition_key, facets, at)
SELECT %(organisation)s, run_id, name_id, role, version, partition_key, facets, at
FROM jsonb_to_recordset(%(uses)s) AS used (
    run_id uuid, name_id uuid, role text, version text, partition_key text, facets jsonb, at timestamptz
)
ON CONFLICT (organisation_id, run_id, name_id, role) DO UPDATE SET
    version = excluded.version,
    partition_key = excluded.partition_key,
    facets = excluded.facets,
    at = excluded.at
