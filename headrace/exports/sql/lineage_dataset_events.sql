-- A page of an organisation's datasets, or of those that the given processes read and write, with the content of their DatasetEvents. sources, columns: lineage without a
-- known process.
SELECT dataset.dataset_id AS id, named.namespace_uri AS namespace, named.name, dataset.description, dataset.owners,
       dataset.tags, newest.version_tag, (
           SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
               'name', field.name, 'type', field.type, 'description', field.description)) ORDER BY field.position)
           FROM catalog.dataset_field field
           WHERE field.dataset_id = dataset.dataset_id) AS fields, (
           SELECT jsonb_agg(jsonb_build_object('namespace', source.namespace_uri, 'name', source.name, 'type', 'DATASET')
                            ORDER BY source.namespace_uri, source.name)
           FROM catalog.lineage_edge edge
           JOIN catalog.openlineage_dataset source ON source.dataset_id = edge.source_id
           WHERE edge.target_id = dataset.dataset_id
             AND edge.edge_role = 'DERIVES' AND edge.process_id IS NULL AND edge.valid_to IS NULL) AS sources,
       coalesce((
           SELECT jsonb_agg(jsonb_build_object(
               'source_namespace', source.namespace_uri, 'source_name', source.name, 'source_field', edge.source_field,
               'target_namespace', named.namespace_uri, 'target_name', named.name, 'target_field', edge.target_field,
               'type', edge.transformation_type, 'subtype', edge.transformation_subtype, 'masking', edge.masking)
               ORDER BY edge.target_field, source.namespace_uri, source.name, edge.source_field,
                        edge.transformation_type, edge.transformation_subtype, edge.masking)
           FROM catalog.dataset_name target
           JOIN catalog.column_edge edge ON edge.target_name_id = target.name_id
           JOIN catalog.openlineage_dataset source ON source.dataset_id = edge.source_id
           WHERE target.dataset_id = dataset.dataset_id AND edge.process_id IS NULL AND edge.current), '[]') AS columns
FROM catalog.dataset
JOIN catalog.openlineage_dataset named USING (dataset_id)
LEFT JOIN LATERAL (
    SELECT version_tag
    FROM catalog.dataset_version version
    WHERE version.dataset_id = dataset.dataset_id AND version.outcome = 'PUBLISHED'
    ORDER BY produced_at DESC, dataset_version_id
    LIMIT 1
) newest ON true
WHERE dataset.organisation_id = %(organisation)s AND dataset.dataset_id > %(after)s
  AND (%(processes)s::uuid[] IS NULL OR dataset.dataset_id IN (
      SELECT source_id FROM catalog.lineage_edge WHERE target_id = ANY (%(processes)s) AND edge_role = 'CONSUMES'
      UNION ALL
      SELECT target_id FROM catalog.lineage_edge WHERE source_id = ANY (%(processes)s) AND edge_role = 'PRODUCES'))
ORDER BY dataset.dataset_id
LIMIT %(limit)s
