-- What the catalog knows of datasets, for rules. keys: theirs; null: all that the project declares.
SELECT full_name AS key, coalesce(description, '') AS description, owners, tags, columns, default_format AS format,
       partitions IS NOT NULL AS partitioned,
       coalesce(metadata_json ->> 'store', '') AS store, coalesce(metadata_json ->> 'incremental', '') AS mode,
       CASE
           WHEN declaration_hash <> '' THEN CASE WHEN metadata_json ? 'external' THEN 'external' ELSE 'dataset' END
           WHEN status = 'DRAFT' THEN 'unknown'
           ELSE 'registered'
       END AS kind,
       coalesce((SELECT definition FROM catalog.sla WHERE sla.dataset_id = dataset.dataset_id), '{}') AS sla,
       coalesce((
           SELECT jsonb_agg(jsonb_build_object(
               'name', name, 'kind', kind, 'column', coalesce(column_name, ''), 'severity', severity) ORDER BY name)
           FROM catalog.quality_check_def def
           WHERE def.dataset_id = dataset.dataset_id AND def.retired_at IS NULL
             AND kind NOT IN ('not_null', 'partition')), '[]') AS checks,
       ARRAY (
           SELECT DISTINCT source.full_name
           FROM catalog.lineage_edge edge
           JOIN catalog.dataset source ON source.dataset_id = edge.source_id
           WHERE edge.target_id = dataset.dataset_id AND edge_role = 'DERIVES' AND valid_to IS NULL
           ORDER BY source.full_name) AS inputs,
       ARRAY (
           SELECT DISTINCT target.full_name
           FROM catalog.lineage_edge edge
           JOIN catalog.dataset target ON target.dataset_id = edge.target_id
           WHERE edge.source_id = dataset.dataset_id AND edge_role = 'DERIVES' AND valid_to IS NULL
           ORDER BY target.full_name) AS consumers
FROM catalog.dataset
WHERE organisation_id = %(organisation)s
  AND CASE
      WHEN %(keys)s::text[] IS NOT NULL THEN full_name = ANY (%(keys)s)
      ELSE project = %(project)s AND declaration_hash <> '' AND status = 'ACTIVE'
  END
ORDER BY full_name
