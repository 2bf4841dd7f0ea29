SELECT version.dataset_version_id AS version_id, dataset.full_name AS dataset, nullif(version.partition_key, '') AS partition,
       version.version_tag AS tag, stored.content,
       ARRAY (
           SELECT seen.full_name
           FROM catalog.dataset seen
           WHERE seen.organisation_id = %(organisation)s
             AND seen.full_name IN (
                 SELECT source ->> 'input' FROM jsonb_path_query(stored.content, '$.columns[*].sources[*]') AS source
                 UNION
                 SELECT source ->> 'input' FROM jsonb_path_query(stored.content, '$.whole[*]') AS source)
       ) AS seen,
       coalesce((
           SELECT jsonb_agg(jsonb_build_object(
               'version_id', input.dataset_version_id, 'dataset', of.full_name,
               'partition', nullif(input.partition_key, ''), 'tag', input.version_tag)
               ORDER BY of.full_name, input.partition_key)
           FROM catalog.version_input used
           JOIN catalog.dataset_version input ON input.dataset_version_id = used.input_version_id
           JOIN catalog.dataset of ON of.dataset_id = input.dataset_id
           WHERE used.dataset_version_id = version.dataset_version_id), '[]') AS inputs
FROM catalog.dataset_version version
JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.dataset_lineage stored USING (dataset_id, lineage_hash)
WHERE version.dataset_version_id = %(version_id)s
